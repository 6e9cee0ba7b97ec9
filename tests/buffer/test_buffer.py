"""`Buffer`: sharing arrays, coordinates, views, and clear refusals."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import parhelion as hl

RNG = np.random.default_rng(7)


def shape(b: hl.Buffer) -> list[tuple[int, int, int]]:
    dims = [b.dim(d) for d in range(b.dimensions())]
    return [(d.min(), d.extent(), d.stride()) for d in dims]


def test_dimension_zero_is_the_last_axis() -> None:
    b = hl.Buffer(np.zeros((3, 4, 5), np.float32))
    assert shape(b) == [(0, 5, 1), (0, 4, 5), (0, 3, 20)]
    assert (b.width(), b.height(), b.channels()) == (5, 4, 3)
    assert b.type() is hl.Float(32)


def test_reverse_axes_false_keeps_the_order() -> None:
    a = np.zeros((3, 4), np.uint8)
    assert shape(hl.Buffer(a, reverse_axes=False)) == [(0, 3, 4), (0, 4, 1)]
    assert shape(hl.Buffer(a, "name", False)) == [(0, 3, 4), (0, 4, 1)]
    assert shape(hl.Buffer(a).reverse_axes()) == [(0, 3, 4), (0, 4, 1)]


def test_named_axes_bind_by_letter() -> None:
    image = np.zeros((4, 5, 3), np.uint8)
    assert shape(hl.Buffer(image, axes="yxc")) == [(0, 5, 3), (0, 4, 15), (0, 3, 1)]
    volume = np.zeros((2, 3, 4), np.uint8)
    assert shape(hl.Buffer(volume, axes="zyx")) == [(0, 4, 1), (0, 3, 4), (0, 2, 12)]
    wrong: Any
    for wrong in ("yx", "yyc", "yxq", "yxcz", 5, list("yxc")):
        with pytest.raises(hl.TypeMismatchError, match="does not name the 3 axes"):
            hl.Buffer(image, axes=wrong)


@pytest.mark.parametrize(
    "view",
    [
        np.s_[::-1, :],
        np.s_[:, ::-1],
        np.s_[1:3, ::2],
        np.s_[::-2, 1::3],
    ],
)
def test_any_strides_are_shared_without_a_copy(view: Any) -> None:
    base = np.arange(40, dtype=np.int32).reshape(5, 8)
    a = base[view]
    b = hl.Buffer(a)
    assert np.shares_memory(np.asarray(b), base)
    assert (np.asarray(b) == a).all()
    b[0, 0] = -5
    assert a[0, 0] == -5


def test_broadcast_arrays_have_stride_zero() -> None:
    b = hl.Buffer(np.broadcast_to(np.arange(3, dtype=np.uint8), (4, 3)))
    assert shape(b) == [(0, 3, 1), (0, 4, 0)]
    assert b[2, 3] == 2


def test_read_only_arrays_can_be_read_but_not_written() -> None:
    a = np.arange(6, dtype=np.uint8)
    a.flags.writeable = False
    b = hl.Buffer(a)
    assert b[3] == 3
    with pytest.raises(hl.InvalidBufferError, match="read-only"):
        b[3] = 1
    with pytest.raises(hl.InvalidBufferError, match="read-only"):
        b.fill(1)


DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
) + ("float16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_allocates_and_keeps_values(dtype: str) -> None:
    a = np.array([0, 1, 1, 0], dtype)
    t = hl.Buffer(a).type()
    b = hl.Buffer(t, [4])
    b.copy_from(hl.Buffer(a))
    assert np.asarray(b).dtype == a.dtype
    assert (np.asarray(b) == a).all()
    assert b[1] == 1
    b.fill(1)
    assert b.all_equal(1)


def test_uint64_values_beyond_int64() -> None:
    b = hl.Buffer(hl.UInt(64), [1])
    b[0] = 2**64 - 1
    assert b[0] == 2**64 - 1


def test_bfloat16_pixels_are_floats_in_python() -> None:
    b = hl.Buffer(hl.BFloat(16), [2])
    b.fill(1.5)
    assert b[0] == 1.5
    b[1] = 3.14159
    assert b[1] == 3.140625


def test_allocation_is_aligned_and_in_storage_order() -> None:
    for _ in range(5):
        b = hl.Buffer(hl.UInt(8), [7, 5, 3], [2, 0, 1])
        assert shape(b) == [(0, 7, 3), (0, 5, 21), (0, 3, 1)]
        assert b._layout().host % 64 == 0
    assert shape(hl.Buffer.make_interleaved(hl.UInt(8), 7, 5, 3)) == shape(b)
    assert hl.Buffer(hl.UInt(8), [2, 2], "named").name() == "named"
    assert hl.Buffer(hl.UInt(8), [2, 2], [1, 0], "named").name() == "named"


def test_scalars_have_no_dimensions() -> None:
    b = hl.Buffer.make_scalar(hl.Int(32))
    b[()] = 5
    assert b[()] == 5
    assert b.dimensions() == 0
    assert b.number_of_elements() == 1
    assert np.asarray(b).shape == ()


def test_arrays_live_as_long_as_the_buffer() -> None:
    class Owner(np.ndarray):
        pass

    a = np.zeros(1000, np.uint8).view(Owner)
    ref = weakref.ref(a)
    b = hl.Buffer(a)
    view = b.cropped(0, 10, 5)
    del a, b
    gc.collect()
    assert ref() is not None
    assert view.all_equal(0)
    del view
    gc.collect()
    assert ref() is None


def test_sources_other_than_numpy() -> None:
    assert shape(hl.Buffer(memoryview(b"abcd"))) == [(0, 4, 1)]
    assert hl.Buffer(bytearray(b"abcd"))[1] == ord("b")

    class OnlyDlpack:
        def __init__(self, a: Any) -> None:
            self.a = a

        def __dlpack__(self, **options: Any) -> Any:
            return self.a.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.a.__dlpack_device__()

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = hl.Buffer(OnlyDlpack(a))
    assert np.shares_memory(np.asarray(b), a)

    class OnlyInterface:
        __array_interface__ = a.__array_interface__
        keep = a

    assert np.shares_memory(np.asarray(hl.Buffer(OnlyInterface())), a)


def test_given_back_through_every_protocol() -> None:
    b = hl.Buffer(hl.Float(32), [4, 3, 2])
    b.fill(2)
    a = np.asarray(b)
    assert a.shape == (2, 3, 4)
    assert np.shares_memory(a, np.asarray(b))
    assert np.shares_memory(np.from_dlpack(b), a)
    assert b.__dlpack_device__() == (1, 0)
    interface = b.__array_interface__
    assert interface["shape"] == (2, 3, 4)
    assert interface["data"][0] == b._layout().host
    assert not np.shares_memory(np.array(b), a)
    assert np.asarray(b, np.float64).dtype == np.float64
    if sys.version_info >= (3, 12):
        assert memoryview(b).shape == (2, 3, 4)  # type: ignore[arg-type]


FRACTION: Any = 2.5
NO_LIST: Any = 3


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: hl.Buffer([1, 2]), hl.TypeMismatchError, "from a list"),
        (lambda: hl.Buffer(3.5), hl.TypeMismatchError, "from a float"),
        (lambda: hl.Buffer(np.float32(1)), hl.TypeMismatchError, "NumPy scalar"),
        (
            lambda: hl.Buffer(np.zeros(3, np.complex64)),
            hl.TypeMismatchError,
            "complex64",
        ),
        (lambda: hl.Buffer(np.zeros(3, ">i4")), hl.InvalidBufferError, "foreign order"),
        (lambda: hl.Buffer(hl.UInt(8), [-1]), hl.BoundsError, "is -1"),
        (lambda: hl.Buffer(hl.UInt(8), [FRACTION]), hl.TypeMismatchError, "integer"),
        (
            lambda: hl.Buffer(hl.UInt(8), NO_LIST),
            hl.TypeMismatchError,
            "list of extents",
        ),
        (lambda: hl.Buffer(hl.UInt(8, 4), [3]), hl.TypeMismatchError, "scalars"),
        (
            lambda: hl.Buffer(hl.UInt(8), [2, 2], [0, 0]),
            hl.TypeMismatchError,
            "no order",
        ),
        (
            lambda: hl.Buffer(np.zeros(4, "u1,u4")["f1"]),
            hl.InvalidBufferError,
            "strides of",
        ),
        (
            lambda: hl.Buffer(hl.UInt(8), [2**31 - 1, 2**31 - 1, 2**20]),
            hl.OutOfMemoryError,
            "out of memory",
        ),
    ],
)
def test_what_no_buffer_can_be_made_of(make: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        make()
    assert "test_buffer.py" in str(caught.value)


def test_undefined_buffers_say_so() -> None:
    b = hl.Buffer()
    assert not b.defined()
    assert repr(b) == "<undefined parhelion.Buffer>"
    with pytest.raises(hl.InvalidBufferError, match="undefined"):
        b.fill(0)


def test_indices_are_checked() -> None:
    b = hl.Buffer(hl.UInt(8), [4, 3], "b")
    b.set_min([10, -2])
    b.fill(0)
    b[13, 0] = 9
    assert b[13, 0] == 9
    with pytest.raises(hl.BoundsError, match="index 14 .* dimension 0 .* 10 to 13"):
        b[14, 0]
    with pytest.raises(IndexError):
        b[10, -3] = 1
    with pytest.raises(hl.TypeMismatchError, match="2 dimensions"):
        b[10]


def test_values_are_checked() -> None:
    b = hl.Buffer(hl.UInt(8), [1])
    b[0] = np.uint8(200)
    b[0] = 7.0
    assert b[0] == 7
    for bad in (256, -1, 1.5):
        with pytest.raises(hl.LiteralError, match="does not fit"):
            b[0] = bad
    wrong: Any = "1"
    with pytest.raises(hl.TypeMismatchError):
        b[0] = wrong
    with pytest.raises(hl.LiteralError):
        b.fill(300)


def test_indices_with_vars_make_expressions() -> None:
    b = hl.Buffer(np.arange(12, dtype=np.uint8).reshape(3, 4), "pix")
    x, y = hl.vars("x y")
    e = b[x + 1, y]
    assert isinstance(e, hl.Expr)
    assert e.type() is hl.UInt(8)
    assert "pix" in repr(e)
    assert isinstance(b[hl._], hl.Expr)
    with pytest.raises(hl.HalideError, match="2 dimensions"):
        b[x]
    with pytest.raises(hl.TypeMismatchError):
        b[hl.f32(x), y]


def test_crop_and_translate_move_the_mins() -> None:
    a = RNG.integers(0, 255, (5, 6), np.uint8)
    b = hl.Buffer(a)
    c = b.cropped(0, 2, 3)
    assert shape(c) == [(2, 3, 1), (0, 5, 6)]
    assert c[3, 4] == a[4, 3]
    d = b.cropped([(1, 2), (3, 2)])
    assert (np.asarray(d) == a[3:5, 1:3]).all()
    c.translate([-2, 10])
    assert c[0, 10] == a[0, 2]
    c.translate(0, 5)
    assert c.left() == 5
    assert shape(b) == [(0, 6, 1), (0, 5, 6)]
    for bad in ((0, 4, 3), (0, -1, 2), (1, 0, 6), (0, 2, -1)):
        with pytest.raises(hl.BoundsError):
            b.cropped(*bad)
    with pytest.raises(hl.BoundsError):
        b.cropped(2, 0, 1)


def test_slice_embed_and_transpose() -> None:
    a = RNG.integers(0, 255, (2, 3, 4), np.uint8)
    b = hl.Buffer(a)
    assert (np.asarray(b.sliced(2, 1)) == a[1]).all()
    assert (np.asarray(b.sliced(0)) == a[:, :, 0]).all()
    e = b.embedded(1, 7)
    assert [s[:2] for s in shape(e)] == [(0, 4), (7, 1), (0, 3), (0, 2)]
    assert e[3, 7, 2, 1] == a[1, 2, 3]
    t = b.transposed(0, 2)
    assert t[1, 2, 3] == b[3, 2, 1]
    # Dimension 0 goes to place 2, 1 to 0, 2 to 1.
    r = b.transposed([2, 0, 1])
    assert r[2, 1, 3] == b[3, 2, 1]
    b.add_dimension()
    assert b.dimensions() == 4
    with pytest.raises(hl.TypeMismatchError):
        b.transpose([0, 0, 1, 2])
    with pytest.raises(hl.BoundsError):
        b.sliced(0, 4)


def test_copies_are_apart_and_copy_from_takes_the_overlap() -> None:
    a = RNG.integers(0, 255, (5, 6), np.uint8)
    b = hl.Buffer(a)
    c = b.copy()
    assert (np.asarray(c) == a).all()
    assert not np.shares_memory(np.asarray(c), a)
    target = hl.Buffer(hl.UInt(8), [4, 4])
    target.fill(0)
    target.set_min([4, 3])
    target.copy_from(b)
    want = np.zeros((4, 4), np.uint8)
    want[:2, :2] = a[3:, 4:]
    assert (np.asarray(target) == want).all()
    far = hl.Buffer(hl.UInt(8), [2, 2]).translated([100, 100])
    far.copy_from(b)
    with pytest.raises(hl.TypeMismatchError):
        target.copy_from(hl.Buffer(hl.UInt(16), [4, 4]))


def test_an_array_is_copied_whole() -> None:
    """It has no coordinates, so that the Buffer's own count."""
    b = hl.Buffer(np.zeros((2, 3), np.uint8))
    b.set_min(5, 7)
    b.copy_from(np.arange(6, dtype=np.uint8).reshape(2, 3))
    assert np.asarray(b).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (b.left(), b.top()) == (5, 7)


def test_a_buffer_is_made_with_the_shape_of_an_array() -> None:
    made = hl.Buffer.make_with_shape_of(np.zeros((2, 3), np.uint8), "made")
    assert made.type() is hl.UInt(8) and made.name() == "made"
    assert (made.width(), made.height()) == (3, 2)


def test_for_each_element_runs_dimension_zero_fastest() -> None:
    seen: list[list[int]] = []
    b = hl.Buffer(hl.UInt(8), [2, 2]).translated([5, 0])
    b.for_each_element(seen.append)
    assert seen == [[5, 0], [6, 0], [5, 1], [6, 1]]


def test_sizes_and_contains() -> None:
    b = hl.Buffer(np.zeros((4, 6), np.uint16)[:, ::2])
    assert b.number_of_elements() == 12
    assert b.size_in_bytes() == 2 * (3 * 6 + 2 * 2 + 1)
    assert b.contains([2, 3])
    assert b.contains(2, 3)
    assert not b.contains([3, 3])
    assert hl.Buffer(hl.UInt(8), [0, 3]).size_in_bytes() == 0


def test_make_with_shape_of_keeps_region_and_order() -> None:
    b = hl.Buffer.make_interleaved(hl.UInt(8), 7, 5, 3).translated([1, 2, 0])
    c = hl.Buffer.make_with_shape_of(b)
    assert shape(c) == shape(b)
    assert not np.shares_memory(np.asarray(c), np.asarray(b))


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Float(32), hl.BFloat(16), hl.Int(64)])
def test_plain_ints_index_like_other_whole_numbers(t: hl.Type) -> None:
    b = hl.Buffer(t, [3, 2])
    b.set_min([-1, 5])
    for n, (i, j) in enumerate((i, j) for j in (5, 6) for i in (-1, 0, 1)):
        b[i, j] = n
        assert b[i, j] == b[np.int32(i), np.int64(j)] == b(i, j) == n
    assert np.asarray(b).tolist() == [[0, 1, 2], [3, 4, 5]] or t.is_bfloat()
    for place in ((2, 5), (-2, 5), (0, 4), (0, 7)):
        with pytest.raises(hl.BoundsError, match="out of bounds for dimension"):
            b[place]
        with pytest.raises(hl.BoundsError, match="out of bounds for dimension"):
            b[place] = 1
    with pytest.raises(hl.TypeMismatchError, match="2 dimensions; 1 coordinates"):
        b[0] = 1
    with pytest.raises(hl.TypeMismatchError, match="is a number of type"):
        b[0, 5] = "1"  # type: ignore[assignment]


def test_a_buffer_of_no_dimension() -> None:
    b = hl.Buffer(hl.Int(16), [])
    b[()] = 7
    assert b[()] == 7
