"""Kernels: which loops are threads, how points are divided, and the directives."""
