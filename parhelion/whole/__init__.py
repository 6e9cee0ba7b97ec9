"""Whole arrays as values, and `jit`: arrays in, arrays out."""
