"""Forma: an image-processing language of stencils that are applied to whole images.

From: Ravishankar, Holewinski and Grover, "Forma: A DSL for Image Processing
Applications to Target GPUs and Multi-core CPUs" (GPGPU-8, 2015).
"""

from parhelion.forma.check import check as check
from parhelion.forma.check import check_file as check_file
from parhelion.forma.check import check_tree as check_tree
from parhelion.forma.parse import parse as parse
from parhelion.forma.parse import parse_file as parse_file
from parhelion.forma.program import Program as Program
from parhelion.forma.program import compile as compile
