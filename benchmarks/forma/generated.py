"""Programs in Forma as C that is compiled by gcc, called with plain pointers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from apps.common import Array
from apps.forma.program import Program
from benchmarks.cpp import FLAGS
from parhelion import forma

_NUMBERS = {"int": ctypes.c_int32, "float": ctypes.c_float}
#: Programs whose C takes gcc minutes.
TOO_LARGE = ("exposure_pyramid",)


class WrongCall(Exception):
    """The function in C has not done what it was called for."""


def build(program: Program, compiled: forma.Program) -> ctypes.CDLL:
    """The library of a program's C. Raises RuntimeError without a compiler."""
    compiler = shutil.which("gcc")
    if compiler is None:
        raise RuntimeError(f"{program.name}.c needs gcc")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{program.name}.c"
        compiled.compile_to_c(source)
        library = source.with_suffix(".so")
        command = [compiler, *FLAGS, str(source), "-o", str(library), "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        return ctypes.CDLL(str(library))


def caller(
    program: Program,
    compiled: forma.Program,
    inputs: Mapping[str, Array],
    size: Sequence[int],
    out: Sequence[Array],
) -> Callable[[], None]:
    """A function that runs it on these inputs, and writes to these arrays."""
    library = build(program, compiled)
    return bound(library, program, compiled, inputs, size, out)


def bound(
    library: ctypes.CDLL,
    program: Program,
    compiled: forma.Program,
    inputs: Mapping[str, Array],
    size: Sequence[int],
    out: Sequence[Array],
) -> Callable[[], None]:
    """The same of a library that is built: its function has the program's name."""
    function = getattr(library, program.name)
    numbers = program.parameters(size)
    arrays = [inputs[one.name] for one in compiled.graph.inputs]
    places = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    given = [
        _NUMBERS[one.type.value](numbers[one.name])  # type: ignore[arg-type]
        for one in compiled.graph.parameters
    ]
    into = [ctypes.c_void_p(a.ctypes.data) for a in out]

    def run() -> None:
        status = function(*places, *given, *into)
        if status:
            raise WrongCall(f"{program.name} returns {status}")

    return run


__all__ = ["TOO_LARGE", "WrongCall", "bound", "build", "caller"]
