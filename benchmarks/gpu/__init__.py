"""Kernels beside those of Halide, of CUDA C++ and of libraries: see `__main__`."""
