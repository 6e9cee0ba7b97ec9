"""The default scheduler: its schedules give right results, and its reasons hold."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.machine.machine import host
from parhelion.autoschedule.pipeline.sizes import Sizes
from parhelion.autoschedule.search.descent import Search
from parhelion.interp import interpret
from parhelion.ir.names import plain_name


def interpreted(f: hl.Func, size: Sequence[int]) -> np.ndarray:
    """What the algorithm means, in the order of axes that arrays of Buffers have."""
    (values,) = interpret(f._function, [(0, e) for e in size])
    return values.T


def stencils() -> tuple[hl.Func, hl.Func, np.ndarray]:
    """Two passes of a blur over an image without a boundary."""
    x, y = hl.Var("x"), hl.Var("y")
    image = np.random.default_rng(1).integers(0, 255, (130, 290)).astype(np.uint16)
    source = hl.Buffer(image)
    first, second = hl.Func("first"), hl.Func("second")
    first[x, y] = (source[x, y] + source[x + 1, y] + source[x + 2, y]) / 3
    second[x, y] = (first[x, y] + first[x, y + 1] + first[x, y + 2]) / 3
    return first, second, image


def product() -> tuple[hl.Func, hl.Func]:
    """A matrix product with a Func that takes it on."""
    x, y = hl.Var("x"), hl.Var("y")
    rng = np.random.default_rng(2)
    a = hl.Buffer(rng.random((70, 90), np.float32))
    b = hl.Buffer(rng.random((90, 150), np.float32))
    r = hl.RDom([(0, 90)])
    prod, out = hl.Func("prod"), hl.Func("out")
    prod[x, y] += a[r.x, y] * b[x, r.x]
    out[x, y] = prod[x, y] + 1.0
    return prod, out


@pytest.mark.parametrize("size", [(288, 128), (37, 21), (1, 1), (64, 3)])
def test_stencils_at_other_sizes_than_they_were_scheduled_for(
    size: tuple[int, int],
) -> None:
    _, out, _ = stencils()
    wanted = interpreted(out, size)
    hl.autoschedule(out, [288, 128])
    assert np.array_equal(np.asarray(out.realize(list(size))), wanted)


def test_a_matrix_product_is_computed_in_blocks_of_registers() -> None:
    prod, out = product()
    wanted = interpreted(out, (150, 70))
    result = hl.autoschedule(out, [150, 70])
    got = np.asarray(out.realize([150, 70]))
    np.testing.assert_allclose(got, wanted, rtol=1e-5)
    calls = [c.method for c in result.script.calls if c.function is prod._function]
    assert "unroll" in calls and "vectorize" in calls and "compute_at" in calls


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [768, 1024, 2048])
def test_a_copy_serves_all_tiles_that_want_the_same(n: int, threads: int) -> None:
    """Columns of a large matrix are copied, once for each place in B, whatever the
    number of tiles that go down C there."""
    x, y = hl.Var("x"), hl.Var("y")
    a, b = (hl.ImageParam(hl.Float(32), 2, name) for name in "ab")
    r = hl.RDom([(0, n)])
    prod, out = hl.Func("prod"), hl.Func("out")
    prod[x, y] = 0.0
    prod[x, y] += a[r.x, y] * b[x, r.x]
    out[x, y] = prod[x, y]
    for image in (a, b):
        image.set(np.ones((n, n), np.float32))
    result = hl.autoschedule(out, [n, n], parallelism=threads)
    text = result.to_python()
    assert "b_wrapper = b.in_(prod)" in text
    # A last tile may be narrower than a vector: an image has nothing beside it.
    (vectors,) = [c for c in text.split("b_wrapper.")[1:] if "compute_at" in c]
    assert "hl.TailStrategy.GuardWithIf" in vectors.split("\n\n")[0]
    (copy,) = [f for f in out.report([n, n]).funcs if f.name.startswith("b")]
    assert copy.recomputed == 1
    assert np.asarray(out.realize([64, 6]))[0, 0] == n


def test_a_look_up_table_is_not_computed_for_each_pixel() -> None:
    x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")
    image = hl.Buffer(np.zeros((600, 800), np.uint8))
    table, out = hl.Func("table"), hl.Func("out")
    table[i] = hl.pow(hl.f32(i) / 255.0, 0.45) + hl.sin(hl.f32(i)) * hl.exp(hl.f32(i))
    out[x, y] = table[hl.i32(image[x, y])] * 2.0
    result = hl.autoschedule(out, [800, 600])
    placed = {d.func: d.chosen.label for d in result.explain() if d.kind == "place"}
    assert placed["table"] != "inline"


def test_each_alternative_can_be_applied_and_costs_what_was_said() -> None:
    _, out, image = stencils()
    wanted = interpreted(out, (200, 100))
    result = hl.autoschedule(out, [200, 100])
    tried = 0
    for decision in result.explain():
        for option in decision.options:
            if option is decision.chosen:
                continue
            other = result.alternative(decision, option)
            other.apply()
            assert np.array_equal(np.asarray(out.realize([200, 100])), wanted)
            assert other.cost == pytest.approx(option.cost)
            tried += 1
    assert tried
    result.apply()


def test_the_search_gives_the_same_schedule_again() -> None:
    texts = []
    for _ in range(2):
        _, out, _ = stencils()
        texts.append(hl.autoschedule(out, [288, 128]).to_python())
    assert texts[0] == texts[1]


def test_the_search_looks_at_the_same_groups_wherever_funcs_lie_in_memory() -> None:
    """Sets of Funcs are ordered by their addresses, which must not decide anything."""
    looked = set()
    for _ in range(6):
        x = hl.Var("x")
        steps = [hl.Func("first")]
        steps[0][x] = hl.sin(hl.f32(x))
        for k in range(8):
            step = hl.Func(f"step{k}")
            step[x] = steps[-1][x] + k
            steps.append(step)
        out = steps[-1]._function
        sizes = Sizes({out: ((0, 9999),)}, {}, {})
        search = Search((out,), sizes, host(2))
        state = search.run()
        looked.add(tuple([plain_name(f.name) for f in state.model.graph.everything]))
    assert len(looked) == 1


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "name", ["unsharp", "harris", "hist", "nl_means", "conv_layer"]
)
def test_applications(name: str, threads: int) -> None:
    """At the sizes of the benchmarks' schedules, run on something small."""
    cases = {c.name: c for c in importlib.import_module("benchmarks.cases").all_cases()}
    case = cases[name]
    app = case.algorithm(hl)
    sizes = [list(o.size) for o in case.outputs]
    case.bind(hl, app, case.inputs())
    small = [min(e, 40 + 8 * d) for d, e in enumerate(sizes[0])]
    plain = np.asarray(reference(case, small))
    hl.autoschedule(app.output, sizes[0], parallelism=threads)
    got = np.asarray(app.output.realize(small))
    np.testing.assert_allclose(
        got.astype(np.float64), plain.astype(np.float64), rtol=2e-4, atol=2e-5
    )


def reference(case: object, size: list[int]) -> hl.Buffer:
    """The result under the case's own schedule for simple code: all at root."""
    app = case.algorithm(hl)  # type: ignore[attr-defined]
    case.bind(hl, app, case.inputs())  # type: ignore[attr-defined]
    for f in app.funcs.values():
        if isinstance(f, hl.Func):
            f.compute_root()
    found = app.output.realize(size)
    assert isinstance(found, hl.Buffer)
    return found


def test_what_would_be_gathered_and_scattered_byte_by_byte_is_no_vector() -> None:
    """Histograms of rows: vectors across rows would look up each lane by itself."""
    y, i = hl.Var("y"), hl.Var("i")
    rng = np.random.default_rng(3)
    image = hl.Buffer(rng.integers(0, 255, (64, 512)).astype(np.uint8))
    r = hl.RDom([(0, 512)])
    counts = hl.Func("counts")
    counts[i, y] = 0
    counts[hl.i32(image[r.x, y] / 2 + image[r.x, y] / 4), y] += 1
    wanted = interpreted(counts, (256, 64))
    result = hl.autoschedule(counts, [256, 64], parallelism=2)
    update = [c.method for c in result.script.calls if c.stage == 1]
    assert "vectorize" not in update and "parallel" in update
    assert np.array_equal(np.asarray(counts.realize([256, 64])), wanted)
