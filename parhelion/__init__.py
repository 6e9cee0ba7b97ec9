"""Parhelion: image processing on grids of pixels, algorithm and schedule apart.

``import parhelion as hl`` gives the names of Halide's Python module. An algorithm is
made of `Func`s over `Var`s; directives on them say how to run it; `realize` compiles
and runs. LLVM is loaded when the first pipeline is compiled, not here.

Examples in docstrings begin after these lines::

    import numpy as np
    import parhelion as hl

    x, y, c = hl.vars("x y c")
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from parhelion.errors import BoundsError as BoundsError
from parhelion.errors import BufferError_ as BufferError_
from parhelion.errors import DefinitionError as DefinitionError
from parhelion.errors import FormaError as FormaError
from parhelion.errors import HalideError as HalideError
from parhelion.errors import InternalError as InternalError
from parhelion.errors import InvalidBufferError as InvalidBufferError
from parhelion.errors import LiteralError as LiteralError
from parhelion.errors import MissingFolderError as MissingFolderError
from parhelion.errors import OutOfMemoryError as OutOfMemoryError
from parhelion.errors import PipelineRuntimeError as PipelineRuntimeError
from parhelion.errors import ScheduleError as ScheduleError
from parhelion.errors import SerialisationError as SerialisationError
from parhelion.errors import TimeLimitError as TimeLimitError
from parhelion.errors import TypeMismatchError as TypeMismatchError
from parhelion.errors import UnsetParamError as UnsetParamError
from parhelion.errors import UnwritableFileError as UnwritableFileError
from parhelion.ir.deadline import time_limit as time_limit
from parhelion.ir.loop_id import Partition as Partition
from parhelion.ir.progress import set_progress as set_progress
from parhelion.lang import boundary as _boundary
from parhelion.lang import numpy_names as _numpy_names
from parhelion.lang.autoscheduling import AutoschedulerParams as AutoschedulerParams
from parhelion.lang.autoscheduling import autoschedule as _autoschedule
from parhelion.lang.autoscheduling import load_plugin as load_plugin
from parhelion.lang.autoscheduling import (
    register_autoscheduler as register_autoscheduler,
)
from parhelion.lang.buffer import Buffer as Buffer
from parhelion.lang.buffer import BufferDimension as BufferDimension
from parhelion.lang.callable import Argument as Argument
from parhelion.lang.callable import ArgumentKind as ArgumentKind
from parhelion.lang.callable import Callable as Callable
from parhelion.lang.define_extern import ExternFuncArgument as ExternFuncArgument
from parhelion.lang.definition import RedefinitionWarning as RedefinitionWarning
from parhelion.lang.effects import gather as gather
from parhelion.lang.effects import likely as likely
from parhelion.lang.effects import likely_if_innermost as likely_if_innermost
from parhelion.lang.effects import memoize_tag as memoize_tag
from parhelion.lang.effects import print as print
from parhelion.lang.effects import print_when as print_when
from parhelion.lang.effects import random_float as random_float
from parhelion.lang.effects import random_int as random_int
from parhelion.lang.effects import random_uint as random_uint
from parhelion.lang.effects import require as require
from parhelion.lang.effects import scatter as scatter
from parhelion.lang.effects import strict_float as strict_float
from parhelion.lang.effects import undef as undef
from parhelion.lang.effects import unsafe_promise_clamped as unsafe_promise_clamped
from parhelion.lang.evaluate import evaluate as evaluate
from parhelion.lang.evaluate import evaluate_may_gpu as evaluate_may_gpu
from parhelion.lang.expr import Expr as Expr
from parhelion.lang.expr import ExprLike as ExprLike
from parhelion.lang.expr import logical_not as logical_not
from parhelion.lang.extern import ExternFunction as ExternFunction
from parhelion.lang.extern import extern_function as extern_function
from parhelion.lang.extern_stage import NameMangling as NameMangling
from parhelion.lang.fixedpoint import concat_bits as concat_bits
from parhelion.lang.fixedpoint import count_leading_zeros as count_leading_zeros
from parhelion.lang.fixedpoint import count_trailing_zeros as count_trailing_zeros
from parhelion.lang.fixedpoint import div_round_to_zero as div_round_to_zero
from parhelion.lang.fixedpoint import extract_bits as extract_bits
from parhelion.lang.fixedpoint import halving_add as halving_add
from parhelion.lang.fixedpoint import halving_sub as halving_sub
from parhelion.lang.fixedpoint import mod_round_to_zero as mod_round_to_zero
from parhelion.lang.fixedpoint import mul_shift_right as mul_shift_right
from parhelion.lang.fixedpoint import popcount as popcount
from parhelion.lang.fixedpoint import rounding_halving_add as rounding_halving_add
from parhelion.lang.fixedpoint import (
    rounding_mul_shift_right as rounding_mul_shift_right,
)
from parhelion.lang.fixedpoint import rounding_shift_left as rounding_shift_left
from parhelion.lang.fixedpoint import rounding_shift_right as rounding_shift_right
from parhelion.lang.fixedpoint import saturating_add as saturating_add
from parhelion.lang.fixedpoint import saturating_sub as saturating_sub
from parhelion.lang.fixedpoint import widen_right_add as widen_right_add
from parhelion.lang.fixedpoint import widen_right_mul as widen_right_mul
from parhelion.lang.fixedpoint import widen_right_sub as widen_right_sub
from parhelion.lang.fixedpoint import widening_add as widening_add
from parhelion.lang.fixedpoint import widening_mul as widening_mul
from parhelion.lang.fixedpoint import widening_shift_left as widening_shift_left
from parhelion.lang.fixedpoint import widening_shift_right as widening_shift_right
from parhelion.lang.fixedpoint import widening_sub as widening_sub
from parhelion.lang.func import Func as Func
from parhelion.lang.func import Stage as Stage
from parhelion.lang.func import funcs as funcs
from parhelion.lang.func import lambda_func as lambda_func
from parhelion.lang.functions import abs as abs
from parhelion.lang.functions import absd as absd
from parhelion.lang.functions import cast as cast
from parhelion.lang.functions import clamp as clamp
from parhelion.lang.functions import f16 as f16
from parhelion.lang.functions import f32 as f32
from parhelion.lang.functions import f64 as f64
from parhelion.lang.functions import i8 as i8
from parhelion.lang.functions import i8_sat as i8_sat
from parhelion.lang.functions import i16 as i16
from parhelion.lang.functions import i16_sat as i16_sat
from parhelion.lang.functions import i32 as i32
from parhelion.lang.functions import i32_sat as i32_sat
from parhelion.lang.functions import i64 as i64
from parhelion.lang.functions import i64_sat as i64_sat
from parhelion.lang.functions import mux as mux
from parhelion.lang.functions import reinterpret as reinterpret
from parhelion.lang.functions import saturating_cast as saturating_cast
from parhelion.lang.functions import select as select
from parhelion.lang.functions import u8 as u8
from parhelion.lang.functions import u8_sat as u8_sat
from parhelion.lang.functions import u16 as u16
from parhelion.lang.functions import u16_sat as u16_sat
from parhelion.lang.functions import u32 as u32
from parhelion.lang.functions import u32_sat as u32_sat
from parhelion.lang.functions import u64 as u64
from parhelion.lang.functions import u64_sat as u64_sat
from parhelion.lang.imageparam import Dimension as Dimension
from parhelion.lang.imageparam import ImageParam as ImageParam
from parhelion.lang.imageparam import OutputImageParam as OutputImageParam
from parhelion.lang.inline import argmax as argmax
from parhelion.lang.inline import argmin as argmin
from parhelion.lang.inline import maximum as maximum
from parhelion.lang.inline import minimum as minimum
from parhelion.lang.inline import product as product
from parhelion.lang.judging import get_recompute_limit as get_recompute_limit
from parhelion.lang.judging import set_recompute_limit as set_recompute_limit
from parhelion.lang.lerp import lerp as lerp
from parhelion.lang.loop_dump import StmtOutputFormat as StmtOutputFormat
from parhelion.lang.loop_level import LoopLevel as LoopLevel
from parhelion.lang.mathfuncs import acos as acos
from parhelion.lang.mathfuncs import acosh as acosh
from parhelion.lang.mathfuncs import asin as asin
from parhelion.lang.mathfuncs import asinh as asinh
from parhelion.lang.mathfuncs import atan as atan
from parhelion.lang.mathfuncs import atan2 as atan2
from parhelion.lang.mathfuncs import atanh as atanh
from parhelion.lang.mathfuncs import ceil as ceil
from parhelion.lang.mathfuncs import cos as cos
from parhelion.lang.mathfuncs import cosh as cosh
from parhelion.lang.mathfuncs import erf as erf
from parhelion.lang.mathfuncs import exp as exp
from parhelion.lang.mathfuncs import fast_cos as fast_cos
from parhelion.lang.mathfuncs import fast_exp as fast_exp
from parhelion.lang.mathfuncs import fast_inverse as fast_inverse
from parhelion.lang.mathfuncs import fast_inverse_sqrt as fast_inverse_sqrt
from parhelion.lang.mathfuncs import fast_log as fast_log
from parhelion.lang.mathfuncs import fast_pow as fast_pow
from parhelion.lang.mathfuncs import fast_sin as fast_sin
from parhelion.lang.mathfuncs import floor as floor
from parhelion.lang.mathfuncs import fract as fract
from parhelion.lang.mathfuncs import hypot as hypot
from parhelion.lang.mathfuncs import is_finite as is_finite
from parhelion.lang.mathfuncs import is_inf as is_inf
from parhelion.lang.mathfuncs import is_nan as is_nan
from parhelion.lang.mathfuncs import log as log
from parhelion.lang.mathfuncs import pow as pow
from parhelion.lang.mathfuncs import round as round
from parhelion.lang.mathfuncs import sin as sin
from parhelion.lang.mathfuncs import sinh as sinh
from parhelion.lang.mathfuncs import sqrt as sqrt
from parhelion.lang.mathfuncs import tan as tan
from parhelion.lang.mathfuncs import tanh as tanh
from parhelion.lang.mathfuncs import trunc as trunc
from parhelion.lang.module import Module as Module
from parhelion.lang.module import OutputFileType as OutputFileType
from parhelion.lang.module import (
    compile_standalone_runtime as compile_standalone_runtime,
)
from parhelion.lang.param import Param as Param
from parhelion.lang.pipeline import Pipeline as Pipeline
from parhelion.lang.rdom import Range as Range
from parhelion.lang.rdom import RDom as RDom
from parhelion.lang.rdom import RVar as RVar
from parhelion.lang.ref import FuncRef as FuncRef
from parhelion.lang.ref import FuncTupleElementRef as FuncTupleElementRef
from parhelion.lang.target_api import Target as Target
from parhelion.lang.target_api import TargetArch as TargetArch
from parhelion.lang.target_api import TargetFeature as TargetFeature
from parhelion.lang.target_api import TargetOS as TargetOS
from parhelion.lang.target_api import TargetProcessorTune as TargetProcessorTune
from parhelion.lang.target_api import get_host_target as get_host_target
from parhelion.lang.target_api import (
    get_jit_target_from_environment as get_jit_target_from_environment,
)
from parhelion.lang.target_api import (
    get_target_from_environment as get_target_from_environment,
)
from parhelion.lang.target_api import (
    host_supports_target_device as host_supports_target_device,
)
from parhelion.lang.target_api import (
    target_feature_for_device_api as target_feature_for_device_api,
)
from parhelion.lang.tuples import Tuple as Tuple
from parhelion.lang.var import Var as Var
from parhelion.lang.var import _ as _
from parhelion.lang.var import _0 as _0
from parhelion.lang.var import _1 as _1
from parhelion.lang.var import _2 as _2
from parhelion.lang.var import _3 as _3
from parhelion.lang.var import _4 as _4
from parhelion.lang.var import _5 as _5
from parhelion.lang.var import _6 as _6
from parhelion.lang.var import _7 as _7
from parhelion.lang.var import _8 as _8
from parhelion.lang.var import _9 as _9
from parhelion.lang.var import vars as vars
from parhelion.runtime.threads import get_num_threads as get_num_threads
from parhelion.runtime.threads import limit_threads as limit_threads
from parhelion.runtime.threads import release_memory as release_memory
from parhelion.runtime.threads import set_kept_memory as set_kept_memory
from parhelion.runtime.threads import set_num_threads as set_num_threads
from parhelion.schedule.directives import DeviceAPI as DeviceAPI
from parhelion.schedule.directives import LoopAlignStrategy as LoopAlignStrategy
from parhelion.schedule.directives import MemoryType as MemoryType
from parhelion.schedule.directives import (
    PrefetchBoundStrategy as PrefetchBoundStrategy,
)
from parhelion.schedule.directives import TailStrategy as TailStrategy
from parhelion.schedule.memoize import EvictionKey as EvictionKey
from parhelion.schedule.recomputing import RecomputeWarning as RecomputeWarning
from parhelion.schedule.rules import ScheduleWarning as ScheduleWarning
from parhelion.tracebacks import shorten as _shorten
from parhelion.tracebacks import shortened as _shortened
from parhelion.types import BFloat as BFloat
from parhelion.types import Bool as Bool
from parhelion.types import Float as Float
from parhelion.types import Handle as Handle
from parhelion.types import Int as Int
from parhelion.types import Type as Type
from parhelion.types import TypeCode as TypeCode
from parhelion.types import UInt as UInt
from parhelion.version import VERSION as VERSION
from parhelion.whole.functions import clip as clip
from parhelion.whole.functions import max as max
from parhelion.whole.functions import mean as mean
from parhelion.whole.functions import min as min
from parhelion.whole.functions import sum as sum
from parhelion.whole.functions import where as where

if TYPE_CHECKING:
    from parhelion import filters as filters
    from parhelion.adjoint.derivative import Derivative as Derivative
    from parhelion.adjoint.derivative import propagate_adjoints as propagate_adjoints
    from parhelion.autoschedule.result import (
        AutoSchedulerResults as AutoSchedulerResults,
    )
    from parhelion.lang.extension import build_extension as build_extension
    from parhelion.lang.generator import Generator as Generator
    from parhelion.lang.generator import alias as alias
    from parhelion.lang.generator import (
        create_callable_from_generator as create_callable_from_generator,
    )
    from parhelion.lang.generator import generator as generator
    from parhelion.lang.generator_context import GeneratorContext as GeneratorContext
    from parhelion.lang.generator_context import (
        active_generator_context as active_generator_context,
    )
    from parhelion.lang.generator_io import InputBuffer as InputBuffer
    from parhelion.lang.generator_io import InputScalar as InputScalar
    from parhelion.lang.generator_io import OutputBuffer as OutputBuffer
    from parhelion.lang.generator_io import OutputScalar as OutputScalar
    from parhelion.lang.generator_main import main as main
    from parhelion.lang.generator_params import GeneratorParam as GeneratorParam
    from parhelion.lang.report import FuncReport as FuncReport
    from parhelion.lang.report import LoopReport as LoopReport
    from parhelion.lang.report import Report as Report
    from parhelion.lang.serialisation import (
        deserialize_parameters as deserialize_parameters,
    )
    from parhelion.lang.serialisation import (
        deserialize_pipeline as deserialize_pipeline,
    )
    from parhelion.lang.serialisation import serialize_pipeline as serialize_pipeline
    from parhelion.recfilter.iir import iir as iir
    from parhelion.recfilter.iir import sosfilt as sosfilt
    from parhelion.recfilter.zero_phase import filtfilt as filtfilt
    from parhelion.runtime.memo import MemoStatistics as MemoStatistics
    from parhelion.runtime.memo import (
        memoization_cache_cleanup as memoization_cache_cleanup,
    )
    from parhelion.runtime.memo import (
        memoization_cache_evict as memoization_cache_evict,
    )
    from parhelion.runtime.memo import (
        memoization_cache_set_size as memoization_cache_set_size,
    )
    from parhelion.runtime.memo import (
        memoization_cache_statistics as memoization_cache_statistics,
    )
    from parhelion.runtime.profile import FuncProfile as FuncProfile
    from parhelion.runtime.profile import Profile as Profile
    from parhelion.runtime.profile_device import CopyProfile as CopyProfile
    from parhelion.runtime.profile_device import KernelProfile as KernelProfile
    from parhelion.runtime.streams import cuda_device as cuda_device
    from parhelion.runtime.streams import cuda_stream as cuda_stream
    from parhelion.runtime.trace import TraceEvent as TraceEvent
    from parhelion.streaming.stream import Stream as Stream
    from parhelion.streaming.stream import stream as stream
    from parhelion.views.comparing import (
        load_ipython_extension as load_ipython_extension,
    )
    from parhelion.whole.array import Array as Array
    from parhelion.whole.jit import jit as jit
    from parhelion.whole.jitted import Jitted as Jitted

BoundaryConditions = _boundary
_numpy_names.register()
__version__ = VERSION

# Where the package of that name is loaded only later, it takes the function's place.
import_module("parhelion.autoschedule")
autoschedule = _autoschedule
_shorten(globals())

#: Names that many programs never use, and where they are found when one does.
_LATER = {
    "adjoint.derivative": ("Derivative", "propagate_adjoints"),
    "autoschedule.result": ("AutoSchedulerResults",),
    "lang.extension": ("build_extension",),
    "lang.generator": (
        "Generator",
        "alias",
        "create_callable_from_generator",
        "generator",
    ),
    "lang.generator_context": ("GeneratorContext", "active_generator_context"),
    "lang.generator_io": ("InputBuffer", "InputScalar", "OutputBuffer", "OutputScalar"),
    "lang.generator_main": ("main",),
    "lang.generator_params": ("GeneratorParam",),
    "lang.serialisation": (
        "deserialize_parameters",
        "deserialize_pipeline",
        "serialize_pipeline",
    ),
    "lang.report": ("FuncReport", "LoopReport", "Report"),
    "recfilter.iir": ("iir", "sosfilt"),
    "recfilter.zero_phase": ("filtfilt",),
    "runtime.memo": (
        "MemoStatistics",
        "memoization_cache_cleanup",
        "memoization_cache_evict",
        "memoization_cache_set_size",
        "memoization_cache_statistics",
    ),
    "runtime.profile": ("FuncProfile", "Profile"),
    "runtime.profile_device": ("CopyProfile", "KernelProfile"),
    "runtime.streams": ("cuda_device", "cuda_stream"),
    "runtime.trace": ("TraceEvent",),
    "streaming.stream": ("Stream", "stream"),
    "views.comparing": ("load_ipython_extension",),
    "whole.array": ("Array",),
    "whole.jit": ("jit",),
    "whole.jitted": ("Jitted",),
}
_HOME = {
    name: f"parhelion.{module}" for module, names in _LATER.items() for name in names
}
_HOME["filters"] = "parhelion"


#: Names of Halide 21's module that are not here; docs/from-halide.md lists them.
_NOT_YET = frozenset(
    [
        "ArgInfo",
        "ArgInfoDirection",
        "ArgInfoKind",
        "ArgumentEstimates",
        "LinkageType",
        "Parameter",
        "VarOrRVar",
        "link_modules",
        "target_arch_is",
        "target_bits",
        "target_has_feature",
        "target_natural_vector_size",
        "target_os_is",
        "user_context_value",
    ]
)


def __getattr__(name: str) -> object:
    """Imports what is not needed to build and run a pipeline when it is first used."""
    home = _HOME.get(name)
    if home is None:
        known = ": of Halide's names it is one that is not available yet"
        raise AttributeError(
            f"module 'parhelion' has no attribute {name!r}{known * (name in _NOT_YET)}"
        )
    if home == __name__:  # a package of its own
        return import_module(f"{home}.{name}")
    import_module(home)
    # All names of what is loaded with it: what `stream` returns is a `Stream`, and what
    # `jit` makes gives a function Arrays, which nobody asked for.
    for other, names in _LATER.items():
        loaded = sys.modules.get(f"parhelion.{other}")
        if loaded is not None:
            for one in names:
                if one not in globals():
                    globals()[one] = _shortened(getattr(loaded, one))
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
