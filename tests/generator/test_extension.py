"""Pipelines as Python modules: built here, imported by a Python of their own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import parhelion as hl
from parhelion.aot.linking import python_headers
from parhelion.lang.generator import find_generator
from tests.generator.filters import Soften, Statistics
from tests.generator.support import (
    HEIGHT,
    WIDTH,
    generator_of,
    image,
    interpreted,
    python,
)

x, y = hl.vars("x y")


def _lacks() -> str:
    if shutil.which(os.environ.get("CC", "cc").split()[0]) is None:
        return "there is no C compiler (Debian: gcc)"
    try:
        python_headers()
    except hl.HalideError as error:
        return error.what
    return ""


linked = pytest.mark.skipif(bool(_lacks()), reason=_lacks())


def loaded(file: Path) -> ModuleType:
    """An extension module, in this process."""
    name = file.name.split(".")[0]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def filters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A module of two Generators."""
    if _lacks():
        pytest.skip(_lacks())
    folder = tmp_path_factory.mktemp("built")
    known = [find_generator(name) for name in ("soft", "measure")]
    made = hl.build_extension(known, folder, "filters_built")
    assert made == folder / "filters_built.abi3.so"
    assert sorted([p.name for p in folder.iterdir()]) == [
        "filters_built.abi3.so",
        "filters_built.pyi",
    ]
    return made


def test_in_a_process_without_this_package(filters: Path, tmp_path: Path) -> None:
    source, colours = image(HEIGHT, WIDTH), image(3, HEIGHT, WIDTH)
    np.save(tmp_path / "source.npy", source)
    np.save(tmp_path / "colours.npy", colours)
    script = tmp_path / "use.py"
    script.write_text(
        """
import inspect, sys
import numpy as np
import filters_built
source, colours = np.load("source.npy"), np.load("colours.npy")
out = np.empty_like(source)
assert filters_built.soft(source, 9, out) is None
np.save("soft.npy", out)
values = [np.empty(source.shape, t) for t in ("float32", "int32")]
total = np.empty((), "float32")
filters_built.measure(
    weight=0.5, image=colours, total=total, pixels_0=values[0], pixels_1=values[1]
)
for i, a in enumerate((*values, total)):
    np.save(f"measure{i}.npy", a)
print(inspect.signature(filters_built.soft), filters_built.__name__)
print(filters_built.measure.__doc__.splitlines()[2])
assert not {"parhelion", "llvmlite"} & {name.split(".")[0] for name in sys.modules}
"""
    )
    done = subprocess.run(
        [sys.executable, script.name],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(filters.parent), "PATH": os.environ["PATH"]},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "(image, lift, output) filters_built",
        "image: input, an array of uint8 with 3 dimensions",
    ]
    (exact,) = interpreted(
        Soften,
        {"output.type": "uint8"},
        {"image": source, "lift": 9},
        (WIDTH, HEIGHT),
    )
    np.testing.assert_array_equal(np.load(tmp_path / "soft.npy"), exact)
    several = interpreted(
        generator_of(Statistics),
        {"image.type": "uint8", "weighted": True},
        {"image": colours, "weight": 0.5},
        (WIDTH, HEIGHT),
        (),
    )
    for i, one in enumerate(several):
        found = np.load(tmp_path / f"measure{i}.npy")
        np.testing.assert_allclose(found, one, rtol=1e-5)


class Tensor:
    """An array of another library: DLPack and nothing else."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return self.array.__dlpack_device__()


def test_arrays_of_all_kinds(filters: Path) -> None:
    soft = loaded(filters).soft
    wide = image(2 * HEIGHT, 2 * WIDTH)
    source = wide[::2, :WIDTH]
    (exact,) = interpreted(
        Soften,
        {"output.type": "uint8"},
        {"image": source, "lift": 3},
        (WIDTH, HEIGHT),
    )
    frozen = source.copy()
    frozen.flags.writeable = False
    turned = hl.Buffer(source.copy())
    wrappers: list[Callable[[Any], object]]
    wrappers = [np.asarray, Tensor, memoryview, hl.Buffer]
    for given in (source, Tensor(source), frozen, source.data, turned):
        for wrap in wrappers:
            found = np.zeros_like(exact)
            soft(given, np.int64(3), wrap(found))
            np.testing.assert_array_equal(found, exact)
    # An output inside another array.
    larger = np.zeros((HEIGHT + 2, WIDTH + 2), np.uint8)
    soft(source, 3, larger[1:-1, 1:-1])
    np.testing.assert_array_equal(larger[1:-1, 1:-1], exact)
    assert not larger[0].any() and not larger[:, 0].any()
    # References are given back.
    before = sys.getrefcount(source)
    for _ in range(100):
        soft(Tensor(source), 3, found)
        soft(source, 3, found)
    assert sys.getrefcount(source) == before


def test_arrays_in_the_order_of_fortran(filters: Path) -> None:
    """Their first axis is dimension 0, as in Halide's extensions."""
    soft = loaded(filters).soft
    source = image(HEIGHT, WIDTH)
    (exact,) = interpreted(
        Soften,
        {"output.type": "uint8"},
        {"image": source, "lift": 3},
        (WIDTH, HEIGHT),
    )
    turned = np.asfortranarray(source.T)
    assert turned.flags.f_contiguous and turned.shape == (WIDTH, HEIGHT)
    for wrap in (np.asarray, Tensor):
        found = np.empty((WIDTH, HEIGHT), np.uint8, order="F")
        soft(wrap(turned), 3, wrap(found))
        np.testing.assert_array_equal(found.T, exact)
    # Where no stride is promised, the last axis is dimension 0 in any order.
    given, out = hl.ImageParam(hl.UInt(8), 2, "given"), hl.Func("across")
    given.dim(0).set_stride(hl.Expr())
    out[x, y] = given[x, y] + hl.u8(x)
    module = out.compile_to_module([given], "across")
    across = loaded(hl.build_extension(module, filters.parent / "across")).across
    found = np.zeros((WIDTH, HEIGHT), np.uint8)
    across(turned, found)
    np.testing.assert_array_equal(
        found, turned + np.arange(HEIGHT, dtype=np.uint8)[None, :]
    )


def test_no_pixels_at_all(filters: Path) -> None:
    loaded(filters).soft(image(4, 4), 3, np.zeros((0, 4), np.uint8))


KINDS = [
    *[hl.Bool(), hl.Float(16), hl.Float(32), hl.Float(64), hl.BFloat(16)],
    *[make(bits) for make in (hl.Int, hl.UInt) for bits in (8, 16, 32, 64)],
]


class Echo(hl.Generator):
    """A number in place 0, the image's pixels elsewhere."""

    pixels = hl.InputBuffer(None, 1)
    value = hl.InputScalar(None)
    out = hl.OutputBuffer(None, 1)

    def generate(self) -> None:
        self.out[x] = hl.select(x == 0, self.value, self.pixels[x])


@pytest.fixture(scope="module")
def echoes(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """An Echo for each type."""
    if _lacks():
        pytest.skip(_lacks())
    modules = []
    for t in KINDS:
        with hl.GeneratorContext(hl.get_host_target()):
            made = Echo({"pixels.type": t, "value.type": t, "out.type": t})._built()
        modules.append(made.module(f"echo_{t}", hl.get_host_target()))
    folder = tmp_path_factory.mktemp("echoes")
    return loaded(hl.build_extension(modules, folder, "echoes"))


def ends(t: hl.Type) -> list[Any]:
    """Numbers that the type holds, its largest ones among them."""
    if t.is_bool():
        return [False, True, np.True_, 0, 1, 1.0]
    if t.is_float():
        return [0.0, -1.5, 3, np.float32(0.25), float("inf"), -np.inf, 2.0**-20]
    return [t.lowest(), t.highest(), 0, np.uint8(7), True]


@pytest.mark.parametrize("t", KINDS, ids=str)
def test_every_type(echoes: ModuleType, t: hl.Type) -> None:
    echo = getattr(echoes, f"echo_{t}")
    dtype = t.to_numpy()
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 2 if t.is_bool() else 100, 20).astype(dtype)
    for value in ends(t):
        found = np.zeros(20, dtype)
        echo(pixels, value, found)
        if t.is_bfloat():
            bits = np.array(found[:1], np.uint32) << 16
            assert bits.view(np.float32)[0] == value
        else:
            assert found[0] == dtype.type(value)
        np.testing.assert_array_equal(found[1:], pixels[1:])


def test_short_floats_are_rounded_to_the_nearest(echoes: ModuleType) -> None:
    """As NumPy does it; over all exponents, and halfway between neighbours."""
    rng = np.random.default_rng(2)
    values = rng.standard_normal(2000) * 2.0 ** rng.integers(-30, 16, 2000)
    halves = np.arange(0, 31744, 97, dtype=np.uint16).view(np.float16)
    middle = (halves[:-1].astype(np.float64) + np.nextafter(halves, np.inf)[:-1]) / 2
    pixels, found = np.zeros(1, np.float16), np.zeros(1, np.float16)
    with np.errstate(over="ignore"):
        for value in [*values, *middle, float("nan")]:
            exact = np.float16(value)
            if np.isinf(exact):
                continue
            echoes.echo_float16(pixels, value, found)
            assert np.array_equal(found[0], exact, equal_nan=True), value


def wide_image() -> np.ndarray:
    return np.zeros((3, 4), np.uint16)


out = np.zeros((4, 4), np.uint8)
good = np.ones((4, 4), np.uint8)
frozen = np.zeros((4, 4), np.uint8)
frozen.flags.writeable = False
numbers = np.zeros(4, np.int16)

reals = np.zeros(4)
truths = np.zeros(4, np.bool_)


class Refuses:
    """Its own methods raise what is no matter of types."""

    def __index__(self) -> int:
        raise ZeroDivisionError("of its own")

    def __float__(self) -> float:
        raise ZeroDivisionError("of its own")


Use = Callable[[ModuleType, ModuleType], object]
CASES: list[tuple[Use, type[Exception], str]] = [
    (
        lambda f, e: f.soft(wide_image(), 1, out),
        TypeError,
        "the input 'image' is of type uint8, but the array is of the format 'H', "
        "2 bytes",
    ),
    (
        lambda f, e: f.soft(Tensor(wide_image()), 1, out),
        TypeError,
        "the input 'image' is of type uint8, but the array is of DLPack's code 1, "
        "16 bits",
    ),
    (
        lambda f, e: f.soft(good.astype(">u2"), 1, out),
        TypeError,
        "the input 'image' is of type uint8, but the array is of the format '>H', "
        "2 bytes",
    ),
    (
        lambda f, e: f.soft(good[0], 1, out),
        ValueError,
        "the input 'image' has 2 dimensions, but the array has 1",
    ),
    (
        lambda f, e: f.soft(3, 1, out),
        TypeError,
        "the input 'image' is an array of uint8 (one of NumPy, or one that offers a "
        "buffer or __dlpack__), not <class 'int'>",
    ),
    (
        lambda f, e: f.soft(good, 1, frozen),
        ValueError,
        "the output 'output' is read-only",
    ),
    (
        lambda f, e: f.soft(good, 1, as_strided(out, (4, 4), (3, 1))),
        ValueError,
        "the output 'output' overlaps itself: several pixels share one place",
    ),
    (
        lambda f, e: f.soft(good, 1, as_strided(out, (4, 4), (0, 1))),
        ValueError,
        "the output 'output' overlaps itself: several pixels share one place",
    ),
    (
        lambda f, e: f.soft(good, 256, out),
        OverflowError,
        "'lift' is of type uint8, which cannot hold 256",
    ),
    (
        lambda f, e: e.echo_float64(reals, 10**400, reals.copy()),
        OverflowError,
        f"'value' is of type float64, which cannot hold 1{'0' * 59}...",
    ),
    (
        lambda f, e: e.echo_float32(reals.astype(np.float32), 10**5000, reals),
        OverflowError,
        "'value' is of type float32, which cannot hold so large a number",
    ),
    (
        lambda f, e: e.echo_int32(numbers.astype(np.int32), 10**400, numbers),
        OverflowError,
        f"'value' is of type int32, which cannot hold 1{'0' * 59}...",
    ),
    *[
        (
            lambda f, e, kind=kind: getattr(e, f"echo_{kind}")(
                np.zeros(4, kind), Refuses(), np.zeros(4, kind)
            ),
            ZeroDivisionError,
            "of its own",
        )
        for kind in ("float32", "int16", "uint8", "bool")
    ],
    *[
        (
            lambda f, e, value=value: e.echo_bool(truths, value, truths.copy()),
            OverflowError,
            f"'value' is of type bool, which cannot hold {value}",
        )
        for value in (2, -1, 0.5, 10**20)
    ],
    (
        lambda f, e: e.echo_bool(truths, "no", truths.copy()),
        TypeError,
        "'value' is a bool, not 'no'",
    ),
    (
        lambda f, e: f.soft(good, -1, out),
        OverflowError,
        "'lift' is of type uint8, which cannot hold -1",
    ),
    (
        lambda f, e: f.soft(good, 1.5, out),
        TypeError,
        "'lift' is an integer, not 1.5",
    ),
    (
        lambda f, e: f.measure(np.zeros((3, 4, 4), np.uint8), "x", out, out, out),
        TypeError,
        "'weight' is a number, not 'x'",
    ),
    (
        lambda f, e: f.soft(good, 1, good),
        ValueError,
        "the output 'output' and 'image' share memory",
    ),
    (
        lambda f, e: f.soft(np.ma.masked_array(good, good >= 0), 1, out),
        TypeError,
        "the input 'image' has no mask, and the array hides some of its elements by "
        "one: array.filled(value) is one with a value in their places",
    ),
    (
        lambda f, e: f.soft(good, 1, out[:, ::2]),
        ValueError,
        "soft: the stride of output.dim(0) must be 1, but it is 2",
    ),
    (
        lambda f, e: e.echo_int16(numbers, -32769, numbers.copy()),
        OverflowError,
        "'value' is of type int16, which cannot hold -32769",
    ),
    (
        lambda f, e: e.echo_int64(np.zeros(1, int), 2**63, np.zeros(1, int)),
        OverflowError,
        f"'value' is of type int64, which cannot hold {2**63}",
    ),
    (
        lambda f, e: e.echo_float32(np.zeros(1, "f4"), 1e39, np.zeros(1, "f4")),
        OverflowError,
        "'value' is of type float32, which cannot hold 1e+39",
    ),
    (
        lambda f, e: e.echo_float16(np.zeros(1, "f2"), 65520, np.zeros(1, "f2")),
        OverflowError,
        "'value' is of type float16, which cannot hold 65520",
    ),
    (
        lambda f, e: e.echo_int16(numbers[:2], 1, numbers.copy()),
        IndexError,
        "echo_int16: input image 'pixels' is too small in dimension 0: the pipeline "
        "reads 0 to 3, but the image covers 0 to 1",
    ),
    (
        lambda f, e: e.echo_int16(
            np.zeros(9, np.uint8)[1:].view(np.int16), 1, numbers.copy()
        ),
        ValueError,
        "the input 'pixels' is not aligned to the size of its pixels",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[2][:50])
def test_messages(
    case: tuple[Use, type[Exception], str], filters: Path, echoes: ModuleType
) -> None:
    use, kind, message = case
    with pytest.raises(kind) as caught:
        use(loaded(filters), echoes)
    assert type(caught.value) is kind
    assert str(caught.value) == message


@linked
def test_requirements_and_parallel_calls(tmp_path: Path) -> None:
    """A failing requirement is an exception, in whichever thread; others go on."""
    value = hl.Param(hl.Int(32), "value")
    f = hl.Func("demanding")
    f[x, y] = hl.require(value > 0, x * y + value, "value is", value)
    f.parallel(y)
    module = f.compile_to_module([value], "demanding")
    script = tmp_path / "use.py"
    hl.build_extension(module, tmp_path)
    script.write_text(
        """
import threading
import numpy as np
from demanding import demanding
def use(value, told):
    out = np.zeros((50, 70), np.int32)
    for _ in range(50):
        try:
            demanding(value, out)
            told.append(int(out[3, 4]))
        except RuntimeError as error:
            told.append(str(error))
told = [[] for _ in range(4)]
threads = [threading.Thread(target=use, args=(k - 1, told[k])) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
for one in told:
    assert len(set(one)) == 1 and len(one) == 50, one
    print(one[0])
"""
    )
    done = python(script, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[2:] == ["13", "14"]
    for line in lines[:2]:
        assert line.startswith("demanding: requirement failed: ")


@linked
def test_the_types_are_checked(filters: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    use = tmp_path / "use.py"
    use.write_text(
        """
import numpy as np
import numpy.typing as npt
from filters_built import measure, soft
from typing import Any

class Tensor:
    def __dlpack__(self, *, stream: int | None = None) -> Any:
        raise NotImplementedError
    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

def fine(a: npt.NDArray[np.uint8], b: npt.NDArray[np.float32], t: Tensor) -> None:
    soft(a, 3, output=a)
    soft(t, np.uint8(3), t)
    measure(a, 0.5, b, np.zeros((2, 2), np.int32), b)

def wrong(a: npt.NDArray[np.uint8], b: npt.NDArray[np.float32]) -> None:
    soft(b, 3, a)
    soft(a, 1.5, a)
    soft(a, 3)
"""
    )
    environment = {**os.environ, "MYPYPATH": str(filters.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", use.name],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split(":")[1] for line in errors] == ["19", "20", "21"], done.stdout
    stub = filters.with_name("filters_built.pyi")
    assert (
        "def soft(\n    image: npt.NDArray[np.uint8] | _Tensor,\n" in stub.read_text()
    )


@linked
@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_source_compiles_without_warnings(language: str, tmp_path: Path) -> None:
    """As C and as C++, where a build of one's own compiles it."""
    tool = {"c": "gcc", "c++": "g++"}[language]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is missing")
    gain, flag = hl.Param(hl.Float(16), "gain"), hl.Param(hl.Bool(), "flag")
    count, word = hl.Param(hl.Int(64), "class"), hl.Param(hl.UInt(8), "in")
    f = hl.Func("made")
    f[x] = hl.select(flag, hl.f32(gain), hl.f32(count + word)) + x
    source = tmp_path / "made.py.cpp"
    kinds = {
        hl.OutputFileType.object: tmp_path / "made.o",
        hl.OutputFileType.python_extension: source,
    }
    f.compile_to(kinds, [gain, flag, count, word], "made")
    words: Sequence[object] = (
        *(tool, "-x", language, "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC"),
        *(f"-I{python_headers()}", source, "-x", "none", tmp_path / "made.o"),
        *("-shared", "-o", tmp_path / "made.so", "-lpthread", "-lm"),
    )
    done = subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = np.zeros(3, np.float32)
    made = loaded(tmp_path / "made.so").made
    made(gain=1.5, flag=False, in_=4, class_=1 << 40, made=found)
    assert found[0] == np.float32((1 << 40) + 4)
