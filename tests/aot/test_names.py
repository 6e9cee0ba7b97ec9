"""Names of compiled functions and of their parameters, in C and in objects."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime.foreign import Struct
from tests.aot.builds import HOST
from tests.codegen.c_code import OPTIONS, compiled, needs_cc

x, y = hl.vars("x y")
Kind = hl.OutputFileType


def plain(name: str = "named") -> hl.Func:
    f = hl.Func(name)
    f[x] = x
    return f


@needs_cc
def test_parameters_are_spelled_differently(tmp_path: Path) -> None:
    """Though a Param is called as an image is spelled, or as C's words are."""
    image = hl.ImageParam(hl.Int(32), 1, "px")
    names = ["px_buffer", "Bool", "_user_context", "_LINE__", "Complex", "OPENMP"]
    params = [hl.Param(hl.Int(32), name, 1) for name in names]
    f = hl.Func("spelled")
    f[x] = image[x] + sum(params[1:], hl.Expr(params[0]))
    given: list[hl.ImageParam | hl.Param] = [image, *params]
    header, source = tmp_path / "spelled.h", tmp_path / "use.c"
    f.compile_to_header(header, given, "spelled", hl.Target("host-user_context"))
    source.write_text('#include "spelled.h"\nint main(void) { return 0; }\n')
    subprocess.run(
        [HOST.tool("gcc"), *OPTIONS, "-fsyntax-only", f"-I{tmp_path}", source],
        check=True,
    )
    call = compiled(f, given, tmp_path)
    a = hl.Buffer(np.arange(5, dtype=np.int32))
    out = hl.Buffer(hl.Int(32), [5])
    assert call(a, 1, 2, 3, 4, 5, 6, out) == 0
    np.testing.assert_array_equal(np.asarray(out), np.arange(5) + 21)


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("gamma", "the C library"),
        ("logf", "the C library"),
        ("printf", "the C library"),
        ("main", "the C library"),
        ("pthread_create", "the C library"),
        ("uint8_t", "the C library"),
        ("roundeven", "the C library"),
        ("roundevenf", "the C library"),
        ("sincosf", "the C library"),
        ("M_PI", "the C library"),
        ("HUGE_VAL", "the C library"),
        ("INT32_MAX", "the C library"),
        ("FP_NAN", "the C library"),
        ("offsetof", "the C library"),
        ("uint", "the C library"),
        ("ulong", "the C library"),
        ("halide_error", "the run time"),
        ("ph_malloc", "the run time"),
        ("_Bool", "the C compiler"),
        ("__LINE__", "the C compiler"),
    ],
)
def test_names_that_others_have(name: str, owner: str, tmp_path: Path) -> None:
    """Whether they are asked for or are the Func's."""
    message = f"no function can be called '{name}', which is a name of {owner}"
    writers: list[Callable[[], None]] = [
        lambda: plain().compile_to_object(tmp_path / "f.o", [], name),
        lambda: plain().compile_to_header(tmp_path / "f.h", [], name),
        lambda: plain().compile_to_c(tmp_path / "f.c", [], name),
        lambda: plain(name).compile_to_c(tmp_path / "f.c"),
    ]
    for write in writers:
        with pytest.raises(hl.HalideError) as caught:
            write()
        assert str(caught.value).splitlines()[0] == message
        assert "fn_name" in str(caught.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["storage", "tell", "min_i32", "asks"])
def test_names_that_c_text_has_of_its_own(name: str, tmp_path: Path) -> None:
    message = f"the function '{name}' has the name of one that C text has of its own"
    with pytest.raises(hl.HalideError, match=message):
        plain().compile_to_c(tmp_path / "f.c", [], name)
    plain().compile_to_object(tmp_path / "f.o", [], name)


@needs_cc
@pytest.mark.parametrize("foreign", ["cbrt", "toupper", "llabs"])
def test_a_func_may_be_called_as_the_function_that_it_calls(
    foreign: str, tmp_path: Path
) -> None:
    """llabs has a type of its own in <stdlib.h>; a Func's storage is no function."""
    t = {"cbrt": hl.Float(64), "toupper": hl.Int(32), "llabs": hl.Int(64)}[foreign]
    made = hl.extern_function(foreign, t, [t])
    g, f = hl.Func(foreign), hl.Func("calling")
    g[x] = made(hl.cast(t, x + 1))
    f[x] = g[x] + g[x + 1]
    g.compute_root()
    call, out = compiled(f, [], tmp_path), hl.Buffer(t, [5])
    assert call(out) == 0
    np.testing.assert_array_equal(np.asarray(out), np.asarray(f.realize([5])))


@needs_cc
@pytest.mark.parametrize("length", [1024, 3000])
def test_long_names(length: int, tmp_path: Path) -> None:
    """LLVM cuts names of values short at 1,024 characters; two were the same then."""
    image = hl.ImageParam(hl.Int(32), 1, "i" * length)
    gain = hl.Param(hl.Int(32), "p" * length)
    shift = hl.Param(hl.Int(32), "p" * length + "q")
    column = hl.Var("v" * length)
    g, f = hl.Func("f" * length + "g"), hl.Func("f" * length)
    g[column] = image[column] * gain
    f[column] = g[column] + g[column] * 2 + shift
    g.compute_at(f, column)
    f.compile_to_static_library(tmp_path / "long", [image, gain, shift])
    shared = tmp_path / "long.so"
    subprocess.run(
        [
            *(HOST.tool("gcc"), "-shared", "-o", shared, "-Wl,--whole-archive"),
            *(tmp_path / "long.a", "-Wl,--no-whole-archive", "-lm", "-lpthread"),
        ],
        check=True,
    )
    pixels, out = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    given, made = [Struct.of(hl.Int(32), a, [0]) for a in (pixels, out)]
    call = getattr(ctypes.CDLL(str(shared)), f.name())
    call.argtypes = [ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p]
    assert call(given.address, 2, 7, made.address) == 0
    np.testing.assert_array_equal(out, pixels * 6 + 7)


def test_functions_that_have_no_name(tmp_path: Path) -> None:
    """Neither a callback nor an address can be linked with."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
    callback = kind(lambda v: 2 * v)
    address = ctypes.cast(kind(lambda v: 3 * v), ctypes.c_void_p).value
    assert address is not None
    for foreign in (callback, address):
        f = hl.Func("nameless")
        f[x] = hl.extern_function(foreign, hl.Int(32), [hl.Int(32)])(x)
        for write in (f.compile_to_c, f.compile_to_object):
            with pytest.raises(hl.HalideError, match="given by its address has no na"):
                write(tmp_path / "f", [], "nameless")


def test_a_function_does_not_call_itself(tmp_path: Path) -> None:
    f = hl.Func("shout")
    f[x] = hl.extern_function("getpgid", hl.Int(32), [hl.Int(32)])(x)
    message = "the function 'getpgid' has the name of one that it calls"
    for write in (f.compile_to_c, f.compile_to_object):
        with pytest.raises(hl.HalideError, match=message):
            write(tmp_path / "f", [], "getpgid")


@needs_cc
def test_printed_strings(tmp_path: Path) -> None:
    """What C's strings cannot hold as it is."""
    said = 'tab\t cr\r ??/ ??= %d "q" \\ nul\0 \x1b[0m\x07\x7f1 ümlaut'
    f = hl.Func("printed")
    f[x] = hl.print(x, said)
    text = hl.Pipeline(f).c_text([], "printed")
    source = tmp_path / "main.c"
    source.write_text(
        text
        + """
int main(void) {
  int32_t out[1];
  struct halide_dimension_t dim = {0, 1, 1, 0};
  struct halide_buffer_t b = {0};
  b.host = (uint8_t *)out;
  b.type.bits = 32;
  b.type.lanes = 1;
  b.dimensions = 1;
  b.dim = &dim;
  return printed(&b);
}
""",
        encoding="utf-8",
    )
    program = tmp_path / "main"
    subprocess.run(
        [HOST.tool("gcc"), *OPTIONS, "-fopenmp", source, "-o", program, "-lm"],
        check=True,
    )
    done = subprocess.run([program], capture_output=True, check=True)
    assert done.stdout == f"0 {said}\n".encode()


@needs_cc
def test_variables_with_names_of_macros(tmp_path: Path) -> None:
    """Images, Params, Funcs and Vars may be called so: C text calls them otherwise."""
    column, row = hl.Var("FP_NAN"), hl.Var("BUFSIZ")
    image, number = (
        hl.ImageParam(hl.Int(32), 2, "M_PI"),
        hl.Param(hl.Int(32), "SIZE_MAX"),
    )
    g, f = hl.Func("INT32_MAX"), hl.Func("macros")
    g[column, row] = image[column, row] + number
    f[column, row] = g[column, row] + g[column + 1, row]
    g.compute_root()
    call = compiled(f, [image, number], tmp_path)
    pixels = np.arange(12, dtype=np.int32).reshape(3, 4)
    out = hl.Buffer(hl.Int(32), [3, 3])
    assert call(hl.Buffer(pixels), 7, out) == 0
    np.testing.assert_array_equal(np.asarray(out), pixels[:, 1:] + pixels[:, :-1] + 14)
