"""What a compiled program takes and gives: arrays in and out, parameters, structs."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.reference import evaluate
from tests.forma.listings import CROP, PYRAMID
from tests.forma.support import Array

SHIFT = """\
stencil f(vector#2 int X, int by) { return 10*X + by; }
parameter int by;
parameter M, N;
vector#2 int x[M,N];
return f(x, by);
"""
SWAP = """\
struct RGB { int16 r; int16 g; int16 b; }
stencil swap(vector#2 RGB X) { return RGB(X.b, X.g, X.r); }
parameter M, N;
vector#2 RGB x[M,N];
return swap(x);
"""
MIXED = """\
struct P { int8 a; double b; }
stencil f(vector#2 P X, vector#2 int Y) { return P(int8(X.a + 1), X.b + Y); }
parameter M, N;
vector#2 P x[M,N];
vector#2 int y[M,N];
return f(x, y);
"""
RGB = np.dtype([("r", np.int16), ("g", np.int16), ("b", np.int16)])
IMAGE = np.arange(12, dtype=np.int32).reshape(3, 4)


@pytest.fixture(scope="module")
def pyramid() -> forma.Program:
    return forma.compile(PYRAMID)


def test_arguments_by_place_and_by_name() -> None:
    f = forma.compile(SHIFT)
    wanted = 10 * IMAGE + 7
    for result in (
        f(IMAGE, 7),
        f(IMAGE, 7, 4, 3),
        f(IMAGE, by=np.int8(7)),
        f(x=IMAGE, by=7.0, N=3),
    ):
        assert isinstance(result, np.ndarray)
        np.testing.assert_array_equal(result, wanted)


def test_it_says_what_it_takes() -> None:
    f = forma.compile(SHIFT)
    assert str(inspect.signature(f)).replace("'", "") == (
        "(x: int[N, M], by: int, M: int = None, N: int = None, *, out=None)"
        " -> int[N, M]"
    )
    assert repr(f).startswith("<parhelion.forma.Program program(x: int[N, M], by: int")


def test_a_large_program_says_what_it_computes(pyramid: forma.Program) -> None:
    assert pyramid.sizes(M=20, N=9)["gaussian<2>"] == (5, 2)
    assert "laplacian<0>" in pyramid.funcs
    assert len(pyramid.fusion.groups) == 12


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "shift.forma"
    path.write_text(SHIFT)
    for given in (path, str(path)):
        f = forma.compile(given)
        assert f.name == "shift" and f.graph.file == str(path)
    with pytest.raises(OSError):
        forma.compile("nowhere.forma")


def layouts(image: Array) -> list[Array]:
    """The same pixels, in memory in all ways."""
    padded = np.zeros((image.shape[0] + 2, image.shape[1] + 5), image.dtype)
    padded[1:-1, 2:-3] = image
    wide = np.repeat(image, 2, axis=1)
    return [
        image,
        padded[1:-1, 2:-3],
        wide[:, ::2],
        image[::-1].copy()[::-1],
        image[:, ::-1].copy()[:, ::-1],
        np.asfortranarray(image),
        np.broadcast_to(image[:1], image.shape) if (image == image[0]).all() else image,
    ]


def test_views() -> None:
    """Regions of interest, mirrored and transposed arrays, and steps."""
    f = forma.compile(SHIFT)
    for image in layouts(IMAGE):
        np.testing.assert_array_equal(f(image, 1), 10 * IMAGE + 1)
    for out in layouts(np.zeros_like(IMAGE)):
        out = out.copy() if not out.flags.writeable else out
        assert f(IMAGE, 2, out=out) is out
        np.testing.assert_array_equal(out, 10 * IMAGE + 2)
    own = IMAGE.copy()
    assert f(own, 3, out=own) is own  # overlaps the input
    np.testing.assert_array_equal(own, 10 * IMAGE + 3)


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (5, 40)])
def test_structs_come_as_they_are_given(shape: tuple[int, int]) -> None:
    swap = forma.compile(SWAP)
    plain = np.arange(np.prod(shape) * 3, dtype=np.int16).reshape(*shape, 3)
    wanted = plain[..., ::-1]
    packed = plain.view(RGB)[..., 0]
    padded = np.zeros(
        shape,
        np.dtype(
            {
                "names": ["r", "g", "b"],
                "formats": [np.int16] * 3,
                "offsets": [0, 4, 8],
                "itemsize": 12,
            }
        ),
    )
    padded[...] = packed
    planar = np.moveaxis(np.ascontiguousarray(np.moveaxis(plain, 2, 0)), 0, 2)
    given: Array
    for given in (plain, planar, plain[::-1].copy()[::-1]):
        result = swap(given)
        assert isinstance(result, np.ndarray) and result.shape == (*shape, 3)
        np.testing.assert_array_equal(result, wanted)
    structured: list[Array] = [packed, padded, packed[::-1].copy()[::-1]]
    for given in structured:
        result = swap(given)
        assert isinstance(result, np.ndarray) and result.dtype == RGB
        np.testing.assert_array_equal(result.view(np.int16).reshape(*shape, 3), wanted)
    outs: list[Array] = [np.zeros_like(one) for one in (plain, packed, padded)]
    for out in outs:
        assert swap(packed, out=out) is out
        red = out["r"] if out.dtype.names else out[..., 0]
        np.testing.assert_array_equal(red, wanted[..., 0])
    out = np.zeros((shape[0], 2 * shape[1], 3), np.int16)[:, ::2]
    swap(plain, out=out)
    np.testing.assert_array_equal(out, wanted)


def test_structs_of_several_types() -> None:
    f = forma.compile(MIXED)
    x = np.zeros((3, 4), [("a", np.int8), ("b", np.float64)])
    x["a"], x["b"] = IMAGE, IMAGE / 4
    wanted = evaluate(f.graph, {"x": x, "y": IMAGE}, {"M": 4, "N": 3})[0]
    np.testing.assert_array_equal(f(x, IMAGE), wanted)
    out = np.zeros_like(x)
    assert f(x, IMAGE, out=out) is out
    np.testing.assert_array_equal(out, wanted)


def test_several_results() -> None:
    crop = forma.compile(CROP)
    x = np.arange(30 * 26, dtype=np.int32).reshape(30, 26)
    y, z = crop(x)
    np.testing.assert_array_equal(y, x[5:30, 3:26])
    np.testing.assert_array_equal(z, np.pad(x, ((5, 0), (3, 0))))
    outs = [np.empty_like(y), np.empty_like(z)]
    found = crop(x, out=outs)
    assert found[0] is outs[0] and found[1] is outs[1]
    np.testing.assert_array_equal(outs[1], z)


def test_threads() -> None:
    """Eight threads, images of several sizes, and the first calls of all of them."""
    f = forma.compile(SHIFT, scheduler="Mullapudi2016")
    wrong: list[int] = []

    def run(k: int) -> None:
        image = np.full((k + 1, 3 * k + 1), k, np.int32)
        for by in range(20):
            if not np.array_equal(f(image, by), 10 * image + by):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_report_names_lines_of_forma(pyramid: forma.Program) -> None:
    report = pyramid.report(np.zeros((64, 64), np.float32))
    assert "gaussian_1_" in str(report)
    sites = [one._function.site for one in pyramid.funcs.values()]
    assert {site.file for site in sites if site is not None} == {"<forma>"}


def test_unknown_scheduler() -> None:
    with pytest.raises(hl.HalideError, match="there is no autoscheduler 'Adams'"):
        forma.compile(SHIFT, scheduler="Adams")


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    """The code of a program is kept on the disk, whatever its Funcs are called."""
    script = """
import sys
from parhelion import forma
from parhelion.runtime import records
from tests.forma.listings import PYRAMID, SAMPLING
pack, packed = records.pack, []
records.pack = lambda *args: packed.append(args) or pack(*args)
if len(sys.argv) > 1:
    forma.compile(SAMPLING)  # other names before
    packed.clear()
forma.compile(PYRAMID)
print(len(packed))
"""
    environment = {**os.environ, "PARHELION_CACHE": str(tmp_path)}
    counts = []
    for more in ([], [], ["other"]):
        command = [sys.executable, "-c", script, *more]
        done = subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        )
        counts.append(int(done.stdout))
    assert counts[0] > 0 and counts[1:] == [0, 0]


@pytest.mark.parametrize(
    "step, count, what",
    [
        ("X + 1", 4001, "stages, and at most 4000 are compiled together"),
        ("X@[1]+X", 1001, "stages that are stored, and at most 1000 are compiled"),
    ],
)
def test_programs_of_too_many_stages(step: str, count: int, what: str) -> None:
    with pytest.raises(FormaError, match=f"the program has {count} {what}"):
        forma.compile(
            f"stencil f(vector#1 int X) {{ return {step}; }}"
            "parameter M; vector#1 int x[M]; g<0> = x;"
            f"for i = 1..{count} g<i> = f(g<i-1>); endfor return g<{count}>;"
        )
