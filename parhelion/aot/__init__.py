"""Ahead-of-time code: object files and headers for programs without Python."""
