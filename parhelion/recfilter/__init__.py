"""Recursive (IIR) filters: written in a few lines, computed in tiles and in parallel.

From: Chaurasia, Ragan-Kelley, Paris, Drettakis and Durand, "Compiling High Performance
Recursive Filters" (High-Performance Graphics 2015).
"""

from parhelion import tracebacks as _tracebacks
from parhelion.recfilter.coefficients import gaussian_weights as gaussian_weights
from parhelion.recfilter.dims import RecFilterDim as RecFilterDim
from parhelion.recfilter.directives import RecFilterSchedule as RecFilterSchedule
from parhelion.recfilter.iir import iir as iir
from parhelion.recfilter.iir import sosfilt as sosfilt
from parhelion.recfilter.recfilter import RecFilter as RecFilter
from parhelion.recfilter.tags import VarTag as VarTag
from parhelion.recfilter.tuned import Tuned as Tuned
from parhelion.recfilter.warning import RecFilterWarning as RecFilterWarning
from parhelion.recfilter.zero_phase import filtfilt as filtfilt

_tracebacks.shorten(globals())
