"""Forma: an image-processing language of stencils that are applied to whole images.

From: Ravishankar, Holewinski and Grover, "Forma: A DSL for Image Processing
Applications to Target GPUs and Multi-core CPUs" (GPGPU-8, 2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parhelion.forma.check import check as check
from parhelion.forma.check import check_file as check_file
from parhelion.forma.check import check_tree as check_tree
from parhelion.forma.parse import parse as parse
from parhelion.forma.parse import parse_file as parse_file
from parhelion.forma.program import Program as Program
from parhelion.forma.program import compile as compile
from parhelion.forma.twin.defined import Twin as Twin
from parhelion.forma.twin.defined import parameter as parameter
from parhelion.forma.twin.functions import stencil as stencil
from parhelion.forma.twin.functions import struct as struct
from parhelion.forma.twin.functions import vector as vector
from parhelion.forma.twin.programs import program as program
from parhelion.forma.twin.words import Vector1 as Vector1
from parhelion.forma.twin.words import Vector2 as Vector2
from parhelion.forma.twin.words import Vector3 as Vector3
from parhelion.forma.twin.words import Vector4 as Vector4
from parhelion.forma.twin.words import Vector5 as Vector5
from parhelion.forma.twin.words import Vector6 as Vector6
from parhelion.forma.twin.words import Vector7 as Vector7
from parhelion.forma.twin.words import Vector8 as Vector8
from parhelion.forma.twin.words import abs as abs
from parhelion.forma.twin.words import acos as acos
from parhelion.forma.twin.words import asin as asin
from parhelion.forma.twin.words import at as at
from parhelion.forma.twin.words import atan as atan
from parhelion.forma.twin.words import atan2 as atan2
from parhelion.forma.twin.words import ceil as ceil
from parhelion.forma.twin.words import clamped as clamped
from parhelion.forma.twin.words import constant as constant
from parhelion.forma.twin.words import cos as cos
from parhelion.forma.twin.words import cosh as cosh
from parhelion.forma.twin.words import double as double
from parhelion.forma.twin.words import exp as exp
from parhelion.forma.twin.words import floor as floor
from parhelion.forma.twin.words import int8 as int8
from parhelion.forma.twin.words import int16 as int16
from parhelion.forma.twin.words import log as log
from parhelion.forma.twin.words import max as max
from parhelion.forma.twin.words import min as min
from parhelion.forma.twin.words import mirror as mirror
from parhelion.forma.twin.words import pow as pow
from parhelion.forma.twin.words import round as round
from parhelion.forma.twin.words import sin as sin
from parhelion.forma.twin.words import sinh as sinh
from parhelion.forma.twin.words import sqrt as sqrt
from parhelion.forma.twin.words import tan as tan
from parhelion.forma.twin.words import tanh as tanh
from parhelion.forma.twin.words import trunc as trunc
from parhelion.forma.twin.words import wrap as wrap
from parhelion.tracebacks import shorten as _shorten

# Not the words of stencils: they are read, not called, and known by what they are.
_called = {
    "Program": Program,
    "check": check,
    "check_file": check_file,
    "check_tree": check_tree,
    "compile": compile,
    "parse": parse,
    "parse_file": parse_file,
}
_shorten(_called)
globals().update(_called)

if TYPE_CHECKING:
    from parhelion.forma.notebook import Shell


def load_ipython_extension(shell: Shell) -> None:
    """What ``%load_ext parhelion.forma`` does: cells may begin by ``%%forma name``."""
    from parhelion.forma.notebook import register

    register(shell)
