"""Applications of recursive filters, those of "Compiling High Performance Recursive
Filters" (2015) among them. Each takes arrays and returns arrays."""
