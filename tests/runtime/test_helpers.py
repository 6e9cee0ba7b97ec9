"""What compiled code calls of the run time: told by its module, found by name."""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType

import pytest

import parhelion as hl
from parhelion.runtime import helpers, loading, memo, profile, threads, trace

x = hl.Var("x")
ADD = """
declare i64 @ph_test_add(i64, i64)
declare void @unused(ptr)
define i32 @add_argv(ptr %ctx, ptr %argv) {
  %n = call i64 @ph_test_add(i64 20, i64 22)
  %code = trunc i64 %n to i32
  ret i32 %code
}
"""


def test_helpers_have_the_addresses_of_their_providers() -> None:
    for provider in (threads, memo, trace, profile):
        names = helpers.provided(provider.__name__)
        assert names and set(names) <= set(provider.symbols())
        for name in names:
            assert helpers.is_known(name)
            assert name in helpers.addresses([name])
    assert not helpers.is_known("malloc")
    with pytest.raises(KeyError):
        helpers.addresses(["malloc"])
    assert all(map(helpers.is_known, helpers.WATCHED))


def helpers_of(f: hl.Func) -> frozenset[str]:
    pipeline = hl.Pipeline(f)
    pipeline.compile_jit()
    (program,) = pipeline._runner._programs.values()
    return program.call.compiled.helpers


def test_code_says_what_it_calls() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    f.compute_root()
    called = helpers_of(g)
    assert {"ph_malloc", "ph_free"} <= called and "ph_par_for" not in called
    g.parallel(x)
    assert "ph_par_for" in helpers_of(g)


@pytest.mark.usefixtures("llvm_each_time")
def test_another_part_of_the_run_time_can_provide_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As that of a device does: nothing else knows of it."""
    add = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        lambda a, b: a + b
    )
    made = ModuleType("a_device")
    address = ctypes.cast(add, ctypes.c_void_p).value
    made.symbols = lambda: {"ph_test_add": address}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "a_device", made)
    monkeypatch.setattr(helpers, "_PROVIDERS", dict(helpers._PROVIDERS))
    with pytest.raises(hl.InternalError, match="does not link"):
        loading.compile_module(ADD, "add")
    helpers.provide("a_device", ["ph_test_add"])
    compiled = loading.compile_module(ADD, "add")
    assert compiled.helpers == {"ph_test_add"}
    assert compiled.entry(0, 0) == 42
