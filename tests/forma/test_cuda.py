"""Programs as CUDA C: on the processor beside the reference, and through nvcc."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from parhelion import forma
from parhelion.forma.cuda import emit_cuda
from parhelion.forma.reference import dtype_of, evaluate
from parhelion.forma.sizes import value_of
from parhelion.forma.stages import Apply, Compose, Graph, Stage
from parhelion.forma.types import Element, Scalar, Struct
from tests.forma.draw import draw
from tests.forma.listings import LISTINGS

Array = npt.NDArray[Any]
SIMULATOR = Path(__file__).parent / "cuda_on_cpu"
_C: dict[Scalar, Any] = {
    Scalar.INT8: ctypes.c_int8,
    Scalar.INT16: ctypes.c_int16,
    Scalar.INT: ctypes.c_int32,
    Scalar.FLOAT: ctypes.c_float,
    Scalar.DOUBLE: ctypes.c_double,
}

CONDITIONS = """\
parameter M, N; parameter float t;
stencil far(vector#2 float X){ return X@[-3,2] + 2*X@[4,-5] - X@[0,1]; }
stencil both(vector#2 float X, vector#2 int Y, float s){
  d = X@[1,0] - X@[-1,0];
  return d > s ? Y@[0,-2]/3 : Y@[2,2] % 5;
}
stencil two(vector#2 float X, vector#2 float Y){ return X@[0,-1] - Y, X + Y@[1,1]; }
vector#2 float a[M,N];
vector#2 int b[M,N];
p = far(a:constant(t));
q = far(a:clamped);
r = far(p:wrap);
s = far(q:mirror);
u, v = two(r:mirror, s);
w = both(u:clamped, b:constant(7), t);
g, h = two(r, far(s));
return v, w, far(a:constant(0)), g, h;
"""

SHAPES = """\
struct pair { int16 near; double far; int8 mark; }
parameter K;
vector#1 int16 x[3*K];
vector#3 int8 y[K,K+1,2];
vector#4 float z[K,2,3,2];
stencil join(vector#1 int16 X){
  m = pair(X@[-1], X@[1]*0.5d, int8(X));
  return X > 3 ? m : pair(int16(0), 0.25d, int8(300));
}
stencil take(vector#1 pair P){ return P@[(1,2)].far + P@[(0,2)].near; }
stencil deep(vector#3 int8 Y){ return int8(Y@[0,-1,0]*100 + Y@[1,0,1]); }
stencil deeper(vector#4 float Z){ return round(Z@[0,0,1,-1]*10) + max(Z, Z@[1,0,0,0]); }
s[2..,3..] = x;
return take(join(x:wrap)), deep(y:mirror), deeper(z:clamped), s, join(x)[1..2];
"""

PROGRAMS = {f"listing {k}": text for k, text in LISTINGS.items()} | {
    "boundary conditions": CONDITIONS,
    "shapes": SHAPES,
}


def all_stages(graph: Graph) -> list[Stage]:
    return [one for one in graph.needed() if isinstance(one, Apply | Compose)]


def aligned(kind: Element) -> np.dtype[Any]:
    """The type as C lays it out."""
    packed = dtype_of(kind)
    return np.dtype(packed.descr, align=True) if isinstance(kind, Struct) else packed


def inputs_of(graph: Graph, given: Mapping[str, int | float]) -> dict[str, Array]:
    sizes = graph.verify(given)
    random = np.random.default_rng(4)
    made = {}
    for one in graph.inputs:
        shape = tuple([value_of(size, sizes) for size in one.sizes][::-1])
        array = np.zeros(shape, dtype_of(one.types[0]))
        for view in [array[n] for n in array.dtype.names or ()] or [array]:
            view[...] = (random.random(shape) * 100).astype(view.dtype)
        made[one.name] = array
    return made


class Library:
    """An emitted program, compiled as C++ for the processor."""

    def __init__(
        self, graph: Graph, folder: Path, stored: list[Stage], textures: bool
    ) -> None:
        self.graph = graph
        text = emit_cuda(graph, "run", stored, textures=textures)
        (folder / "run.cu").write_text(text.source)
        (folder / "run.h").write_text(text.header)
        library = folder / "run.so"
        flags = ["-O1", "-ffp-contract=off", "-fwrapv", "-Wall", "-Werror"]
        quiet = ["-Wno-unused-function", "-Wno-unused-variable"]
        command = ["g++", "-shared", "-fPIC", *flags, *quiet, f"-I{SIMULATOR}"]
        command += ["-x", "c++", str(folder / "run.cu"), "-o", str(library)]
        subprocess.run(command, check=True)
        self.library = ctypes.CDLL(str(library))
        self.run = self.library.run

    def __call__(
        self, inputs: Mapping[str, Array], given: Mapping[str, int | float]
    ) -> list[Array]:
        arrays = [
            inputs[one.name].astype(aligned(one.types[0])) for one in self.graph.inputs
        ]
        numbers = [_C[one.type](given[one.name]) for one in self.graph.parameters]
        sizes = self.graph.verify(given)
        out = [
            np.zeros(
                [value_of(size, sizes) for size in one.source.sizes[::-1]],
                aligned(one.source.type),
            )
            for one in self.graph.outputs
        ]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        status = self.run(
            *pointers, *numbers, *[ctypes.c_void_p(a.ctypes.data) for a in out]
        )
        assert status == 0
        return out

    @property
    def launches(self) -> int:
        return ctypes.c_int.in_dll(self.library, "forma_launches").value


def given_to(name: str) -> list[dict[str, int | float]]:
    if name == "shapes":
        return [{"K": 7}, {"K": 2}]
    sizes = [(40, 31), (70, 64)] if "12" in name else [(37, 30), (33, 41)]
    if "10" in name:
        return [{"N": n} for _, n in sizes]
    others = {"t": 3.5} if "conditions" in name else {}
    return [{"M": m, "N": n, **others} for m, n in sizes]


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("form", ["stored", "inlined", "textures"])
def test_it_computes_what_the_reference_does(
    name: str, form: str, tmp_path: Path
) -> None:
    graph = forma.check(PROGRAMS[name], "a.forma")
    stored = [] if form == "inlined" else all_stages(graph)
    compiled = Library(graph, tmp_path, stored, form == "textures")
    for given in given_to(name):
        inputs = inputs_of(graph, given)
        wanted = evaluate(graph, inputs, given)
        for got, want in zip(compiled(inputs, given), wanted, strict=True):
            for field in want.dtype.names or [...]:
                np.testing.assert_allclose(got[field], want[field], rtol=2e-6, atol=0)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    compare(seed, tmp_path)


def compare(seed: int, folder: Path) -> None:
    """A drawn program in one of the forms, bit by bit."""
    drawn = draw(seed)
    graph = forma.check(drawn.text, "drawn.forma")
    random = np.random.default_rng(seed)
    stored = [one for one in all_stages(graph) if random.random() < 0.6]
    compiled = Library(graph, folder, stored, textures=seed % 3 == 0)
    wanted = evaluate(graph, drawn.inputs, drawn.parameters)
    found = compiled(drawn.inputs, drawn.parameters)
    for got, want in zip(found, wanted, strict=True):
        for field in want.dtype.names or [...]:
            np.testing.assert_array_equal(got[field], want[field], drawn.text)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
def test_interiors_are_kernels_of_their_own(tmp_path: Path) -> None:
    """Edges are four more launches; texture units need none (section 3.2.2)."""
    graph = forma.check(LISTINGS[4], "a.forma")
    given = {"M": 40, "N": 20}
    inputs = inputs_of(graph, given)
    launches = []
    for textures in (False, True):
        (folder := tmp_path / str(textures)).mkdir()
        compiled = Library(graph, folder, [], textures)
        compiled(inputs, given)
        launches.append(compiled.launches)
    assert launches == [5, 1]


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is missing")
def test_parameters_that_do_not_fit(tmp_path: Path) -> None:
    """The header says which number stands for which rule."""
    graph = forma.check(LISTINGS[8], "a.forma")
    compiled = Library(graph, tmp_path, [], textures=False)
    header = (tmp_path / "run.h").read_text()
    memory = np.zeros(10_000, np.int32)
    pointers = [ctypes.c_void_p(memory.ctypes.data)] * 3
    assert compiled.run(pointers[0], 26, 30, *pointers[1:]) == 0
    status = compiled.run(pointers[0], 25, 30, *pointers[1:])
    assert status == -1 and f"{status} for parameters" in header
    assert compiled.run(None, 26, 30, *pointers[1:]) == -12


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is missing")
@pytest.mark.parametrize("name", ["listing 11", "listing 12", *list(PROGRAMS)[-2:]])
@pytest.mark.parametrize("textures", [False, True])
def test_nvcc_takes_it(name: str, textures: bool, tmp_path: Path) -> None:
    graph = forma.check(PROGRAMS[name], "a.forma")
    text = emit_cuda(graph, "run", all_stages(graph), textures=textures)
    (tmp_path / "run.cu").write_text(text.source)
    (tmp_path / "run.h").write_text(text.header)
    command = ["nvcc", "-arch=sm_80", "-Werror", "all-warnings", "-c", "run.cu"]
    subprocess.run(command, cwd=tmp_path, check=True)
