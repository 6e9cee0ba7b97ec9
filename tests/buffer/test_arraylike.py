"""Buffers as arrays: shape, slices, iteration, NumPy's functions and pickles."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import pickle
import random
import threading
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

import parhelion as hl
from parhelion.lang.arrays import AXIS_ORDER

x, y = hl.vars("x y")
PIXELS = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def three() -> hl.Buffer:
    """Extents (4, 3, 2), coordinates from (10, -1, 0) on."""
    b = hl.Buffer(PIXELS.copy(), "three")
    b.set_min([10, -1, 0])
    return b


# What it is.


def test_shape_counts_dimensions_and_numpy_counts_axes() -> None:
    b = three()
    assert b.shape == (4, 3, 2) and np.shape(b) == np.asarray(b).shape == (2, 3, 4)
    assert (b.ndim, b.size, len(b), b.dtype) == (3, 24, 4, np.dtype(np.uint8))
    assert np.ndim(b) == 3 and np.size(b) == 24
    assert b.T.shape == (2, 3, 4) and b.T[1, 0, 12] == b[12, 0, 1]
    assert hl.Buffer(hl.BFloat(16), [2]).dtype == np.uint16


def test_equality_and_hash_are_those_of_the_object() -> None:
    a = three()
    b = hl.Buffer(a)
    assert a == a and a != b and {a: 1, b: 2}[b] == 2
    assert bool(hl.Buffer(hl.UInt(8), [0])), "as Halide's, which has no length"


def test_an_undefined_buffer_has_no_shape() -> None:
    for ask in (lambda b: b.shape, len, list, lambda b: b.mean(), lambda b: b[...]):
        with pytest.raises(hl.InvalidBufferError, match="undefined Buffer"):
            ask(hl.Buffer())
    assert not copy.deepcopy(hl.Buffer()).defined()
    assert not copy.copy(hl.Buffer()).defined()
    assert not pickle.loads(pickle.dumps(hl.Buffer())).defined()


def test_a_scalar_buffer_has_no_length() -> None:
    b = hl.Buffer.make_scalar(hl.Int(32))
    b.fill(7)
    for ask in (len, list):
        with pytest.raises(TypeError, match="has no dimensions"):
            ask(b)
    assert b.sum() == 7 and pickle.loads(pickle.dumps(b))[()] == 7
    assert b[...][()] == 7


# Parts.


def test_iteration_is_over_dimension_0() -> None:
    b = three()
    columns = list(b)
    assert [c.shape for c in columns] == [(3, 2)] * 4
    assert columns[2][-1, 1] == b[12, -1, 1]
    columns[2][-1, 1] = 99
    assert b[12, -1, 1] == 99, "views share memory"
    assert list(columns[0].sliced(1)) == [0, 4, 8]
    assert 99 in b and 100 not in b


def test_a_slice_keeps_coordinates_and_memory() -> None:
    b = three()
    part = b[11:13, 0]
    assert part.shape == (2, 2) and part.left() == 11 and part[12, 1] == b[12, 0, 1]
    part.fill(0)
    assert [b[i, 0, k] for i in (10, 11, 12, 13) for k in (0, 1)] == [
        *(4, 16),
        *(0, 0, 0, 0),
        *(7, 19),
    ]
    assert np.shares_memory(np.asarray(part), np.asarray(b))
    assert b[...].shape == b[:].shape == b[:, :, :].shape == (4, 3, 2)
    assert b[..., 1].shape == (4, 3) and b[12, ...].shape == (3, 2)
    assert b[13:13].shape == (0, 3, 2) and b[14:14].size == 0


def test_slices_are_those_of_ranges() -> None:
    """Each legal slice of a line has the pixels that a range of coordinates names."""
    for low, n in itertools.product((-2, 0, 3), (0, 1, 5)):
        line = hl.Buffer(np.arange(n, dtype=np.int32), "line")
        line.set_min([low])
        for step in (None, 1, 2, 3, 9, -1, -2, -9):
            back = (step or 1) < 0
            least, most = (low - 1, low + n - 1) if back else (low, low + n)
            ends = [None, *range(low - 3, low + n + 3)]
            for first, end in itertools.product(ends, ends):
                start = (low + n - 1 if back else low) if first is None else first
                stop = (low - 1 if back else low + n) if end is None else end
                begins = first is None or (
                    low <= start < low + n if back else least <= start <= most
                )
                if not begins or not (end is None or least <= stop <= low + n - back):
                    with pytest.raises(hl.BoundsError, match="out of bounds"):
                        line[first:end:step]
                    continue
                part = line[first:end:step]
                want = [i - low for i in range(start, stop, step or 1)]
                assert list(part) == want
                assert part.left() == (start if step in (None, 1) else 0)


def test_compiled_code_reads_and_writes_parts() -> None:
    f, lines = hl.Func("f"), np.arange(40, dtype=np.int32).reshape(5, 8)
    b = hl.Buffer(lines)
    turned = b[::-2, 1:4]
    f[x, y] = turned[x, y] * 2
    f.vectorize(x, 4)
    out = hl.Buffer(hl.Int(32), [4, 3])
    out.set_min([0, 1])
    f.realize(out)
    assert np.array_equal(np.asarray(out), lines[1:4, ::-2] * 2)


def test_a_part_is_an_output() -> None:
    f = hl.Func("f")
    f[x, y] = x + 100 * y
    b = hl.Buffer(np.full((6, 8), -1, np.int32))
    want = np.asarray(b).copy()
    f.realize(b[2:5, 1:3])
    want[1:3, 2:5] = [[102, 103, 104], [202, 203, 204]]
    assert np.array_equal(np.asarray(b), want)
    f.realize(b[::2, 3:6])
    want[3:6, ::2] = np.arange(4) + 100 * np.arange(3, 6)[:, None]
    assert np.array_equal(np.asarray(b), want)


def test_numbers_arrays_and_buffers_are_stored_in_parts() -> None:
    b = three()
    b[11:13, :, 0] = 5
    assert b[11, 1, 0] == 5 and b[11, 1, 1] == 21
    b[10, :, :] = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    assert [b[10, j, k] for k in (0, 1) for j in (-1, 0, 1)] == [1, 2, 3, 4, 5, 6]
    b[12:14, ...] = b[10:12, ...]
    assert b[12, 1, 1] == 6
    with pytest.raises(hl.LiteralError, match="300 does not fit"):
        b[:] = 300
    with pytest.raises(TypeError, match="do not fit a part"):
        b[10:12, 0, 0] = np.array([1, 2], np.int32)
    with pytest.raises(TypeError, match="do not fit a part"):
        b[10:12, 0, 0] = np.array([1, 2, 3], np.uint8)
    fixed = hl.Buffer(np.broadcast_to(np.int32(3), 4))
    with pytest.raises(hl.InvalidBufferError, match="read-only"):
        fixed[1:2] = 0


#: ``Any``: what these do is not in the types either.
WRONG: dict[str, tuple[Callable[[Any], object], type[Exception], str]] = {
    "from the end": (lambda b: b[-1:], IndexError, "none are counted from the end"),
    "too far": (lambda b: b[:100], IndexError, "100 is out of bounds for dimension 0"),
    "number": (lambda b: b[:, 5, :], IndexError, "5 is out of bounds for dimension 1"),
    "step": (lambda b: b[::0], TypeError, "is not 0"),
    "dots": (lambda b: b[..., ...], TypeError, "one '...' at most"),
    "too many": (lambda b: b[:, :, :, :], TypeError, "has 3 dimensions; 4"),
    "float": (lambda b: b[0.5:], TypeError, "is an integer, not 0.5"),
    "None": (lambda b: b[:, None], TypeError, "a coordinate is an integer, not None"),
    "Var": (lambda b: b[x:], TypeError, "is an integer"),
    "Var beside": (lambda b: b[x, :, 0], TypeError, "a slice is not an expression"),
    "few": (lambda b: b[10], TypeError, r"buffer\[3, ...\] is a view"),
    "axis": (lambda b: b.mean(3), IndexError, "there is no dimension 3"),
    "last axis": (lambda b: b.mean(-1), IndexError, "there is no dimension -1"),
    "axis twice": (lambda b: b.mean((1, 1)), TypeError, "given twice"),
    "axis of letters": (lambda b: b.mean("x"), TypeError, "a dimension is an integer"),
    "nothing": (lambda b: b[10:10].max(), IndexError, "has no pixels"),
    "in": (lambda b: "a" in b, TypeError, "is a number, not a str"),
    "axes": (lambda b: b.array("yx"), TypeError, "does not name the 3 axes"),
    "axes twice": (lambda b: b.array("yxx"), TypeError, "does not name the 3 axes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_gets_its_sentence(name: str) -> None:
    wrong, kind, told = WRONG[name]
    with pytest.raises(kind, match=told) as caught:
        wrong(three())
    assert isinstance(caught.value, hl.HalideError)
    assert caught.value.at is not None and caught.value.at.file == __file__


# NumPy.


@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "var", "std", "min", "max", "any", "all"]
)
def test_reductions_are_numpys(name: str) -> None:
    b = three()
    array = np.asarray(b)
    value = getattr(b, name)()
    want = getattr(array, name)()
    assert type(value) in (int, float, bool) and value == want
    some = getattr(b, name)(axis=(0, 2))
    assert some.shape == (3,) and some.left() == -1
    assert np.array_equal(np.asarray(some), getattr(array, name)(axis=(0, 2)))
    lines = getattr(b, name)(0)
    assert np.array_equal(np.asarray(lines), getattr(array, name)(axis=2))
    assert np.array_equal(getattr(np, name)(b, axis=0), getattr(array, name)(axis=0))


def test_bfloat16_is_reduced_as_numbers() -> None:
    b = hl.Buffer(hl.BFloat(16), [3])
    for i, v in enumerate((1.0, -2.5, 4.0)):
        b[i] = v
    assert (b.sum(), b.min(), b.max()) == (2.5, -2.5, 4.0) and -2.5 in b


def test_functions_of_numpy_take_buffers() -> None:
    a, b = three(), three()
    array = np.asarray(a)
    assert np.array_equal(np.stack([a, b]), np.stack([array, array]))
    assert np.array_equal(np.flip(a, 0), np.flip(array, 0))
    assert np.array_equal(np.transpose(a), array.T) and np.array_equal(a, b)
    assert np.array_equal(np.clip(a, 3, 9), np.clip(array, 3, 9))
    out: Any = hl.Buffer(np.zeros((2, 3, 4), np.uint8))
    np.copyto(out, a)
    assert np.array_equal(out, array)
    np.clip(a, 3, 9, out=out)
    assert out.max() == 9
    clamped: object = np.clip(hl.Buffer(np.zeros(3, np.int32))[x], x, 5)  # type: ignore[call-overload]
    assert isinstance(clamped, hl.Expr)


def test_arrays_with_named_axes_share_memory() -> None:
    for n in range(5):
        for axes in itertools.permutations(AXIS_ORDER[:n]):
            array = np.zeros(tuple(range(2, 2 + n)), np.int16)
            again = hl.Buffer(array, axes="".join(axes)).array("".join(axes))
            assert again.shape == array.shape and again.strides == array.strides
            assert not n or np.shares_memory(array, again)


def test_opencv_takes_arrays_alone() -> None:
    """It asks for NumPy's own class, so that no other can be given as it is."""
    b = hl.Buffer(np.arange(25, dtype=np.uint8).reshape(5, 5))
    with pytest.raises(cv2.error, match="not a numpy array"):
        cv2.blur(b, (3, 3))  # type: ignore[call-overload]
    blurred = cv2.blur(np.asarray(b), (3, 3))
    assert np.array_equal(cv2.blur(b.array("yx"), (3, 3)), blurred)
    photo = np.arange(75, dtype=np.uint8).reshape(5, 5, 3)
    given = hl.Buffer(photo, axes="yxc").array("yxc")
    assert np.array_equal(cv2.blur(given, (3, 3)), cv2.blur(photo, (3, 3)))


# Copies and pickles.


def images() -> list[hl.Buffer]:
    turned = three().transposed([2, 0, 1])
    return [
        three(),
        turned,
        three()[::-1, ::2],
        hl.Buffer.make_interleaved(hl.Float(32), 5, 4, 3),
        hl.Buffer(np.broadcast_to(np.int32(3), (2, 3))),
        hl.Buffer(hl.BFloat(16), [3, 2]),
        hl.Buffer(hl.UInt(64), [0, 3]),
        hl.Buffer.make_scalar(hl.Bool()),
    ]


def same(a: hl.Buffer, b: hl.Buffer) -> None:
    assert a.type() == b.type() and a._name == b._name and a.shape == b.shape
    assert [a.dim(d).min() for d in range(a.ndim)] == [
        b.dim(d).min() for d in range(b.ndim)
    ]
    assert np.array_equal(np.asarray(a), np.asarray(b), equal_nan=a.type().is_float())


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickles_keep_pixels_coordinates_and_layout(protocol: int) -> None:
    for b in images():
        if b.type().is_float():
            b.fill(0.5)
        for made in (pickle.loads(pickle.dumps(b, protocol)), copy.deepcopy(b)):
            same(made, b)
            order = sorted(range(b.ndim), key=lambda d: abs(b.dim(d).stride()))
            strides = [abs(made.dim(d).stride()) for d in order]
            assert strides == sorted(strides)
            assert not b.size or not np.shares_memory(np.asarray(made), np.asarray(b))
            with_flags = [np.asarray(i).flags.writeable for i in (made, b)]
            assert with_flags[0] == with_flags[1]
        shallow = copy.copy(b)
        same(shallow, b)
        assert not b.size or np.shares_memory(np.asarray(shallow), np.asarray(b))


def test_pixels_travel_out_of_band() -> None:
    beside: list[pickle.PickleBuffer] = []
    b = hl.Buffer(np.zeros((500, 400)))
    told = pickle.dumps(b, 5, buffer_callback=beside.append)
    assert len(told) < 2000 and len(beside) == 1
    same(pickle.loads(told, buffers=beside), b)


def doubled(b: hl.Buffer) -> hl.Buffer:
    """Runs in another process."""
    f = hl.Func("f")
    f[x, y] = b[x, y] * 2
    made = hl.Buffer.make_with_shape_of(b)
    f.realize(made)
    return made


def test_buffers_go_to_another_process_and_come_back() -> None:
    b = hl.Buffer(np.arange(12, dtype=np.int32).reshape(3, 4), "b")
    b.set_min([5, -7])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        made = pool.apply(doubled, (b,))
    assert np.array_equal(np.asarray(made), np.asarray(b) * 2)
    assert (made.left(), made.top()) == (5, -7)


def test_threads_read_parts_at_the_same_time() -> None:
    b = hl.Buffer(np.arange(4000, dtype=np.int64).reshape(40, 100))
    sums: list[int | float] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(50):
            i = rng.randrange(100)
            sums.append(b[i : i + 1].sum() - b[i, ...].sum())
            pickle.loads(pickle.dumps(b[i, :]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sums == [0] * 200


def test_parts_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_GPU", "simulate")
    f, tx, ty = hl.Func("f"), hl.Var("tx"), hl.Var("ty")
    f[x, y] = x + 10 * y
    f.gpu_tile(x, y, tx, ty, 4, 4)
    b: Any = f.realize([12, 8])
    assert b.device_dirty()
    part = b[2:5, ::2]
    assert part.shape == (3, 4) and b.device_dirty(), "a view copies nothing"
    assert part[3, 2] == 43 and not b.device_dirty()
    part.copy_to_device()
    b[:, 0] = 7
    assert part[4, 0] == 7 and part.sum() == 21 + sum(
        i + 10 * j for i in (2, 3, 4) for j in (2, 4, 6)
    )
    again: Any = f.realize([12, 8])
    assert np.array_equal(pickle.loads(pickle.dumps(again)), np.asarray(again))
    assert not copy.deepcopy(again).has_device_allocation()
    assert not copy.copy(again).has_device_allocation()
