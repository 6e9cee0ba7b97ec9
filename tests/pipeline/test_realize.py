"""`realize`: allocation and cropping, destinations, layouts, errors."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import parhelion as hl
from tests.support.realized import several, single

RNG = np.random.default_rng(3)
x, y, c = hl.vars("x y c")


def ramp(name: str = "f") -> hl.Func:
    f = hl.Func(name)
    f[x, y] = x + 10 * y
    return f


def test_sizes_give_a_new_buffer() -> None:
    out = ramp().realize([5, 3])
    assert isinstance(out, hl.Buffer)
    assert np.asarray(out).tolist() == [
        [i + 10 * j for i in range(5)] for j in range(3)
    ]


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31])
def test_what_the_schedule_rounds_up_is_cropped(size: int) -> None:
    f = ramp()
    f.vectorize(x, 8)
    out = single(f.realize([size, 2]))
    assert out.width() == size
    assert np.asarray(out)[1].tolist() == [i + 10 for i in range(size)]
    g = ramp()
    xi = hl.Var("xi")
    g.split(x, x, xi, 8, hl.TailStrategy.RoundUp)
    assert np.asarray(g.realize([size, 1]))[0].tolist() == list(range(size))


def test_destinations_may_be_buffers_or_arrays() -> None:
    f = ramp()
    a = np.zeros((3, 4), np.int32)
    assert f.realize(a) is None
    assert a[2, 3] == 23
    b = hl.Buffer(hl.Int(32), [4, 3])
    b.set_min([100, -1])
    f.realize(b)
    assert b[100, -1] == 90
    f.realize([b])
    assert b[103, 1] == 113


def test_a_destination_smaller_than_a_vector_is_computed() -> None:
    f = ramp("slim")
    f.vectorize(x, 8)
    out = hl.Buffer(hl.Int(32), [5, 2])
    f.realize(out)
    assert np.array_equal(np.asarray(out), np.asarray(ramp("whole").realize([5, 2])))


def tiles_of_whole_vectors(name: str) -> hl.Func:
    """A tile is one vector of the Func computed in it, and cannot be cut short."""
    f, g = ramp(name), hl.Func(f"{name}_g")
    xi = hl.Var("xi")
    g[x, y] = f[x, y] * 2
    g.split(x, x, xi, 16)
    f.compute_at(g, x).vectorize(x)
    return g


@pytest.mark.parametrize("width", (1, 13, 16, 17, 33))
def test_where_tails_cannot_be_guarded_more_is_computed(width: int) -> None:
    got = np.asarray(tiles_of_whole_vectors("tiles").realize([width, 3]))
    assert np.array_equal(got, 2 * np.asarray(ramp("plain").realize([width, 3])))


def test_where_tails_cannot_be_guarded_destinations_may_be_too_small() -> None:
    """The error is of the destination, not of a schedule that nobody wrote."""
    f = tiles_of_whole_vectors("cut")
    with pytest.raises(hl.BoundsError, match="'cut_g.* too small in dimension 0"):
        f.realize(hl.Buffer(hl.Int(32), [13, 2]))
    out = hl.Buffer(hl.Int(32), [17, 2])
    f.realize(out)
    assert out[16, 1] == 2 * single(ramp("one").realize([17, 2]))[16, 1]


def test_the_input_of_tails_that_cannot_be_guarded() -> None:
    image = hl.ImageParam(hl.Int(32), 2, "image")
    f, g = hl.funcs("f g")
    xi = hl.Var("xi")
    f[x, y] = image[x, y] + 1
    g[x, y] = f[x, y] * 2
    g.split(x, x, xi, 16)
    f.compute_at(g, x).vectorize(x)
    g.infer_input_bounds([13, 2])
    assert image.get().width() == 16
    image.get().fill(4)
    assert (np.asarray(g.realize([13, 2])) == 10).all()


def test_a_destination_too_small_for_the_schedule_is_refused() -> None:
    f = ramp("narrow")
    f.vectorize(x, 8, hl.TailStrategy.RoundUp)
    with pytest.raises(hl.BoundsError, match="'narrow.* too small in dimension 0"):
        f.realize(hl.Buffer(hl.Int(32), [5, 3]))


@pytest.mark.parametrize(
    ("where", "error", "words"),
    [
        ([3], hl.TypeMismatchError, "has 2 dimensions; realize is given 1"),
        ((), hl.TypeMismatchError, "has 2 dimensions; realize is given 0"),
        ([3, -1], hl.BoundsError, "negative"),
        ([3, 2.5], hl.TypeMismatchError, "must be an integer"),
        (3, hl.TypeMismatchError, "a list of extents"),
        (np.zeros((2, 2), np.int16), hl.TypeMismatchError, "int16.*int32"),
        (np.zeros(2, np.int32), hl.TypeMismatchError, "has 1 dimensions"),
        (np.broadcast_to(np.int32(0), (2, 2)), hl.InvalidBufferError, "read-only"),
        (
            [np.zeros((2, 2), np.int32), np.zeros((2, 2), np.int32)],
            hl.TypeMismatchError,
            "1 output buffers; 2 are given",
        ),
    ],
)
def test_destinations_that_do_not_fit(where: Any, error: Any, words: str) -> None:
    f = ramp("dest")
    with pytest.raises(error, match=words) as caught:
        f.realize(where)
    assert "test_realize.py" in str(caught.value)


def test_overlapping_pixels_in_a_destination_are_refused() -> None:
    shared = np.lib.stride_tricks.as_strided(np.zeros(4, np.int32), (3, 4), (0, 4))
    with pytest.raises(hl.InvalidBufferError, match="broadcast in dimension 1"):
        ramp().realize(shared)


OVERLAPPING: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    # Of NumPy's array: its shape, and its strides in elements.
    ((10, 10), (5, 1)),
    ((2, 2), (1, 1)),
    ((4, 3), (2, 4)),
    ((3, 10), (-9, 1)),
    ((4, 5, 6), (30, 5, 1)),
    ((5, 4), (6, 8)),
]
APART: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((10, 10), (10, 1)),
    ((10, 10), (1, 10)),
    ((3, 10), (-10, 1)),
    ((1, 10), (0, 1)),
    ((3, 3), (3, 2)),  # rows that pass by each other's pixels
    ((3, 2), (2, 3)),
    ((4, 5, 6), (30, 6, 1)),
]


def placed(shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    memory = np.full(400, -1, np.int32)
    return as_strided(memory[200:], shape, [4 * s for s in strides])


@pytest.mark.parametrize(("shape", "strides"), OVERLAPPING)
def test_an_output_that_overlaps_itself_is_refused(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    f, where = hl.Func("f"), placed(shape, strides)
    args = hl.vars("x y z")[: len(shape)]
    f[args] = sum(args[1:], args[0] + 0)
    call = f.compile_to_callable([])
    for use in (
        lambda: f.realize(where),
        lambda: f.realize(hl.Buffer(where)),
        lambda: call(where),
        lambda: call(hl.Buffer(where)),
        lambda: hl.Pipeline(f).realize([where]),
    ):
        with pytest.raises(hl.InvalidBufferError, match="overlaps itself"):
            use()
    assert np.all(where == -1)
    # Images may.
    image, g = hl.Buffer(where), hl.Func("g")
    g[args] = image[args]
    np.testing.assert_array_equal(np.asarray(g.realize(shape[::-1])), where)


@pytest.mark.parametrize(("shape", "strides"), APART)
def test_an_output_may_have_any_strides_without_overlap(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    f, where = hl.Func("f"), placed(shape, strides)
    args = hl.vars("x y z")[: len(shape)]
    f[args] = sum([v * 10**d for d, v in enumerate(args)], hl.Expr(0))
    f.realize(where)
    grid = sum([i * 10**d for d, i in enumerate(np.indices(shape)[::-1])])
    np.testing.assert_array_equal(where, grid)


def test_outputs_that_share_pixels_are_refused() -> None:
    f, g = ramp(), hl.Func("g")
    g[x, y] = 100 + x
    pair = hl.Pipeline([f, g])
    call = pair.compile_to_callable([])
    where = np.full((6, 8), -1, np.int32)
    for one, two in ((where, where), (where[:4], where[2:]), (where[:3], where[3::-1])):
        for use in (lambda a, b: pair.realize([a, b]), call):
            with pytest.raises(hl.InvalidBufferError, match="'g' share pixels"):
                use(one, two)
    assert np.all(where == -1)
    # One may lie in the gaps of the other.
    pair.realize([where[:, ::2], where[:, 1::2]])
    np.testing.assert_array_equal(where[:, 1::2], np.full((6, 4), 100) + np.arange(4))
    np.testing.assert_array_equal(where[:, ::2], np.asarray(f.realize([4, 6])))


@pytest.mark.parametrize("sizes", [[0, 3], [3, 0], [0, 0]])
def test_zero_extents_give_an_empty_result(sizes: list[int]) -> None:
    f = ramp()
    f.vectorize(x, 4).parallel(y)
    out = single(f.realize(sizes))
    assert [out.width(), out.height()] == sizes
    f.realize(hl.Buffer(hl.Int(32), sizes))


def test_undefined_funcs_and_pipelines_say_so() -> None:
    with pytest.raises(hl.DefinitionError, match="'nothing.* is not defined"):
        hl.Func("nothing").realize([3])
    assert not hl.Pipeline().defined()
    with pytest.raises(hl.DefinitionError, match="no outputs"):
        hl.Pipeline().realize([3])
    with pytest.raises(hl.TypeMismatchError):
        hl.Pipeline([3])  # type: ignore[list-item]


def test_missing_inputs_are_named() -> None:
    im = hl.ImageParam(hl.UInt(8), 1, "photo")
    p = hl.Param(hl.Int(32), "gain")
    f = hl.Func("f")
    f[x] = im[x] * p
    with pytest.raises(hl.UnsetParamError, match="ImageParam 'photo.* has no image"):
        f.realize([3])
    im.set(np.zeros(3, np.uint8))
    with pytest.raises(hl.UnsetParamError, match="Param 'gain.* has no value"):
        f.realize([3])


def test_an_image_too_small_names_dimension_and_numbers() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "small")
    f = hl.Func("f")
    f[x, y] = im[x + 1, y - 2]
    im.set(np.zeros((5, 6), np.uint8))
    with pytest.raises(hl.BoundsError, match="small.*dimension 1.* -2 to 1, .* 0 to 4"):
        f.realize([4, 4])


def test_several_values_and_several_funcs() -> None:
    f = hl.Func("pair")
    f[x] = hl.Tuple(x, hl.f32(x) * 0.5)
    a, b = several(f.realize([4]))
    assert (a[3], b[3]) == (3, 1.5)
    g = hl.Func("g")
    g[x] = x * x
    out = hl.Pipeline([f, g]).realize([4])
    assert isinstance(out, tuple)
    assert [o[3] for o in out] == [3, 1.5, 9]
    given = [hl.Buffer(t, [4]) for t in (hl.Int(32), hl.Float(32), hl.Int(32))]
    hl.Pipeline([f, g]).realize(given)
    assert [o[2] for o in given] == [2, 1, 4]


def test_a_concrete_buffer_is_passed_by_itself_and_kept_alive() -> None:
    f = hl.Func("f")
    f[x] = hl.Buffer(np.arange(10, dtype=np.uint8))[x] + 1
    import gc

    gc.collect()
    assert np.asarray(f.realize([10])).tolist() == list(range(1, 11))


# Layouts.


def rgb_sum(image: hl.ImageParam) -> hl.Func:
    f = hl.Func("total")
    f[x, y, c] = hl.u16(image[x, y, c]) * 2 + hl.u16(image[x, y, 0])
    f.vectorize(x, 8, hl.TailStrategy.GuardWithIf)
    return f


PHOTO = RNG.integers(0, 255, (6, 19, 3), np.uint8)


@pytest.mark.parametrize(
    "photo",
    [
        pytest.param(np.ascontiguousarray(PHOTO.transpose(2, 0, 1)), id="planar"),
        pytest.param(PHOTO.transpose(2, 0, 1), id="interleaved"),
        pytest.param(PHOTO.transpose(2, 0, 1)[:, :, ::-1], id="mirrored"),
        pytest.param(PHOTO.transpose(2, 0, 1)[:, ::-1, ::2], id="skipping"),
        pytest.param(PHOTO.transpose(2, 1, 0), id="transposed"),
        pytest.param(np.broadcast_to(PHOTO[:3, :5, :1], (3, 5, 4)), id="broadcast"),
        pytest.param(PHOTO.transpose(2, 0, 1)[:, :, :1], id="one column"),
    ],
)
def test_any_layout_of_input_and_output_works(photo: np.ndarray) -> None:
    im = hl.ImageParam(hl.UInt(8), 3, "photo")
    f = rgb_sum(im)
    im.set(photo)
    want = photo.astype(np.uint16) * 2 + photo[:1].astype(np.uint16)
    channels, height, width = photo.shape
    out = f.realize([width, height, channels])
    assert (np.asarray(out) == want).all()
    interleaved = hl.Buffer.make_interleaved(hl.UInt(16), width, height, channels)
    f.realize(interleaved)
    assert (np.asarray(interleaved) == want).all()
    backwards = np.zeros(photo.shape, np.uint16)[::-1, ::-1, ::-1]
    f.realize(backwards)
    assert (backwards == want).all()


def test_variants_are_kept_side_by_side() -> None:
    im = hl.ImageParam(hl.UInt(8), 3, "photo")
    f = rgb_sum(im)
    planar = np.ascontiguousarray(PHOTO.transpose(2, 0, 1))
    for image in (planar, PHOTO.transpose(2, 0, 1), planar):
        im.set(image)
        f.realize([19, 6, 3])
    assert len(f._pipeline()._runner._programs) == 2
    assert im.dim(0)._sym.fixed_stride is not None


def test_a_destination_that_overlaps_an_input_is_safe() -> None:
    im = hl.ImageParam(hl.Int(32), 1, "im")
    f = hl.Func("shift")
    f[x] = im[x + 1]
    f.vectorize(x, 8)
    a = np.arange(65, dtype=np.int32)
    im.set(a)
    f.realize(a[:64])
    assert a.tolist() == [*range(1, 65), 64]
    g = hl.Func("turn")
    g[x] = im[63 - x]
    a[:] = np.arange(65)
    g.realize(a[:64])
    assert a.tolist() == [*range(63, -1, -1), 64]


# Compiled code and what invalidates it.


def test_changes_of_definition_and_schedule_are_noticed() -> None:
    f = hl.Func("f")
    f[x] = x
    runner = f._pipeline()._runner
    f.realize([4])
    first = dict(runner._programs)
    f.realize([9])
    assert runner._programs == first
    f.vectorize(x, 4)
    f.realize([9])
    assert runner._programs != first
    f[x] += 1
    f.update().unscheduled()
    assert np.asarray(f.realize([3])).tolist() == [1, 2, 3]


def test_a_change_of_a_producer_is_noticed() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    g[x] = f[x] + f[x + 1]
    assert single(g.realize([2]))[1] == 3
    first = dict(g._pipeline()._runner._programs)
    f.compute_root()
    assert single(g.realize([2]))[1] == 3
    assert g._pipeline()._runner._programs != first


def test_promises_of_images_are_noticed() -> None:
    im = hl.ImageParam(hl.UInt(8), 1, "im")
    f = hl.Func("f")
    f[x] = im[x]
    im.set(np.zeros(8, np.uint8))
    f.realize([4])
    im.dim(0).set_extent(9)
    with pytest.raises(hl.InvalidBufferError, match="must be 9, but it is 8"):
        f.realize([4])


def test_invalidate_cache_compiles_again() -> None:
    p = hl.Pipeline(ramp())
    p.compile_jit()
    assert len(p._runner._programs) == 1
    p.invalidate_cache()
    assert len(p._runner._programs) == 0
    assert single(p.realize([2, 2]))[1, 1] == 11


def test_code_is_unloaded_with_its_pipeline() -> None:
    import gc
    import weakref

    f = ramp()
    f.realize([3, 3])
    (program,) = f._pipeline()._runner._programs.values()
    library = weakref.ref(program.call.compiled._library)
    del program, f
    gc.collect()
    assert library() is None


# Bounds of inputs.


def test_infer_input_bounds_makes_images_of_the_right_size() -> None:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    f = hl.Func("f")
    f[x, y] = im[x - 1, y] + im[2 * x, y + 3]
    f.infer_input_bounds([10, 5])
    b = im.get()
    assert (b.left(), b.right(), b.top(), b.bottom()) == (-1, 18, 0, 7)
    b.fill(1)
    assert single(f.realize([10, 5])).all_equal(2)


def test_infer_input_bounds_leaves_given_images_alone() -> None:
    im = hl.ImageParam(hl.UInt(8), 1, "im")
    other = hl.ImageParam(hl.UInt(8), 1, "other")
    f = hl.Func("f")
    f[x] = im[x] + other[x + 1]
    a = np.zeros(100, np.uint8)
    im.set(a)
    f.infer_input_bounds(hl.Buffer(hl.UInt(8), [10]).translated([5]))
    assert im.get().width() == 100
    b = other.get()
    assert (b.left(), b.right()) == (6, 15)


def test_infer_input_bounds_keeps_promised_layouts() -> None:
    im = hl.ImageParam(hl.UInt(8), 3, "im")
    im.dim(0).set_stride(3)
    im.dim(2).set_stride(1).set_bounds(0, 3)
    f = hl.Func("f")
    f[x, y, c] = im[x, y, c]
    f.infer_input_bounds([4, 5, 3])
    assert [im.get().dim(d).stride() for d in range(3)] == [3, 12, 1]


def test_infer_arguments_lists_images_and_params() -> None:
    im = hl.ImageParam(hl.UInt(8), 1, "im")
    p = hl.Param(hl.Int(32), "p", 1)
    f = hl.Func("f")
    f[x] = im[x] + p + hl.Buffer(np.zeros(9, np.uint8))[x]
    found = {a.name: a for a in f.infer_arguments()}
    assert set(found) == {im.name(), p.name()}
    assert found[im.name()].is_buffer()
    assert found[im.name()].dimensions == 1
    assert found[p.name()].kind is hl.ArgumentKind.InputScalar


# Threads, printing, and imports.


def test_several_python_threads_realize_at_once() -> None:
    im = hl.ImageParam(hl.Int(32), 2, "im")
    f, g = hl.funcs("f g")
    f[x, y] = im[x, y] * 2
    g[x, y] = f[x, y] + f[x, y + 1]
    f.compute_root().parallel(y)
    g.parallel(y)
    a = RNG.integers(0, 1000, (41, 64), np.int32)
    im.set(a)
    want = 2 * a[:-1] + 2 * a[1:]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(15):
            if (np.asarray(g.realize([64, 40])) != want).any():
                wrong.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert not any(w.is_alive() for w in workers)
    assert wrong == []


def test_errors_in_parallel_loops_reach_the_caller() -> None:
    f = hl.Func("f")
    f[x, y] = hl.require(x + y < 30, x, "sum is", x + y)
    f.parallel(y)
    with pytest.raises(hl.PipelineRuntimeError, match="sum is"):
        f.realize([20, 20])
    assert single(f.realize([10, 10]))[9, 9] == 9


def test_import_loads_neither_llvm_nor_imageio() -> None:
    code = (
        "import sys, parhelion, parhelion.imageio\n"
        "bad = [m for m in ('llvmlite', 'imageio') if m in sys.modules]\n"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_an_unchanged_pipeline_is_not_walked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from parhelion.schedule.reach import Reach

    looks = 0
    look = Reach.look

    def counted(self: Reach) -> object:
        nonlocal looks
        looks += 1
        return look(self)

    monkeypatch.setattr(Reach, "look", counted)
    x = hl.Var("x")
    p = hl.Param(hl.Int(32), "p", 3)
    f = hl.Func("f")
    f[x] = x + p
    for _ in range(2):  # compiling makes Funcs of its own, which are changes, too
        f.realize([4])
    before = looks
    for value in (4, 5, 6):
        p.set(value)
        assert np.asarray(f.realize([4]))[0] == value
    assert looks == before
    # What lowering reads of a Param is a change.
    p.set_range(0, 5)
    with pytest.raises(hl.HalideError, match="p"):
        f.realize([4])
    assert looks > before


def test_sizes_that_are_no_list() -> None:
    with pytest.raises(hl.TypeMismatchError, match=r"write realize\(\[8, 6\]\)"):
        ramp().realize(8, 6)  # type: ignore[arg-type]
    with pytest.raises(hl.TypeMismatchError, match="extents and a Target, not 'host'"):
        ramp().realize([8, 6], "host")  # type: ignore[arg-type]


def test_promised_bounds_of_an_output_are_known_to_its_producers() -> None:
    x, c = hl.Var("x"), hl.Var("c")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    mixed, out = hl.Func("mixed"), hl.Func("out")
    mixed[x, c] = hl.select(c == 3, image[x, 0], image[x, c])
    out[x, c] = mixed[x, c] + mixed[x, 3]
    mixed.compute_root().unroll(c)
    out.output_buffer().dim(1).set_bounds(0, 3)
    pixels = np.arange(32, dtype=np.uint8).reshape(4, 8)
    image.set(hl.Buffer(pixels))
    # To unroll, the extent must be a constant: channels 0 to 3.
    found = np.asarray(out.realize([8, 3]))
    np.testing.assert_array_equal(found, pixels[:3] + pixels[0])
    with pytest.raises(
        hl.InvalidBufferError, match="extent of out.dim.1. must be 3, but it is 2"
    ):
        out.realize([8, 2])
