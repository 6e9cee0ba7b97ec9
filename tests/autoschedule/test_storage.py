"""Images whose channels lie side by side, as in arrays of shape (H, W, C)."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.calibration import DEFAULT, VARIABLE
from parhelion.autoschedule.machine.machine import Machine
from parhelion.autoschedule.model.throughput import (
    gathers,
    load_time,
    scatters,
    store_time,
)
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.pipeline.storage import storage_of
from parhelion.autoschedule.pipeline.work import Work
from parhelion.autoschedule.search.descent import Search
from parhelion.interp import interpret

x, y, c = hl.vars("x y c")
MACHINE = Machine(1, 64, 32, 32 << 10, 1 << 20, 32 << 20)
LANES = 16


def interleaved(channels: int = 3) -> tuple[hl.Func, hl.ImageParam]:
    """A pixel's neighbours averaged, from channels side by side to such channels."""
    image, out = hl.ImageParam(hl.Float(32), 3), hl.Func("out")
    out[x, y, c] = (image[x, y, c] + image[x + 1, y, c]) / 2
    for dims in (image, out.output_buffer()):
        dims.dim(0).set_stride(channels)
        dims.dim(2).set_stride(1)
        dims.dim(2).set_bounds(0, channels)
    return out, image


def work_of(f: hl.Func) -> Work:
    box = ((0, 639), (0, 479), (0, 2))
    sizes = Sizes({f._function: box}, {}, {})
    graph, _ = Search((f._function,), sizes, MACHINE).bounded()
    (stage,) = graph.stages[f._function]
    return Work(stage)


def test_the_order_in_memory_is_that_of_the_strides() -> None:
    out, image = interleaved(4)
    for source in (out._function, work_of(out).loads[0].source):
        storage = storage_of(source)
        assert storage.order == (2, 0, 1)
        assert dict(storage.strides) == {0: 4, 2: 1}
    plain = hl.Func()
    plain[x, y, c] = x + y + c
    assert storage_of(plain._function).order == (0, 1, 2)
    plain.reorder_storage(c, x, y)
    assert storage_of(plain._function).order == (2, 0, 1)
    assert dict(storage_of(plain._function).strides) == {2: 1}


def test_lanes_that_are_channels_apart_take_less_with_what_lies_between() -> None:
    work = work_of(interleaved()[0])
    stage, load = work.stage, work.loads[0]
    v, _, channel = stage.func.args
    assert not gathers(load, v, MACHINE)
    alone, together = {v: LANES}, {v: LANES, channel: 3}
    assert scatters(stage, v, alone)
    assert not scatters(stage, v, together)
    dense = work_of(interleaved(1)[0])
    for of, at in ((alone, 3.0), (together, 1.0)):
        one = load_time(load, MACHINE, v, LANES, of)
        assert one > at * load_time(dense.loads[0], MACHINE, v, LANES)
    apart = store_time(stage, 32, MACHINE, v, LANES, alone)
    filled = store_time(stage, 32, MACHINE, v, LANES, together)
    assert MACHINE.store < filled < apart / 3


def test_an_unknown_stride_is_gathered_and_scattered() -> None:
    out, image = interleaved()
    for dims in (image, out.output_buffer()):
        dims.dim(0).set_stride(hl.Expr())
    work = work_of(out)
    v = work.stage.func.args[0]
    assert gathers(work.loads[0], v, MACHINE)
    assert scatters(work.stage, v, dict.fromkeys(work.stage.func.args, 99))


@pytest.mark.parametrize("threads", [1, 2])
def test_channels_are_computed_together(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, DEFAULT)
    out, image = interleaved()
    hl.autoschedule(out, sizes=[640, 480, 3], parallelism=threads)
    (stage,) = out._function.stages()
    inner = [d.var.name for d in stage.schedule.dims[:2]]
    assert any(name.startswith("c") for name in inner), inner
    pixels = np.random.default_rng(1).random((5, 9, 3), np.float32)
    source = hl.Buffer(pixels, axes="yxc")
    image.set(source)
    (wanted,) = interpret(out._function, [(0, 8), (0, 5), (0, 3)])
    got = np.empty((5, 8, 3), np.float32)
    out.realize(hl.Buffer(got, axes="yxc"))
    np.testing.assert_array_equal(got, wanted.transpose(1, 0, 2))
