"""Funcs that are computed on demand beside Funcs at root and inlined ones."""
