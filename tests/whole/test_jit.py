"""`hl.jit`: one compiled code for many sizes, arguments of many kinds, threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.whole.support import agree, pixels


def blurred(image: Any, amount: float = 1.5) -> Any:
    """A sharpened image, of arrays of either kind."""
    wide = np.pad(image.astype("float32"), ((1, 1), (1, 1), (0, 0)), mode="edge")
    rows = (wide[:-2] + wide[1:-1] + wide[2:]) * 0.25
    blur = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    return np.clip(image + amount * (image - blur), 0, 255)


@hl.jit
def sharp(image: Annotated[hl.Array, "yxc"], amount: float = 1.5) -> hl.Array:
    found: hl.Array = blurred(image, amount)
    return found


SIZES = [(5, 7), (4, 4), (1, 7), (5, 1), (1, 1), (2, 3), (33, 17), (64, 31), (3, 129)]


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_sizes(channels: int) -> None:
    for size in SIZES:
        image = pixels((*size, channels))
        agree(sharp(image), blurred(image), 1e-4)
        agree(sharp(image, 0.25), blurred(image, 0.25), 1e-4)


def test_one_code_serves_many_sizes() -> None:
    calls = []

    @hl.jit
    def twice(image: hl.Array) -> hl.Array:
        calls.append(image)
        found: hl.Array = image[1:] * 2
        return found

    for rows in (3, 5, 8, 2, 100):
        for columns in (2, 31, 64):
            image = pixels((rows, columns))
            agree(twice(image), image[1:] * 2)
    assert len(calls) == 1
    for image in (pixels((4, 4), "int16"), pixels((1, 4)), pixels((4,)), pixels((4,))):
        agree(twice(image), image[1:] * 2)
    assert len(calls) == 4


def test_large_images_are_scheduled() -> None:
    """Of the classes of sizes whose schedules are searched for."""
    for size in ((200, 300), (203, 171)):
        image = pixels((*size, 3))
        agree(sharp(image), blurred(image), 1e-4)
    gray = pixels((300, 301), "float32")

    @hl.jit
    def spread(a: hl.Array) -> tuple[hl.Array, ...]:
        return a - a.mean(axis=0), a.sum(), a[::-1].max(axis=1)

    for a in (gray, gray[:, 1:], gray[::2], gray.T, gray[:, ::-1], gray[5:6] + gray):
        found = spread(a)
        for one, other in zip(
            found, (a - a.mean(axis=0), a.sum(), a[::-1].max(axis=1)), strict=True
        ):
            agree(one, other, 1e-4)


@pytest.mark.parametrize("turn", ["C", "F", "rows", "columns", "backwards", "planes"])
def test_layouts(turn: str) -> None:
    image = pixels((24, 26, 3))
    views = {
        "C": image,
        "F": np.asfortranarray(image),
        "rows": image[3:20, 2:],
        "columns": image[:, ::2],
        "backwards": image[::-1, ::-1],
        "planes": np.ascontiguousarray(image.transpose(2, 0, 1)).transpose(1, 2, 0),
    }
    given = views[turn]
    agree(sharp(given), blurred(given), 1e-4)
    out = np.empty(given.shape, np.float32)
    assert sharp(given, out=out) is out
    agree(out, blurred(given), 1e-4)
    turned = np.empty(given.shape[::-1], np.float32).T
    sharp(given, out=turned)
    agree(turned, blurred(given), 1e-4)
    itself = given.astype(np.float32)
    sharp(itself, out=itself)
    agree(itself, blurred(given), 1e-4)


def test_results_are_new_arrays_of_the_same_axes() -> None:
    image = pixels((20, 30, 3))
    found = sharp(image)
    assert found.flags.c_contiguous and found.flags.owndata
    assert type(found) is np.ndarray


def test_numbers_where_no_axes_are_left() -> None:
    @hl.jit
    def total(a: hl.Array) -> tuple[hl.Array, ...]:
        return a.sum(), a.mean()

    both = total(pixels((4, 5)))
    assert isinstance(both[0], np.uint64) and isinstance(both[1], np.float32)


class Tensor:
    """An array of another library, which NumPy gets through DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **named: Any) -> Any:
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Interface:
    """An array of another library, by NumPy's older protocol."""

    def __init__(self, array: np.ndarray) -> None:
        self.__array_interface__ = array.__array_interface__
        self.array = array


class Labelled:
    """An array with named dimensions, as xarray's."""

    def __init__(self, values: np.ndarray, dims: tuple[str, ...]) -> None:
        self.values, self.dims = values, dims

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values


def test_arrays_of_other_libraries() -> None:
    image = pixels((6, 5, 3))
    wanted = blurred(image)
    for given in (hl.Buffer(image), Tensor(image), Interface(image), image.view()):
        agree(sharp(given), wanted, 1e-4)
    planes = np.ascontiguousarray(image.transpose(2, 0, 1))
    agree(sharp(Labelled(planes, ("band", "y", "x"))), wanted, 1e-4)
    agree(sharp(Labelled(image, ("height", "width", "channel"))), wanted, 1e-4)
    with pytest.raises(hl.TypeMismatchError, match="has the axes 'yxc', and the array"):
        sharp(Labelled(planes, ("t", "y", "x")))


def test_axes_by_name() -> None:
    @hl.jit
    def scaled(a: Annotated[hl.Array, "yxc"], g: Annotated[hl.Array, "yx"]) -> hl.Array:
        return a * g - a.mean("c")

    image, gain = pixels((4, 5, 3)), pixels((4, 5), "float32")
    agree(scaled(image, gain), image * gain[..., None] - image.mean(2)[..., None])

    @hl.jit
    def planar(a: Annotated[hl.Array, "cyx"], g: Annotated[hl.Array, "xy"]) -> hl.Array:
        assert a.axes == "cyx"
        return (a * g).transpose("yxc")

    planes = pixels((3, 4, 5))
    turned = np.ascontiguousarray(gain.T)
    agree(planar(planes, turned), (planes * gain).transpose(1, 2, 0))


def test_numbers_are_given_at_each_call() -> None:
    calls = []

    @hl.jit
    def scale(a: hl.Array, gain: float, offset: int = 0) -> hl.Array:
        calls.append(gain)
        return a * gain + offset

    a = pixels((3, 4))
    for gain, offset in ((0.5, 1), (2, 3), (7.25, -2)):
        wanted = a * float(gain) + offset
        agree(scale(a, gain, offset), wanted)
        agree(scale(a, offset=offset, gain=gain), wanted)
    assert len(calls) == 1
    agree(scale(a, np.float64(0.1)), a * np.float64(0.1))
    assert scale(a, np.float64(0.1)).dtype == np.float64


def test_a_number_that_does_not_fit() -> None:
    @hl.jit
    def plus(a: hl.Array, n: int) -> hl.Array:
        return a + n

    a = pixels((2, 2))
    agree(plus(a, 200), a + 200)
    with pytest.raises(
        hl.LiteralError, match="'n' is 300, which does not fit the uint8"
    ):
        plus(a, 300)
    agree(plus(pixels((2, 2), "int32"), 300), pixels((2, 2), "int32") + 300)


def test_static_arguments() -> None:
    @hl.jit(static=["n"])
    def box(a: hl.Array, n: int, mode: str = "edge", halve: bool = False) -> hl.Array:
        wide = a.astype("float32").pad(((0, 0), (0, n)), mode)
        found = wide * 0
        for k in range(n):
            found = found + wide.shift(-k, 1)
        return found / 2 if halve else found

    a = pixels((3, 5))
    for n in (1, 3):
        for mode in ("edge", "wrap"):
            for halve in (False, True):
                wide = np.pad(a.astype("float32"), ((0, 0), (0, n)), mode=mode)
                wanted = sum([_shifted(wide, k) for k in range(n)])
                agree(box(a, n, mode, halve), wanted / (1 + halve))


def _shifted(a: np.ndarray, k: int) -> np.ndarray:
    last = np.repeat(a[:, -1:], k, axis=1)
    return np.concatenate([a[:, k:], last], axis=1)


def test_functions_within_functions() -> None:
    @hl.jit
    def halved(a: hl.Array) -> hl.Array:
        return a / 2

    @hl.jit
    def both(a: hl.Array) -> hl.Array:
        inner: Any = halved(a)
        found: hl.Array = inner + a
        return found

    a = pixels((3, 4))
    agree(both(a), a / 2 + a)


def test_the_func_behind() -> None:
    image = pixels((6, 5, 3))
    f = sharp.func(image, 0.5)
    assert isinstance(f, hl.Func)
    out = np.empty((6, 5, 3), np.float32)
    f.realize(hl.Buffer(out, axes="yxc"))
    agree(out, blurred(image, 0.5), 1e-4)


def test_schedules_of_the_users() -> None:
    given = []

    def schedule(pipeline: hl.Pipeline) -> None:
        given.append(pipeline)
        f = pipeline.outputs()[0]
        f.parallel(f.args()[-1])

    a = pixels((40, 50))
    for one in (schedule, "def schedule(pipeline):\n    pipeline.get_func(0)\n"):
        found = hl.jit(lambda a: a * 2.5, schedule=one)(a)
        agree(found, a * 2.5)
    assert len(given) == 1


def test_schedules_are_found_printed_and_given_back() -> None:
    a = pixels((90, 100, 3))
    result = sharp.autoschedule(a)
    agree(sharp(a), blurred(a), 1e-4)
    again = hl.jit(sharp.__wrapped__, schedule=result.to_python())  # type: ignore[attr-defined]
    agree(again(a), blurred(a), 1e-4)
    assert "parallel" in result.to_python()
    assert again.pipeline(a).outputs()[0].defined()


def test_files_are_written(tmp_path: Path) -> None:
    a = pixels((90, 100, 3))
    out = {hl.OutputFileType.c_header: tmp_path / "sharp.h"}
    sharp.compile_to(out, a, fn_name="sharpened")
    assert "sharpened" in (tmp_path / "sharp.h").read_text()


def test_threads() -> None:
    """All of them meet code that is not there yet."""

    @hl.jit
    def worked(a: hl.Array, gain: float) -> hl.Array:
        found: hl.Array = np.sqrt(a * gain)[::-1]  # type: ignore[assignment]
        return found

    images = [pixels((k, 9), d, k) for k in range(2, 20) for d in ("uint8", "uint16")]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            found = list(pool.map(lambda a: worked(a, 2.0), images))
    for one, a in zip(found, images, strict=True):
        agree(one, np.sqrt(a * np.float32(2))[::-1])
    assert len(worked._programs) == 2


def test_empty_images() -> None:
    @hl.jit
    def half(a: hl.Array) -> tuple[hl.Array, ...]:
        return a / 2, a.sum(axis=0)

    for shape in ((0, 4), (4, 0)):
        a = pixels(shape)
        found = half(a)
        agree(found[0], a / 2)
        agree(found[1], a.sum(axis=0))
