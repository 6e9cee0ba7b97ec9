"""Streams of frames against the same pipeline on the whole video in one array."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl

x, y, c, t = hl.vars("x y c t")
SHAPE = (9, 6, 10, 3)


def video(dtype: Any = np.uint8, frames: int = SHAPE[0]) -> Any:
    made = np.random.default_rng(1).integers(0, 255, (frames, *SHAPE[1:]))
    return made.astype(dtype)


def whole(f: hl.Func, image: hl.ImageParam, frames: Any) -> Any:
    """The Func on all frames at once."""
    planar = np.ascontiguousarray(frames.transpose(0, 3, 1, 2))
    image.set(planar)
    n, height, width, channels = frames.shape
    found = np.asarray(f.realize([width, height, channels, n]))
    image.reset()
    return found.transpose(0, 2, 3, 1)


def filtered(border: str, root: bool = False) -> tuple[hl.Func, hl.ImageParam]:
    """A blur of each frame, and the largest of some frames of it."""
    image = hl.ImageParam(hl.UInt(8), 4, "video")
    if border == "constant_exterior":
        edge = hl.BoundaryConditions.constant_exterior(image, hl.u8(7))
    else:
        edge = getattr(hl.BoundaryConditions, border)(image)
    blur, out = hl.Func("blur"), hl.Func("out")
    blur[x, y, c, t] = hl.u16(edge[x - 1, y, c, t]) + edge[x + 1, y, c, t]
    r = hl.RDom([(-2, 4)])
    out[x, y, c, t] = hl.u8(hl.maximum(blur[x, y, c, t + r]) / 2)
    if root:
        blur.compute_root().vectorize(x, 8)
        out.vectorize(x, 8, hl.TailStrategy.GuardWithIf).parallel(y)
    return out, image


BORDERS = ("repeat_edge", "mirror_image", "mirror_interior", "constant_exterior")


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("queue", [0, 1, 3])
def test_a_stream_is_the_whole_video(border: str, queue: int) -> None:
    out, image = filtered(border, root=queue == 1)
    frames = video()
    with hl.stream(out, frames, time="t", queue=queue) as made:
        found = np.stack(list(made))
    assert np.array_equal(found, whole(out, image, frames))
    # Frames -2 to T are read, each of which is computed once.
    assert made.counters.computed == {"blur": len(frames) + 3}
    assert made.counters.frames_in == made.counters.frames_out == len(frames)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_videos_shorter_than_the_window(frames: int) -> None:
    out, image = filtered("repeat_edge")
    given = video(frames=frames)
    found = np.stack(list(hl.stream(out, given, time="t")))
    assert np.array_equal(found, whole(out, image, given))


def test_a_video_without_frames() -> None:
    out, _ = filtered("repeat_edge")
    assert list(hl.stream(out, [], time="t")) == []


def test_several_outputs_and_values() -> None:
    image = hl.ImageParam(hl.Int(32), 3, "video")
    edge = hl.BoundaryConditions.repeat_edge(image)
    pair, a, b = hl.funcs("pair a b")
    pair[x, y, t] = edge[x, y, t] + edge[x + 1, y, t], edge[x, y, t - 1] * 2
    a[x, y, t] = pair[x, y, t - 1][0] + pair[x, y, t + 2][1]
    b[x, y, t] = a[x, y, t] * 2 + pair[x, y, t][0]
    frames = video(np.int32)[..., 0].copy()
    both = hl.Pipeline([a, b])
    made = hl.stream(both, frames, time="t")
    found = list(made)
    assert made.counters.computed == {"pair": len(frames) + 3}
    image.set(frames)
    wanted = both.realize([frames.shape[2], frames.shape[1], len(frames)])
    assert isinstance(wanted, tuple)
    for n, one in enumerate(wanted):
        assert np.array_equal(np.stack([f[n] for f in found]), np.asarray(one))


def test_time_is_any_dimension() -> None:
    image = hl.ImageParam(hl.Int(32), 3, "video")
    edge = hl.BoundaryConditions.repeat_edge(image)
    f = hl.Func("f")
    f[t, x, y] = edge[t - 1, x, y] + edge[t + 1, x + 1, y]
    frames = video(np.int32)[..., 0].copy()
    found = np.stack(list(hl.stream(f, frames, time="t")))
    image.set(frames.transpose(1, 2, 0).copy())
    wanted = np.asarray(f.realize([len(frames), frames.shape[2], frames.shape[1]]))
    assert np.array_equal(found, wanted.transpose(2, 0, 1))


def test_functions_of_arrays() -> None:
    @hl.jit
    def changed(video: hl.Array, gain: int = 2) -> hl.Array:
        wide = video.astype(np.uint16)
        return (wide[1:] * gain + wide[:-1]).astype(np.uint8)

    frames = video()
    found = list(hl.stream(changed, frames, time="t", gain=3))
    assert np.array_equal(np.stack(found), changed(frames, 3))


def test_functions_of_one_frame() -> None:
    @hl.jit
    def split(frame: hl.Array) -> tuple[hl.Array, hl.Array]:
        return 255 - frame, frame[:, ::2]

    frames = video()
    found = list(hl.stream(split, frames))
    for (inverse, half), frame in zip(found, frames, strict=True):
        assert np.array_equal(inverse, 255 - frame)
        assert np.array_equal(half, frame[:, ::2])
    plain = list(hl.stream(lambda frame: frame + 1, frames))
    assert np.array_equal(np.stack(plain), frames + 1)


def test_params_change_between_frames() -> None:
    image = hl.ImageParam(hl.UInt(8), 3)
    gain = hl.Param(hl.UInt(8), value=1)
    f = hl.Func()
    f[x, y, c] = image[x, y, c] * gain
    frames = np.ones((4, 2, 3, 3), np.uint8)
    made = hl.stream(f, frames, queue=0)
    found = []
    for n, frame in enumerate(made):
        found.append(int(frame[0, 0, 0]))
        gain.set(n + 5)
    assert found == [1, 5, 6, 7]

    @hl.jit
    def times(frames: hl.Array, gain: int) -> hl.Array:
        return frames[1:] * gain

    made = hl.stream(times, frames, time="t", queue=0, gain=2)
    first = next(made)
    made.set(gain=9)
    assert (int(first[0, 0, 0]), int(next(made)[0, 0, 0])) == (2, 9)
    with pytest.raises(hl.TypeMismatchError, match="another program"):
        made.set(gain=1.5)


def test_the_source_waits_for_the_consumer() -> None:
    taken = []

    def source() -> Iterator[Any]:
        for n in itertools.count():
            taken.append(n)
            yield np.full((4, 4), n, np.uint8)

    out = hl.stream(lambda frame: frame, source(), queue=3)
    for n in range(3):
        assert int(next(out)[0, 0]) == n
        time.sleep(0.05)
        assert len(taken) <= n + 1 + 3
    out.close()
    assert out.counters.in_flight <= 4
    assert not _threads()


def test_a_source_may_use_one_array_for_all() -> None:
    def source() -> Iterator[Any]:
        frame = np.empty((4, 4), np.uint8)
        for n in range(6):
            frame[...] = n
            yield frame

    found = [int(frame[0, 0]) for frame in hl.stream(hl.jit(lambda a: a + 1), source())]
    assert found == [1, 2, 3, 4, 5, 6]


def test_several_streams_at_once() -> None:
    out, image = filtered("repeat_edge")
    frames = [video(), video()[::-1].copy()]
    both = [hl.stream(out, one, time="t") for one in frames]
    pairs = list(zip(*both, strict=True))
    for n, one in enumerate(frames):
        found = np.stack([pair[n] for pair in pairs])
        assert np.array_equal(found, whole(out, image, one))


def _threads() -> list[str]:
    return [a.name for a in threading.enumerate() if a.name.startswith("hl.stream")]


@pytest.mark.parametrize("queue", [0, 2])
def test_what_the_source_raises_comes_after_the_frames_before_it(queue: int) -> None:
    def source() -> Iterator[Any]:
        yield from video()[:5]
        raise OSError("the camera is gone")

    out, image = filtered("repeat_edge")
    found: list[Any] = []
    made = hl.stream(out, source(), time="t", queue=queue)
    with pytest.raises(OSError, match="the camera is gone"):
        for frame in made:
            found.append(frame)
    # The last of them would read a frame more.
    assert np.array_equal(np.stack(found), whole(out, image, video())[:4])
    assert not _threads()
    assert list(made) == []


def test_nothing_runs_after_the_consumer_has_left() -> None:
    out, _ = filtered("repeat_edge")
    for _ in hl.stream(out, itertools.cycle(video()), time="t"):
        break
    assert not _threads()
    with pytest.raises(KeyboardInterrupt):
        for _ in hl.stream(out, itertools.cycle(video()), time="t"):
            raise KeyboardInterrupt
    made = hl.stream(out, itertools.cycle(video()), time="t")
    next(made)
    made.close()
    made.close()
    assert not _threads() and list(made) == []


def test_frames_of_another_size_or_type() -> None:
    frames = [np.zeros((4, 4), np.uint8)] * 3
    double = hl.jit(lambda a: a * 2)
    with pytest.raises(hl.BoundsError, match=r"frame 3 .* shape \(4, 5\)"):
        list(hl.stream(double, [*frames, np.zeros((4, 5), np.uint8)]))
    with pytest.raises(hl.TypeMismatchError, match="frame 3 .* is float32"):
        list(hl.stream(double, [*frames, np.zeros((4, 4), np.float32)]))
    out, _ = filtered("repeat_edge")
    with pytest.raises(hl.TypeMismatchError, match="'video.*' is of type uint8"):
        list(hl.stream(out, video(np.float32), time="t"))
    with pytest.raises(hl.TypeMismatchError, match="has 3 axes, yxc"):
        list(hl.stream(out, frames, time="t"))
    with pytest.raises(hl.TypeMismatchError, match="a frame of a stream is an array"):
        list(hl.stream(double, ["frame"]))
    assert not _threads()


def test_what_cannot_be_a_stream() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "signal")
    ahead, wrapped, summed, folded = hl.funcs("ahead wrapped summed folded")
    ahead[x, t] = image[x, t + 1]
    frames = np.zeros((9, 4), np.uint8)
    with pytest.raises(hl.BoundsError, match="output frame 8 reads frame 9"):
        list(hl.stream(ahead, frames, time="t"))
    around = hl.BoundaryConditions.repeat_image(image)
    wrapped[x, t] = around[x, t - 1]
    many = np.zeros((99, 4), np.uint8)
    with pytest.raises(hl.BoundsError, match="at most 16 are kept"):
        list(hl.stream(wrapped, many, time="t", window=16))
    r = hl.RDom([(0, image.dim(1).extent())])
    summed[x, t] = hl.u8(0)
    summed[x, t] += image[x, r]
    with pytest.raises(hl.DefinitionError, match="over all frames"):
        hl.stream(summed, frames, time="t")
    s = hl.RDom([(1, 8)])
    folded[x, t] = image[x, t]
    folded[x, s] += folded[x, s - 1]
    with pytest.raises(hl.DefinitionError, match="updated along time"):
        hl.stream(folded, frames, time="t")
    moved, by = hl.Func("moved"), hl.Param(hl.Int(32), value=1)
    still = hl.BoundaryConditions.repeat_edge(image)
    moved[x, t] = still[x, t + by]
    with pytest.raises(hl.BoundsError, match="reads all frames of signal"):
        list(hl.stream(moved, frames, time="t"))
    later, base = hl.funcs("later base")
    base[x, t] = image[x, t]
    later[x, t] = base[x, t - 1]
    with pytest.raises(hl.DefinitionError, match="reads the output 'base"):
        list(hl.stream(hl.Pipeline([base, later]), frames, time="t"))
    with pytest.raises(hl.DefinitionError, match="no dimension 'time'"):
        hl.stream(ahead, frames, time="time")
    with pytest.raises(hl.TypeMismatchError, match="not the name of a file"):
        hl.stream(ahead, "film.mp4", time="t")
    with pytest.raises(hl.BoundsError, match="queue= is a number of frames"):
        hl.stream(ahead, frames, time="t", queue=-1)
    with pytest.raises(hl.TypeMismatchError, match="takes a function under hl.jit"):
        hl.stream(len, frames, time="t")
