"""Images that only programs mention which are gone are given back."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.ir import images, node
from parhelion.ir.bindings import SET
from parhelion.ir.cycles import sweep_cycles
from parhelion.runtime import program

Frame = np.ndarray[Any, np.dtype[np.uint8]]

x, y = hl.Var("x"), hl.Var("y")
#: Bytes of a frame, most of which are never touched: address space, not memory.
SIDE = 2896
LARGE = SIDE * SIDE
FRAMES = 48


@pytest.fixture(autouse=True)
def settled() -> Iterator[None]:
    """Other tests' images do not count, nor do their addresses: memory that is used
    again is counted once."""
    for _ in range(2):
        gc.collect()
        sweep_cycles()
    images._left = images._held = SET.count()
    SET.most = images._left + program._MOST_WEIGHT
    yield


def frame(value: int = 0) -> Frame:
    made = np.empty((SIDE, SIDE), np.uint8)
    made[:4, :4] = value
    return made


def mentioned(pixels: Frame) -> hl.Func:
    f = hl.Func("f")
    f[x, y] = 255 - hl.Buffer(pixels)[x, y]
    return f


def defined(pixels: Frame) -> None:
    mentioned(pixels)


def realized(pixels: Frame) -> None:
    mentioned(pixels).realize([4, 4])


def image_param(pixels: Frame) -> None:
    image = hl.ImageParam(hl.UInt(8), 2)
    image.set(pixels)
    f = hl.Func("f")
    f[x, y] = 255 - image[x, y]
    f.realize([4, 4])


def called(pixels: Frame) -> None:
    f = mentioned(pixels)
    image = hl.ImageParam(hl.UInt(8), 2)
    g = hl.Func("g")
    g[x, y] = f[x, y] + image[x, y]
    g.compile_to_callable([image])(pixels, np.empty((4, 4), np.uint8))


def updated(pixels: Frame) -> None:
    f = mentioned(pixels)
    r = hl.RDom([(0, 3)])
    f[x, y] += hl.u8(r.x)
    f.realize([4, 4])


def in_stages(pixels: Frame) -> None:
    f, g = mentioned(pixels), hl.Func("g")
    g[x, y] = f[x, y] + f[x + 1, y]
    f.compute_root()
    hl.Pipeline(g).realize([4, 4])


def scheduled(pixels: Frame) -> None:
    f = mentioned(pixels)
    hl.autoschedule(f, [4, 4])
    f.realize([4, 4])


def failing(pixels: Frame) -> None:
    with pytest.raises(hl.BoundsError):
        mentioned(pixels).realize([SIDE + 1, 1])


def most_alive(use: Callable[[Frame], object], frames: int = FRAMES) -> int:
    """How many frames are alive at once, of many that are used one after the other."""
    made: list[weakref.ref[Frame]] = []
    most = 0
    for i in range(frames):
        pixels = frame(i)
        made.append(weakref.ref(pixels))
        use(pixels)
        del pixels
        most = max(most, sum([one() is not None for one in made]))
    return most


@pytest.mark.parametrize(
    "use", [defined, realized, image_param, called, updated, in_stages]
)
def test_frames_go_without_the_collector(use: Callable[[Frame], object]) -> None:
    gc.disable()
    try:
        assert most_alive(use) <= program._MOST_WEIGHT // LARGE + 2
    finally:
        gc.enable()


@pytest.mark.parametrize("use", [scheduled, failing])
def test_frames_go_of_what_only_the_collector_frees(
    use: Callable[[Frame], object],
) -> None:
    assert most_alive(use) <= 2 * program._MOST_WEIGHT // LARGE + 2


@pytest.mark.parametrize("held", [0, 1000])
def test_small_frames_go_when_there_are_many(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may be few nodes and many bytes.

    held: the rows of an image that stays. Where much stays, only new nodes are
    looked at.
    """
    stays, g = hl.Buffer(np.zeros((held, 1000), np.int32), "stays"), hl.Func("g")
    g[x, y] = stays[x, y]
    images._left = images._held = SET.count()
    monkeypatch.setattr(program, "_sweep_at", sys.maxsize)
    monkeypatch.setattr(program, "_MOST_WEIGHT", 10 * 4000)
    made: list[weakref.ref[hl.Buffer]] = []
    for i in range(40):
        buffer = hl.Buffer(np.full((1, 1000), i, np.int32), "pixels")
        f = hl.Func("f")
        f[x, y] = buffer[x, y] + i % 3
        f.realize([100, 1])
        made.append(weakref.ref(buffer))
    assert sum([one() is not None for one in made]) <= 22


def test_programs_that_are_held_keep_their_frames() -> None:
    """The Buffer's name is gone, the Func stays."""
    held: list[tuple[int, hl.Func]] = []

    def use(pixels: Frame) -> None:
        held.append((int(pixels[0, 0]), mentioned(pixels)))
        defined(frame())
        del held[:-3]

    assert most_alive(use) <= program._MOST_WEIGHT // LARGE + 6
    for value, f in held:
        assert np.asarray(f.realize([2, 1])).tolist() == [[255 - value] * 2]


def test_frames_last_as_long_as_whatever_mentions_them() -> None:
    inner = mentioned(frame(1))
    outer = hl.Func("outer")
    outer[x, y] = inner[x, y] + 1
    pipeline = hl.Pipeline(mentioned(frame(2)))
    compiled = mentioned(frame(3)).compile_to_callable([])
    value = hl.Buffer(frame(4))[x, y] + 0
    image = hl.ImageParam(hl.UInt(8), 2)
    image.set(frame(5))
    recursive = mentioned(frame(6))
    recursive[x, y] += recursive[x, y]
    del inner
    for _ in range(FRAMES):
        defined(frame())
    for _ in range(2):
        sweep_cycles(young=True)
        sweep_cycles()
        gc.collect()
    got = np.empty((1, 2), np.uint8)
    outer.realize(got)
    assert got.tolist() == [[255] * 2]
    assert np.asarray(pipeline.realize([2, 1])).tolist() == [[253] * 2]
    compiled(got)
    assert got.tolist() == [[252] * 2]
    late = hl.Func("late")
    late[x, y] = value
    assert np.asarray(late.realize([2, 1])).tolist() == [[4] * 2]
    last = hl.Func("last")
    last[x, y] = image[x, y]
    assert np.asarray(last.realize([2, 1])).tolist() == [[5] * 2]
    assert np.asarray(recursive.realize([2, 1])).tolist() == [[249 * 2 % 256] * 2]


def test_a_buffer_serves_again_when_nothing_mentioned_it() -> None:
    """What stood for it may be left over, without its pixels."""
    buffer = hl.Buffer(frame(7))
    f = hl.Func("f")
    f[x, y] = buffer[x, y]
    gc.disable()
    try:
        before = buffer._symbol
        assert before is not None
        del f
        sweep_cycles()
        left = before()
        assert left is not None and SET.of(left) is None
        f = hl.Func("f")
        f[x, y] = buffer[x, y] + 1
        assert np.asarray(f.realize([2, 1])).tolist() == [[8, 8]]
    finally:
        gc.enable()


def test_nothing_is_looked_for_without_new_images(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[bool] = []
    monkeypatch.setattr(
        images, "sweep_cycles", lambda young=False: looked.append(young)
    )
    same = frame()
    for _ in range(FRAMES):
        defined(same)
        defined(same[1:])
    image = hl.ImageParam(hl.UInt(8), 2)
    for _ in range(FRAMES):
        image.set(frame())
    wide = np.broadcast_to(np.zeros(1, np.uint8), (1 << 14, 1 << 14))
    defined(wide)
    assert not looked


def test_the_young_are_told_from_the_old() -> None:
    old = mentioned(frame())
    sweep_cycles()
    before = node.table_size()
    new = mentioned(frame())
    del old, new
    sweep_cycles(young=True)
    assert node.table_size() == before
    sweep_cycles()
    assert node.table_size() < before


def test_threads_free_each_others_frames() -> None:
    errors: list[BaseException] = []
    made: list[weakref.ref[Frame]] = []

    def work(number: int) -> None:
        try:
            shared = hl.Buffer(frame(number))
            for i in range(FRAMES // 2):
                pixels = frame(i)
                made.append(weakref.ref(pixels))
                f = hl.Func("f")
                f[x, y] = hl.Buffer(pixels)[x, y] + shared[x, y]
                del pixels
                got = np.asarray(f.realize([2, 1]))
                assert got.tolist() == [[i + number] * 2]
                del f
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    alive = sum([one() is not None for one in made])
    assert alive <= 2 * program._MOST_WEIGHT // LARGE + 8


def test_threads_may_look_while_others_define(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked for at every image, nothing is taken that some thread still uses."""
    monkeypatch.setattr(program, "_MOST_WEIGHT", 1)
    SET.most = 0
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    errors: list[BaseException] = []
    shared = [hl.Buffer(np.full((8, 8), k, np.int32)) for k in range(3)]

    def work(number: int) -> None:
        kept: list[tuple[hl.Func, int]] = []
        try:
            for i in range(40):
                own = hl.Buffer(np.full((8, 8), 10 * i, np.int32))
                f, g = hl.Func("f"), hl.Func("g")
                f[x, y] = own[x, y] + shared[i % 3][x, y]
                g[x, y] = f[x, y] * 2
                if i % 4 == number:
                    f.compute_root()
                kept.append((g, 2 * (10 * i + i % 3)))
                del own, f, g
                g, wanted = kept[(7 * i + number) % len(kept)]
                assert np.asarray(g.realize([2, 1])).tolist() == [[wanted] * 2]
                del g, kept[:-5]
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors
