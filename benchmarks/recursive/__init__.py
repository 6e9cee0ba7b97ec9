"""Recursive (IIR) filters beside SciPy, OpenCV and Halide: images, lines, line counts.

The measurements follow section 8 of "Compiling High Performance Recursive Filters"
(Chaurasia and others, 2015), on the processor.
"""
