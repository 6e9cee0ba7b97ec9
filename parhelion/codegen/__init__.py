"""Code generation: a lowered program as the text of an LLVM module."""
