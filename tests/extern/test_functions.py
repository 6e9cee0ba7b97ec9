"""C functions in expressions."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.support.checking import check
from tests.support.realized import single

x, y = hl.Var("x"), hl.Var("y")


def test_a_function_of_the_c_library() -> None:
    cbrt = hl.extern_function("cbrt", hl.Float(64), [hl.Float(64)])
    assert cbrt.name() == "cbrt"

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x, y] = cbrt(hl.f64(x * 7 - y))
        return f

    (got,) = check(
        make,
        [9, 4],
        [
            lambda f: f.vectorize(x, 4),
            lambda f: f.parallel(y).unroll(x, 3),
        ],
    )
    grid = np.arange(9)[:, None] * 7.0 - np.arange(4)[None, :]
    np.testing.assert_allclose(got, np.cbrt(grid), rtol=1e-15)


@pytest.mark.parametrize(
    ("t", "c"),
    [
        (hl.Int(8), ctypes.c_int8),
        (hl.UInt(8), ctypes.c_uint8),
        (hl.Int(16), ctypes.c_int16),
        (hl.UInt(16), ctypes.c_uint16),
        (hl.Int(32), ctypes.c_int32),
        (hl.UInt(32), ctypes.c_uint32),
        (hl.Int(64), ctypes.c_int64),
        (hl.UInt(64), ctypes.c_uint64),
        (hl.Float(32), ctypes.c_float),
        (hl.Float(64), ctypes.c_double),
    ],
)
def test_every_type_crosses(t: hl.Type, c: Any) -> None:
    """A callback made by ctypes, given a value and a Bool, in vectors too."""

    def pick(value: float, negate: bool) -> float:
        return -value if negate and not t.is_uint() else value

    given = ctypes.CFUNCTYPE(c, c, ctypes.c_bool)(pick)
    call = hl.extern_function(given, t, [t, hl.Bool()])

    def make() -> hl.Func:
        f = hl.Func("f")
        f[x] = call(hl.cast(t, x * 3), x % 2 == 0)
        return f

    check(make, [13], [lambda f: f.vectorize(x, 4)])


def test_literals_take_the_parameters_type() -> None:
    hypot = hl.extern_function("hypotf", hl.Float(32), [hl.Float(32)] * 2)
    f = hl.Func()
    f[x] = hypot(3, 4.0)
    assert single(f.realize([2]))[1] == 5.0


def test_it_stays_a_call_for_each_lane() -> None:
    cbrt = hl.extern_function("cbrtf", hl.Float(32), [hl.Float(32)])
    f = hl.Func("f")
    f[x] = cbrt(hl.f32(x))
    f.vectorize(x, 4)
    text = hl.Pipeline(f).llvm_text(optimised=False)
    assert text.count("call float @cbrtf(") % 4 == 0
    assert 'extern<float32x4>("cbrtf"' in hl.Pipeline(f).lowered_text()
    assert "cbrtf(" in hl.Pipeline(f).c_text()


def test_bad_functions() -> None:
    with pytest.raises(hl.DefinitionError, match="there is no C function 'no_such'"):
        hl.extern_function("no_such", hl.Float(32), [hl.Float(32)])
    for name in ("__init__", "_handle", "a\0b", ""):
        with pytest.raises(hl.DefinitionError, match="there is no C function"):
            hl.extern_function(name, hl.Float(32), [hl.Float(32)])
    for address in (-1, 2**64):
        with pytest.raises(hl.DefinitionError, match=f"{address} is no address"):
            hl.extern_function(address, hl.Float(32), [hl.Float(32)])
    for number in (1, 5, 4095):  # a slip: it was called, and ended the process
        with pytest.raises(hl.DefinitionError, match=f"at the address {number}\\n"):
            hl.extern_function(number, hl.Float(32), [hl.Float(32)])
    f = hl.Func("f")
    with pytest.raises(hl.DefinitionError, match="no function at the address 5"):
        f.define_extern(5, [], hl.Int(32), [x])
    with pytest.raises(hl.DefinitionError, match="null pointer"):
        hl.extern_function(0, hl.Float(32), [hl.Float(32)])
    with pytest.raises(hl.TypeMismatchError, match="argument 0 is of type float16"):
        hl.extern_function("cbrt", hl.Float(64), [hl.Float(16)])
    with pytest.raises(hl.TypeMismatchError, match="without arguments"):
        hl.extern_function("rand", hl.Int(32), [])
    with pytest.raises(hl.TypeMismatchError, match="takes the name of a C function"):
        hl.extern_function(len, hl.Int(32), [hl.Int(32)])
    cbrt = hl.extern_function("cbrt", hl.Float(64), [hl.Float(64)])
    with pytest.raises(hl.TypeMismatchError, match="takes 1 arguments, not 2"):
        cbrt(1.0, 2.0)
    with pytest.raises(hl.TypeMismatchError, match="another prototype before"):
        hl.extern_function("cbrt", hl.Float(32), [hl.Float(32)])
    twice = hl.extern_function("cbrtf", hl.Float(32), [hl.Float(32)])
    with pytest.raises(hl.TypeMismatchError) as error:
        twice(hl.f64(x))
    assert error.value.what == (
        "argument 0 of the C function 'cbrtf' is of type float32; a value of type "
        "float64 is given"
    )
    assert error.value.hint == "cast it: hl.cast(hl.Float(32), …)"


def test_another_function_where_one_was() -> None:
    """A callback whose address was given, and no callback, ends; the next one may begin
    at the same place, with other types."""

    twice = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda value: 2 * value)
    address = ctypes.cast(twice, ctypes.c_void_p).value
    assert address is not None
    first, again, other = hl.funcs("first again other")
    first[x] = hl.extern_function(address, hl.Int(32), [hl.Int(32)])(x)
    again[x] = hl.extern_function(twice, hl.Int(32), [hl.Int(32)])(x)
    other[x] = hl.extern_function(address, hl.UInt(32), [hl.UInt(32)])(hl.u32(x))
    for f in (first, again, other):
        assert np.asarray(f.realize([3])).tolist() == [0, 2, 4]
    both = hl.Func("both")
    both[x] = first[x] + hl.i32(other[x])
    assert np.asarray(both.realize([3])).tolist() == [0, 4, 8]


def test_a_prototype_that_ctypes_knows_is_compared() -> None:
    """Signs do not matter: C passes both alike."""

    tenfold = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(lambda value: 10 * value)
    int32, float32 = hl.Int(32), hl.Float(32)
    for result, params in (
        (float32, [int32]),
        (int32, [float32]),
        (int32, [int32, int32]),
        (int32, [hl.Int(64)]),
    ):
        with pytest.raises(hl.TypeMismatchError, match=r"is c_int of \(c_int\)"):
            hl.extern_function(tenfold, result, params)
    f = hl.Func("f")
    f[x] = hl.extern_function(tenfold, hl.UInt(32), [hl.UInt(32)])(hl.u32(x))
    assert np.asarray(f.realize([3])).tolist() == [0, 10, 20]
