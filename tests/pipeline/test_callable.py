"""`Callable`: arguments by place and name, arrays, scalars, refusals."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y = hl.vars("x y")


def make() -> tuple[hl.Callable, hl.ImageParam, hl.Param, hl.Func]:
    im = hl.ImageParam(hl.UInt(8), 2, "im")
    p = hl.Param(hl.Int(32), "gain")
    f = hl.Func("scaled")
    f[x, y] = hl.i32(im[x, y]) * p
    return f.compile_to_callable([im, p]), im, p, f


IMAGE = np.arange(24, dtype=np.uint8).reshape(4, 6)


def test_arrays_and_buffers_by_place_and_by_name() -> None:
    call, im, p, f = make()
    out = np.zeros((4, 6), np.int32)
    for image, result in ((IMAGE, out), (hl.Buffer(IMAGE), hl.Buffer(out))):
        out[:] = 0
        assert call(image, 3, result) == 0
        assert (out == IMAGE.astype(np.int32) * 3).all()
    call(IMAGE, **{p.name(): -2, f.name(): out})
    assert (out == IMAGE.astype(np.int32) * -2).all()
    call(IMAGE, np.int16(5), out)
    assert out[3, 5] == 115


def test_repeated_calls_see_new_pixels_and_new_arrays() -> None:
    call, *_ = make()
    for k in range(20):
        image = np.full((4, 6), k, np.uint8)
        out = np.zeros((4, 6), np.int32)
        call(image, 2, out)
        assert (out == 2 * k).all()
    b = hl.Buffer(np.zeros((8, 6), np.uint8))
    b.crop(1, 2, 4)
    b.fill(7)
    out_b = hl.Buffer(hl.Int(32), [6, 4])
    out_b.translate(1, 2)
    call(b, 1, out_b)
    assert out_b.all_equal(7)


def test_every_layout_and_overlap_is_served() -> None:
    call, *_ = make()
    out = np.zeros((4, 6), np.int32)
    call(IMAGE[::-1, ::-1], 2, out)
    assert (out == 2 * IMAGE[::-1, ::-1].astype(np.int32)).all()
    turned = np.zeros((6, 4), np.int32).T
    call(IMAGE, 2, turned)
    assert (turned == 2 * IMAGE.astype(np.int32)).all()
    same = hl.ImageParam(hl.Int(32), 1, "same")
    g = hl.Func("g")
    g[x] = same[x + 1]
    shift = g.compile_to_callable([same])
    a = np.arange(40, dtype=np.int32)
    shift(a, a[:39])
    assert a.tolist() == [*range(1, 40), 39]
    shift(a, np.zeros(0, np.int32))


@pytest.mark.parametrize("value", [3.5, "3", 2**40, None])
def test_scalars_that_do_not_fit(value: Any) -> None:
    call, *_ = make()
    with pytest.raises((hl.TypeMismatchError, hl.LiteralError), match="Param 'gain"):
        call(IMAGE, value, np.zeros((4, 6), np.int32))
    # The failed call leaves nothing behind.
    out = np.zeros((4, 6), np.int32)
    call(IMAGE, 1, out)
    assert out[3, 5] == 23


def test_scalars_of_every_type() -> None:
    for t, value in (
        (hl.Bool(), True),
        (hl.Int(8), -128),
        (hl.UInt(8), 255),
        (hl.Int(16), -32768),
        (hl.UInt(16), 65535),
        (hl.Int(32), -(2**31)),
        (hl.UInt(32), 2**32 - 1),
        (hl.Int(64), -(2**63)),
        (hl.UInt(64), 2**64 - 1),
        (hl.Float(32), 1.25),
        (hl.Float(64), 0.1),
    ):
        p = hl.Param(t)
        f = hl.Func()
        f[x] = p
        out = hl.Buffer(t, [3])
        f.compile_to_callable([p])(value, out)
        assert out[2] == value
    flag = hl.Param(hl.Bool())
    f = hl.Func()
    f[x] = hl.select(flag, 1, 2)
    with pytest.raises(hl.LiteralError):
        f.compile_to_callable([flag])(2, hl.Buffer(hl.Int(32), [3]))


def test_wrong_arguments_are_named() -> None:
    call, im, p, f = make()
    out = np.zeros((4, 6), np.int32)
    with pytest.raises(hl.TypeMismatchError, match=r"'scaled\S* .*is missing"):
        call(IMAGE, 3)
    with pytest.raises(hl.TypeMismatchError, match="takes 3 arguments.*4 are given"):
        call(IMAGE, 3, out, out)
    with pytest.raises(hl.TypeMismatchError, match="'nonsense' is no argument"):
        call(IMAGE, 3, out, nonsense=1)
    with pytest.raises(hl.TypeMismatchError, match="of type uint8.*int32"):
        call(out, 3, out)
    with pytest.raises(hl.TypeMismatchError, match="has 2 dimensions.*has 1"):
        call(IMAGE[0], 3, out)
    with pytest.raises(hl.InvalidBufferError, match="read-only"):
        call(IMAGE, 3, np.broadcast_to(out, (4, 6)))
    with pytest.raises(hl.BoundsError, match="too small"):
        call(IMAGE[:2], 3, out)
    with pytest.raises(hl.DefinitionError, match="also depends on 'gain"):
        f.compile_to_callable([im])
    with pytest.raises(hl.TypeMismatchError, match="an argument is"):
        f.compile_to_callable([im, 3])  # type: ignore[list-item]


def test_it_keeps_the_schedule_it_was_made_with() -> None:
    call, im, p, f = make()
    f.parallel(y)
    out = np.zeros((4, 6), np.int32)
    call(IMAGE, 3, out)
    assert out[1, 1] == 21
    with pytest.raises(hl.HalideError, match="changed after compile_to_callable"):
        call(IMAGE[:, ::-1], 3, out)


def test_images_of_the_algorithm_pass_themselves() -> None:
    table = np.arange(256, dtype=np.uint8)[::-1].copy()
    im = hl.ImageParam(hl.UInt(8), 1, "im")
    f = hl.Func("lookup")
    f[x] = hl.Buffer(table)[hl.i32(im[x])]
    call = f.compile_to_callable([im])
    out = np.zeros(5, np.uint8)
    call(np.arange(5, dtype=np.uint8), out)
    assert out.tolist() == [255, 254, 253, 252, 251]
    table[:] = 9
    call(np.arange(5, dtype=np.uint8), out)
    assert (out == 9).all()


def test_threads_may_bring_different_layouts_at_once() -> None:
    call, *_ = make()
    layouts = [
        IMAGE,
        IMAGE[:, ::-1],
        np.asfortranarray(IMAGE),
        np.repeat(IMAGE, 3, axis=1)[:, ::3],
    ]
    wrong: list[object] = []

    def work(image: np.ndarray) -> None:
        try:
            for _ in range(30):
                out = np.zeros((4, 6), np.int32)
                call(image, 3, out)
                if (out != image.astype(np.int32) * 3).any():
                    wrong.append(image.strides)
        except hl.HalideError as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(a,)) for a in layouts * 2]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert not any(w.is_alive() for w in workers)
    assert wrong == []


def test_an_array_that_moved_or_changed_shape_in_place() -> None:
    x, image = hl.Var("x"), hl.ImageParam(hl.UInt(8), 1)
    f = hl.Func("f")
    f[x] = image[x] + 1
    run = f.compile_to_callable([image])
    a, out = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    for size in (8, 100_000, 16, 8):
        a.resize(size, refcheck=False)
        a[:] = np.arange(size)
        out = np.zeros(size, np.uint8)
        run(a, out)
        np.testing.assert_array_equal(out, a + 1)
    with pytest.raises(hl.BoundsError):
        run(a[:4], out)
    whole = np.arange(16, dtype=np.uint8)
    out.setflags(write=False)
    with pytest.raises(hl.InvalidBufferError):
        run(whole, out)


def test_many_arrays_in_turn() -> None:
    """More than are remembered, also ones that overlap the output."""
    x, image = hl.Var("x"), hl.ImageParam(hl.UInt(8), 1)
    f = hl.Func("f")
    f[x] = image[x] + 1
    run = f.compile_to_callable([image])
    store = np.zeros((200, 16), np.uint8)
    for _ in range(2):
        for i in range(199):
            store[i] = i
            run(store[i], store[i + 1])
            assert (store[i + 1] == i + 1).all()
            run(store[i], store[i])
            assert (store[i] == i + 1).all()


def test_arguments_that_the_code_does_not_use() -> None:
    """They may have any layout, and any number of pixels."""
    image, f = hl.ImageParam(hl.UInt(8), 1), hl.Func("f")
    f[x] = hl.i32(x)
    call, out = f.compile_to_callable([image]), np.zeros(3, np.int32)
    for given in (np.zeros(1, np.uint8), np.zeros(9, np.uint8)[::2]):
        out[:] = 9
        call(given, out)
        assert out.tolist() == [0, 1, 2]


@pytest.mark.parametrize("given", [None, hl.Buffer()])
def test_what_has_no_pixels_is_named(given: Any) -> None:
    image, f, i = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("f"), hl.Var("i")
    f[i] = image[i]
    call = f.compile_to_callable([image])
    array = np.zeros(3, np.int32)
    for name, args in (("image", (given, array)), ("f", (array, given))):
        with pytest.raises(hl.InvalidBufferError) as caught:
            call(*args)
        first, place, *_ = str(caught.value).splitlines()
        assert re.sub(r"\$\d+", "", first) == (
            f"the argument '{name}' of the Callable has no pixels: it is {given!r}"
        )
        assert place.startswith(f"  --> {__file__}:")


def test_code_for_other_layouts_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays whose first dimension is not dense, and those smaller than a vector, need
    other code than the first: a later call with such arrays goes straight to it."""
    c, im, gain = hl.Var("c"), hl.ImageParam(hl.UInt(8), 3), hl.Param(hl.UInt(8))
    f = hl.Func("scaled")
    f[x, y, c] = im[x, y, c] * gain
    f.vectorize(x, 16)
    call = f.compile_to_callable([im, gain])

    def check(width: int, factor: int) -> None:
        pixels = np.random.default_rng(width).integers(0, 60, (3, width, 3), np.uint8)
        out = np.zeros_like(pixels)
        # Their dimensions are x, y, c where the last one of the arrays is the first.
        call(pixels.transpose(2, 0, 1), factor, out.transpose(2, 0, 1))
        np.testing.assert_array_equal(out, pixels * np.uint8(factor))

    for width in (40, 5, 1):
        check(width, 2)
    asked: list[object] = []
    special = hl.Callable._run_specially

    def counted(self: hl.Callable, *given: Any) -> None:
        asked.append(given)
        special(self, *given)

    monkeypatch.setattr(hl.Callable, "_run_specially", counted)
    for width in (40, 5, 1):
        check(width, 3)
    kept = [np.ones((3, 40, 3), np.uint8) for _ in range(8)]
    out = np.zeros_like(kept[0])
    for one in kept:
        call(one.transpose(2, 0, 1), 4, out.transpose(2, 0, 1))
        assert (out == 4).all()
    assert len(asked) <= 8 + 3  # once for each array, which may be a new one
    first = len(asked)
    for one in kept:
        call(one.transpose(2, 0, 1), 5, out.transpose(2, 0, 1))
        assert (out == 5).all()
    assert len(asked) == first
    # What overlaps is copied, each time.
    one = kept[0]
    for _ in range(2):
        call(one.transpose(2, 0, 1), 2, one.transpose(2, 0, 1))
    assert (one == 4).all()
    with pytest.raises(hl.HalideError, match="1000"):
        call(kept[1].transpose(2, 0, 1), 1000, out.transpose(2, 0, 1))
