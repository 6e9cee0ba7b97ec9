"""What programs for Halide's Python module ask of it, asked of both modules."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import pytest

import parhelion as hl

TYPES = ("Int(8)", "Int(64)", "UInt(16)", "UInt(64)", "Bool()", "Float(32)")
TARGETS = (
    "x86-64-linux",
    "x86-32-windows-sse41",
    "arm-64-android-armv8a-vulkan-vk_int8",
    "x86-64-linux-tune_znver3-avx-avx2-trace_loads-msan",
    "powerpc-64-linux-vsx",
    "wasm-32-wasmrt-wasm_simd128-wasm_threads",
)


def halide() -> Any:
    return pytest.importorskip("halide")


def by_name(module: Any, text: str) -> Any:
    """A type that is written as a call: ``Int(8)``."""
    name, _, bits = text.rstrip(")").partition("(")
    return getattr(module, name)(*([int(bits)] if bits else []))


def test_the_type_of_nothing() -> None:
    ours, theirs = hl.Type(), halide().Type()
    assert (ours.bits(), ours.lanes(), ours.bytes()) == (0, 0, 0)
    assert (theirs.bits(), theirs.lanes(), theirs.bytes()) == (0, 0, 0)
    assert str(ours) == str(theirs)
    assert ours.code().name == theirs.code().name and ours == hl.Type()
    with pytest.raises(hl.TypeMismatchError, match="has a scalar type"):
        hl.Param(hl.Type())


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(
    "value", [0, 1, -1, 127, -128, 65535, 65536, 2**63 - 1, -(2**63)]
)
def test_the_ends_of_types(name: str, value: int) -> None:
    ours, theirs = by_name(hl, name), by_name(halide(), name)
    assert ours.is_max(value) == theirs.is_max(value)
    assert ours.is_min(value) == theirs.is_min(value)


@pytest.mark.parametrize("text", TARGETS)
def test_texts_of_targets(text: str) -> None:
    ours, theirs = hl.Target(text), halide().Target(text)
    assert ours.to_string() == theirs.to_string()
    assert hl.Target(ours.to_string()) == ours
    assert ours.processor_tune.name == theirs.processor_tune.name
    assert ours.arch.name == theirs.arch.name and ours.os.name == theirs.os.name


def test_features_have_the_same_names() -> None:
    module = halide()
    every = {f for f in module.TargetFeature.__members__ if f != "FeatureEnd"}
    assert every == {f.name for f in hl.TargetFeature}
    for name in every - {"HVX"}:  # Halide writes that one as two
        theirs = module.Target(
            module.TargetOS.Linux,
            module.TargetArch.ArchUnknown,
            64,
            [getattr(module.TargetFeature, name)],
        ).to_string()
        assert theirs.endswith(f"-{hl.TargetFeature[name].value}")


def test_features_that_no_code_is_made_with_are_refused() -> None:
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = x
    for text in ("msan", "trace_loads", "tune_znver3"):
        with pytest.raises(hl.HalideError, match=f"no code is made for .* {text}"):
            f.realize([3], hl.Target(f"host-{text}"))


def test_devices_of_targets() -> None:
    for module in (hl, halide()):
        plain, cuda = (module.Target(f"x86-64-linux{f}") for f in ("", "-cuda"))
        assert cuda.supports_device_api(module.DeviceAPI.CUDA)
        assert not plain.supports_device_api(module.DeviceAPI.CUDA)
        assert plain.supports_device_api(module.DeviceAPI.Host)
        assert plain.supports_type(module.Float(64))
        assert cuda.supports_type(module.Float(64), module.DeviceAPI.CUDA)
        assert not module.Target("x86-64-osx-metal").supports_type(module.Float(64))
        feature = module.target_feature_for_device_api(module.DeviceAPI.CUDA)
        assert feature == module.TargetFeature.CUDA
    with pytest.raises(hl.HalideError, match="no feature of targets stands for"):
        hl.target_feature_for_device_api(hl.DeviceAPI.Host)


def test_how_vars_are_shown() -> None:
    for module in (hl, halide()):
        x = module.Var("x")
        assert str(x) == "x" and repr(x) == f"<{module.__name__}.Var 'x'>"


def test_values_that_may_be_computed_on_a_gpu() -> None:
    for module in (hl, halide()):
        assert module.evaluate_may_gpu(module.Expr(3) * 4) == 12


def _warned(module: Any) -> list[str]:
    """What a module says, by Python's warnings or on the output, of a bound without an
    effect and of an update without a schedule."""
    i = module.Var("i")
    f, g, h = (module.Func(n) for n in ("inlined", "reader", "updated"))
    f[i] = 0.0
    f.bound(i, 0, 127)
    g[i] = f[i * i]
    h[i] = 0
    h[i] += 5
    h.vectorize(i, 8)
    told = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.redirect_stdout(told):
            g.realize([16])
            h.realize([64])
    return [*[str(w.message) for w in caught], *told.getvalue().splitlines()]


def test_what_realize_warns_of() -> None:
    """Halide prints it; here Python's warnings can be silenced, or made errors."""
    for module in (hl, halide()):
        lines = [line for line in _warned(module) if line]
        assert any(["inlined" in line and "bound" in line for line in lines])
        assert any(["updated" in line and "unscheduled()" in line for line in lines])
