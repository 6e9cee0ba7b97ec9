"""Pipelines as users write them, to see how well the scheduler does on what is new."""
