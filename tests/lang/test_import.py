"""What importing the package brings in, and the names that it has."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import parhelion as hl


def test_importing_loads_no_compiler() -> None:
    code = (
        "import sys, parhelion; "
        "heavy = {'llvmlite', 'scipy', 'imageio', 'halide', 'matplotlib', 'dask'}; "
        "print(sorted(heavy & {m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


_TEXT = """
abs absd acos acosh argmax argmin asin asinh atan atan2 atanh cast ceil clamp
concat_bits cos cosh count_leading_zeros count_trailing_zeros div_round_to_zero erf
evaluate exp extract_bits f32 f64 fast_cos fast_exp fast_inverse fast_inverse_sqrt
fast_log fast_pow fast_sin floor fract funcs gather halving_add halving_sub hypot i16
i16_sat i32 i32_sat i64 i64_sat i8 i8_sat is_finite is_inf is_nan lambda_func lerp
likely likely_if_innermost log logical_not max maximum memoize_tag min minimum
mod_round_to_zero mul_shift_right mux popcount pow print print_when product
random_float random_int random_uint reinterpret require round rounding_halving_add
rounding_mul_shift_right rounding_shift_left rounding_shift_right saturating_add
saturating_cast saturating_sub scatter select sin sinh sqrt strict_float sum tan tanh
trunc u16 u16_sat u32 u32_sat u64 u64_sat u8 u8_sat undef unsafe_promise_clamped vars
widen_right_add widen_right_mul widen_right_sub widening_add widening_mul
widening_shift_left widening_shift_right widening_sub
_ _0 _1 _2 _3 _4 _5 _6 _7 _8 _9
BFloat Bool BoundaryConditions Buffer Expr Float Func FuncRef FuncTupleElementRef
HalideError Handle ImageParam Int LoopLevel MemoryType Param Pipeline RDom RVar Range
Stage TailStrategy Tuple Type TypeCode UInt Var
"""
NAMES = _TEXT.split()


def test_halides_names_are_there() -> None:
    assert [n for n in NAMES if not hasattr(hl, n)] == []
    conditions = (
        "constant_exterior mirror_image mirror_interior repeat_edge repeat_image"
    )
    for name in conditions.split():
        assert hasattr(hl.BoundaryConditions, name)


def test_public_functions_and_classes_have_docstrings() -> None:
    missing = [
        n for n in NAMES if callable(getattr(hl, n)) and not getattr(hl, n).__doc__
    ]
    assert missing == []
    for kind in (hl.Func, hl.Expr, hl.Var, hl.RVar, hl.RDom, hl.Tuple, hl.Stage):
        assert kind.__doc__


def test_what_is_found_later_is_what_type_checkers_see() -> None:
    (checked,) = [
        one
        for one in ast.parse(inspect.getsource(hl)).body
        if isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING"
    ]
    declared = {}
    for one in checked.body:
        assert isinstance(one, ast.ImportFrom)
        declared.update({alias.name: one.module for alias in one.names})
    assert declared == hl._HOME
    for name, module in declared.items():
        assert getattr(hl, name) is getattr(sys.modules[str(module)], name)
        assert name in dir(hl)
    with pytest.raises(AttributeError, match="'parhelion' has no attribute 'Fnuc'"):
        hl.__getattr__("Fnuc")


def test_the_function_autoschedule_keeps_its_name() -> None:
    code = (
        "import parhelion as hl, parhelion.autoschedule.search.scheduler; "
        "hl.AutoSchedulerResults; print(type(hl.autoschedule).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "function"


def test_names_of_halide_that_are_not_there_say_so() -> None:
    halide = pytest.importorskip("halide")
    missing = {n for n in dir(halide) if n[0] != "_" and n not in dir(hl)}
    # Halide's own module for its C++ part, and where its wheel is.
    missing -= {"halide_", "install_dir"}
    assert missing == hl._NOT_YET
    for name in missing:
        with pytest.raises(AttributeError, match=f"'{name}': of Halide's names it is"):
            getattr(hl, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        hl.nonsense  # noqa: B018
