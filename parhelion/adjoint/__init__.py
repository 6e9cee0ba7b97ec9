"""Reverse-mode differentiation: of a pipeline, the pipeline that computes its
gradients."""
