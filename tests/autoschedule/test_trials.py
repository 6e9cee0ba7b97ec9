"""``measure=N``: candidates that are run, and the fastest kept."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule import trials
from parhelion.interp import interpret_all
from parhelion.lang.runner import Runner

x, y = hl.Var("x"), hl.Var("y")


def pipeline() -> tuple[hl.ImageParam, hl.Param, hl.Func]:
    picture, gain = hl.ImageParam(hl.Float(32), 2, "picture"), hl.Param(hl.Int(32), "n")
    first, second, out = hl.funcs("first second out")
    first[x, y] = hl.sqrt(picture[x, y]) + picture[x + 1, y]
    second[x, y] = hl.sqrt(first[x, y]) + first[x, y + 1]
    out[x, y] = second[x, y] * second[x + 1, y] + second[x, y + 1] * gain
    return picture, gain, out


def test_the_fastest_of_the_candidates_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, gain, out = pipeline()
    first = hl.autoschedule(out, [120, 80]).to_python()
    assert "measured" not in " ".join(hl.autoschedule(out, [120, 80]).notes)
    picture, gain, out = pipeline()
    ran: list[list[tuple[int, ...]]] = []

    def seconds(runner: Runner, outputs: list[hl.Buffer]) -> float:
        runner.run(runner.inputs(), outputs)
        ran.append([np.asarray(b).shape for b in outputs])
        return (3e-3, 1e-3, 2e-3, 4e-3)[len(ran) - 1]

    monkeypatch.setattr(trials, "_seconds", seconds)
    result = hl.autoschedule(out, [120, 80], measure=3, parallelism=1)
    assert ran == [[(80, 120)]] * 4
    (note,) = result.notes
    assert note == (
        "measured, by predicted cost: 3 ms, 1 ms, 2 ms; with less in them: 4 ms;"
        " number 2 was the fastest"
    )
    assert result.to_python().split("\n")[1:] != first.split("\n")[1:]
    # Nothing stays set.
    assert not picture.get().defined()
    pixels = np.random.default_rng(3).random((40, 50), np.float32)
    picture.set(pixels)
    gain.set(3)
    got = np.asarray(out.realize([47, 37])).T
    (wanted,) = interpret_all([(out._function, [(0, 47), (0, 37)])])[0]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_one_func_alone_is_tried_in_other_tiles() -> None:
    """It has no other place, but there are other tiles, blocks and vectors."""
    picture, out = hl.ImageParam(hl.Float(32), 2, "picture"), hl.Func("down")
    out[x, y] = picture[x, y] + picture[x, y + 1] + picture[x, y + 2]
    result = hl.autoschedule(out, [1024, 1024], measure=3, parallelism=1)
    note = result.notes[-1]
    assert note.startswith("measured, by predicted cost: ")
    predicted, _, less = note.partition("; with less in them: ")
    assert predicted.count(" ms") + predicted.count(" us") == 3
    assert less
    pixels = np.random.default_rng(3).random((66, 64), np.float32)
    picture.set(pixels)
    wanted = pixels[:-2] + pixels[1:-1] + pixels[2:]
    np.testing.assert_allclose(np.asarray(out.realize([64, 64])), wanted, rtol=1e-6)


def test_it_runs_on_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    picture, gain, out = pipeline()
    pixels = hl.Buffer(np.full((90, 130), 4, np.float32))
    kept = np.zeros((80, 120), np.float32)
    seen: list[tuple[object, object]] = []

    def seconds(runner: Runner, outputs: list[hl.Buffer]) -> float:
        seen.append((runner.bindings.of(picture._sym), runner.bindings.of(gain._sym)))
        assert not picture.get().defined() and gain.get() is None
        runner.run(runner.inputs(), outputs)
        assert np.asarray(outputs[0])[0, 0] != 0
        return 1.0

    monkeypatch.setattr(trials, "_seconds", seconds)
    hl.autoschedule(out, pixels, 2, kept, measure=2, parallelism=1)
    # Two by their cost, and the first of them without parallel loops.
    assert len(seen) == 3
    assert all(got is pixels and n == 2 for got, n in seen)
    assert not kept.any()


def test_images_are_laid_out_as_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interleaved ones, and values that are in the range of their Param."""
    c = hl.Var("c")
    picture, made, out = hl.ImageParam(hl.UInt(8), 3, "picture"), *hl.funcs("made out")
    least = hl.Param(hl.Int(32), "least")
    least.set_min_value(7)
    made[x, y, c] = hl.sqrt(hl.f32(picture[x, y, c])) + hl.sqrt(hl.f32(x + y))
    out[x, y, c] = hl.u8(made[x, y, c] + made[x, y + 1, c]) + hl.u8(least)
    for of in (picture, out.output_buffer()):
        of.dim(0).set_stride(3)
        of.dim(2).set_stride(1)
    picture.set_estimates([(0, 64), (0, 49), (0, 3)])
    values: list[object] = []

    def seconds(runner: Runner, outputs: list[hl.Buffer]) -> float:
        runner.run(runner.inputs(), outputs)
        values.append(runner.bindings.of(least._sym))
        return 1e-3

    monkeypatch.setattr(trials, "_seconds", seconds)
    result = hl.autoschedule(out, [64, 48, 3], measure=2, parallelism=1)
    assert values == [7] * len(values) and len(values) >= 3
    (note,) = result.notes
    assert note.startswith("measured, by predicted cost: 1 ms, 1 ms; ")


def test_what_cannot_be_run_is_told_once() -> None:
    picture, _, out = pipeline()
    plain = hl.autoschedule(out, [120, 80], inputs={"n": 3})
    picture.dim(1).set_stride(5)  # less than a row
    picture.set_estimates([(0, 130), (0, 90)])
    wanted = plain.script.calls
    plain.undo()
    result = hl.autoschedule(out, [120, 80], inputs={"n": 3}, measure=3)
    (note,) = result.notes
    start = "no candidate could be run ("
    assert note.startswith(start) and "measured" not in note
    assert note.count("picture") == 1
    assert result.script.calls == wanted
