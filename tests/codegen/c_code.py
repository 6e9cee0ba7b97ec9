"""Compiling and calling the C text of pipelines, for tests."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from parhelion.runtime.layout import Layout
from tests.support.structs import BufferStruct, Dimension

CC = shutil.which("gcc") or shutil.which("cc")
CLANG = shutil.which("clang")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler (Debian: gcc)")

#: What any C of ours is compiled with.
OPTIONS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fwrapv")


def built(source: Path, out: Path, *more: str, includes: Sequence[str] = ()) -> Path:
    """A program or library of one C file, which no compiler that is here warns of, with
    threads or without."""
    assert CC is not None
    options = [*OPTIONS, *includes]
    subprocess.run(
        [CC, *options, "-O1", "-fopenmp", *more, "-o", str(out), str(source), "-lm"],
        check=True,
    )
    quiet = [*options, "-O2", "-c", "-o", "/dev/null", str(source)]
    subprocess.run([CC, *quiet], check=True)
    # clang has half floats on x86 from version 15 on.
    if CLANG is not None and "_Float16" not in source.read_text():
        subprocess.run([CLANG, *quiet], check=True)
        subprocess.run([CLANG, *quiet, "-fopenmp"], check=True)
    return out


def compiled(
    f: hl.Func | hl.Pipeline, arguments: Sequence[Any], where: Path, threads: int = 4
) -> Callable[..., int]:
    """The function `f_c` of the C text, called with Buffers and numbers."""
    source = where / "f.c"
    f.compile_to_c(source, arguments, "f_c")
    library = ctypes.CDLL(str(built(source, where / "f.so", "-shared", "-fPIC")))
    if hasattr(library, "omp_set_num_threads"):
        library.omp_set_num_threads(threads)

    def call(*given: Any) -> int:
        kept = [struct_of(g) if isinstance(g, hl.Buffer) else g for g in given]
        return int(library.f_c(*kept))

    return call


def struct_of(buffer: hl.Buffer) -> Any:
    """A pointer to a halide_buffer_t for `buffer`, written by hand."""
    made = asking(buffer)
    made.host = buffer._layout().host
    return ctypes.byref(made)


def asking(buffer: hl.Buffer) -> BufferStruct:
    """The struct of `buffer` without its pixels, which asks for the region that is
    needed."""
    layout: Layout = buffer._layout()
    parts = zip(layout.mins, layout.extents, layout.strides, strict=True)
    dims = [Dimension(m, e, s, 0) for m, e, s in parts]
    if dims and dims[0].extent <= 1:
        dims[0].stride = 1  # NumPy's stride of one pixel may be anything
    array = (Dimension * max(len(dims), 1))(*dims)
    t = buffer.type()
    return BufferStruct(
        code=int(t.kind), bits=t.bits(), lanes=1, dimensions=len(dims), dim=array
    )
