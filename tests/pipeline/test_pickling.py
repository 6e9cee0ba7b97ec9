"""Funcs, Pipelines, Callables and functions of arrays go to other processes."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
import threading
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.interp import interpret
from tests.pipeline import pickled_jit

Array = np.ndarray[Any, np.dtype[Any]]
x, y, xi, yi = hl.vars("x y xi yi")
PIXELS = np.arange(40, dtype=np.int32).reshape(5, 8)
TABLE = np.arange(8, dtype=np.int32) * 1000


class Both:
    """A producer and a consumer with schedules, of an ImageParam that is set, a Param
    and a Buffer, with a reduction and a branch."""

    def __init__(self) -> None:
        self.image = hl.ImageParam(hl.Int(32), 2, "image")
        self.gain = hl.Param(hl.Int(32), "gain", 3)
        table = hl.Buffer(TABLE, "table")
        self.f, self.out = hl.Func("f"), hl.Func("out")
        r = hl.RDom([(0, 3)], "r")
        self.f[x, y] = self.image[x, y] * self.gain + table[x]
        self.out[x, y] = 0
        self.out[x, y] += self.f[x + r, y]
        self.image.dim(0).set_min(0)
        self.f.compute_at(self.out, y).vectorize(x, 4)
        self.out.update().parallel(y)
        self.out.specialize(self.gain > 2)
        self.image.set(PIXELS)

    def wanted(self, gain: int = 3, pixels: Array = PIXELS) -> Array:
        f = pixels * gain + TABLE
        whole: Array = f[:, :6] + f[:, 1:7] + f[:, 2:8]
        return whole


def realized(f: hl.Func | hl.Pipeline) -> Array:
    """Runs in another process, too."""
    made = f.realize([6, 5])
    assert isinstance(made, hl.Buffer)
    return np.asarray(made).copy()


def called(c: hl.Callable, pixels: Array, gain: int) -> Array:
    out = np.zeros((5, 6), np.int32)
    assert c(pixels, gain, out) == 0
    return out


def again(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))


@pytest.fixture(scope="module")
def pool() -> Any:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as made:
        yield made


def test_another_process_computes_the_same(pool: Any) -> None:
    both = Both()
    made = both.out.compile_to_callable([both.image, both.gain])
    assert np.array_equal(pool.submit(realized, both.out).result(), both.wanted())
    pipeline = hl.Pipeline(both.out)
    assert np.array_equal(pool.submit(realized, pipeline).result(), both.wanted())
    other = PIXELS[::-1].copy()
    found = pool.submit(called, made, other, 5).result()
    assert np.array_equal(found, both.wanted(5, other))


def nest(f: hl.Func, capsys: pytest.CaptureFixture[str]) -> str:
    """The loops of a schedule, without the numbers that make names unique."""
    f.print_loop_nest()
    return re.sub(r"\$\d+", "", capsys.readouterr().out)


def test_a_func_comes_back_with_its_schedule(
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = Both()
    made = again(both.out)
    assert np.array_equal(realized(made), both.wanted())
    assert nest(made, capsys) == nest(both.out, capsys)
    assert "parallel y" in nest(made, capsys)
    assert hl.Pipeline(made).get_func(0)._function is not both.f._function


def test_what_comes_back_is_apart() -> None:
    both = Both()
    made = again(hl.Pipeline(both.out))
    image = made.get_image(0)
    assert image.name() != both.image.name() and image.dim(0).min() is not None
    image.set(PIXELS * 2)
    assert np.array_equal(realized(made), both.wanted(pixels=PIXELS * 2))
    assert np.array_equal(realized(both.out), both.wanted())
    both.gain.set(7)
    assert np.array_equal(realized(made), both.wanted(pixels=PIXELS * 2))
    # Both in one pipeline: no name means two things.
    difference = hl.Func("difference")
    other = again(both.f)
    both.f.compute_root()
    other.compute_root()
    difference[x, y] = both.f[x, y] - other[x, y]
    assert not realized(difference).any()


def test_directives_can_be_given_to_what_comes_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = Both()
    before = nest(both.out, capsys)
    made = again(both.out)
    inner = hl.Pipeline(made).get_func(0)
    inner.compute_root().vectorize(y, 2)
    made.tile(x, y, xi, yi, 3, 5)
    assert np.array_equal(realized(made), both.wanted())
    assert "yi in [0, 4]" in nest(made, capsys) and nest(both.out, capsys) == before


def test_promises_estimates_and_requirements_come_back() -> None:
    both = Both()
    both.image.dim(1).set_bounds(0, 5).set_stride(8)
    both.out.set_estimates([(0, 6), (0, 5)])
    pipeline = hl.Pipeline(both.out)
    pipeline.add_requirement(both.gain < 9, "the gain is too large")
    made = again(again(pipeline))
    assert np.array_equal(realized(made), both.wanted())
    made.get_image(0).set(np.zeros((6, 8), np.int32))
    with pytest.raises(hl.HalideError, match="extent of image"):
        realized(made)
    both.gain.set(9)
    with pytest.raises(hl.PipelineRuntimeError, match="the gain is too large"):
        realized(again(pipeline))


def test_outputs_of_several_values_and_several_outputs() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = hl.Tuple(x, hl.f32(x) / 2)
    g[x] = f[x][0] + 1
    a, b, c = again(hl.Pipeline([f, g])).realize([4])
    assert [list(v) for v in (a, b, c)] == [
        [0, 1, 2, 3],
        [0, 0.5, 1, 1.5],
        [1, 2, 3, 4],
    ]
    assert not again(hl.Pipeline()).defined()


def test_copies() -> None:
    both = Both()
    assert copy.copy(both.out)._function is both.out._function
    pipeline = hl.Pipeline(both.out)
    assert np.array_equal(realized(copy.copy(pipeline)), both.wanted())
    deep = copy.deepcopy(both.out)
    assert deep._function is not both.out._function
    assert np.array_equal(realized(deep), both.wanted())


def test_callables_keep_names_and_do_not_take_images_along() -> None:
    both = Both()
    made = both.out.compile_to_callable([both.image, both.gain])
    small = len(pickle.dumps(made))
    both.image.set(np.zeros((500, 500), np.int32))
    assert abs(len(pickle.dumps(made)) - small) < 100
    other = again(made)
    out = np.zeros((5, 6), np.int32)
    other(**{both.image.name(): PIXELS, both.gain.name(): 4, both.out.name(): out})
    assert np.array_equal(out, both.wanted(4))
    with pytest.raises(hl.TypeMismatchError, match="is missing"):
        other(PIXELS)


def test_what_cannot_be_pickled_says_so() -> None:
    with pytest.raises(hl.DefinitionError, match="'g.*' is not defined"):
        pickle.dumps(hl.Func("g"))
    foreign = hl.Func("foreign")
    foreign.define_extern(lambda out: out.fill(1), [], hl.Int(32), 1)
    with pytest.raises(hl.HalideError, match="foreign code computes foreign") as far:
        pickle.dumps(foreign)
    assert "make the pipeline in the other process" in str(far.value)
    both = Both()
    made = both.out.compile_to_callable([both.image, both.gain])
    both.f.compute_root()
    with pytest.raises(hl.HalideError, match="was changed after compile_to_callable"):
        pickle.dumps(made)
    assert np.array_equal(called(made, PIXELS, 3), both.wanted())
    local = hl.jit(lambda image: image + 1)
    with pytest.raises(hl.HalideError, match="is not found as") as caught:
        pickle.dumps(local)
    assert "top of a module" in str(caught.value)
    module = both.out.compile_to_module([both.image, both.gain], "both")
    with pytest.raises(hl.TypeMismatchError, match="a Module does not pickle"):
        pickle.dumps(module)


@pytest.mark.parametrize(
    "what",
    [
        x,
        x + 1,
        hl.RDom([(0, 3)]),
        hl.Param(hl.Int(32)),
        hl.ImageParam(hl.UInt(8), 1),
        hl.Array(np.ones(3)),
    ],
    ids=lambda what: type(what).__name__,
)
def test_parts_of_a_pipeline_do_not_pickle_by_themselves(what: object) -> None:
    """Nor does what holds one of them; the error ends at the user's line."""
    with pytest.raises(hl.TypeMismatchError, match="does not pickle by itself") as far:
        pickle.dumps({"mine": what})
    assert "pickle the Func or the Pipeline" in str(far.value)
    assert [entry.name for entry in far.traceback] == [
        "test_parts_of_a_pipeline_do_not_pickle_by_themselves"
    ]


def test_functions_of_arrays_pickle_by_name(pool: Any) -> None:
    assert again(pickled_jit.halved) is pickled_jit.halved
    assert copy.deepcopy(pickled_jit.halved) is pickled_jit.halved
    assert pool.submit(pickled_jit.of_array, [4, 9]).result() == [2, 4]
    found = pool.submit(pickled_jit.halved, np.array([8], np.int32)).result()
    assert found.tolist() == [4]


def test_threads_pickle_what_others_run() -> None:
    both = Both()
    realized(both.out)
    wrong: list[object] = []

    def work(k: int) -> None:
        for _ in range(3):
            made = again(both.out) if k % 2 else both.out
            if not np.array_equal(realized(made), both.wanted()):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_a_long_chain_is_not_deep() -> None:
    f = hl.Func("long")
    e: Any = x
    for k in range(4000):
        e = e * 3 + k
    f[x] = e
    assert list(again(f).realize([4])) == list(f.realize([4]))  # type: ignore[arg-type]


def test_points_that_a_domain_leaves_out_stay_out() -> None:
    r = hl.RDom([(-1, 3), (0, 4)], "r")
    r.where(r.x <= r.y)
    f = hl.Func("f")
    f[x] = 0
    f[x] += x + r.x
    f.update().reorder(x, r.x, r.y).vectorize(x, 4)
    wanted = np.asarray(f.realize([6]))
    assert wanted[0] == -1
    (read,) = hl.deserialize_pipeline(
        hl.serialize_pipeline(hl.Pipeline(f)), {}
    ).outputs()
    for other in (pickle.loads(pickle.dumps(f)), read):
        assert np.array_equal(np.asarray(other.realize([6])), wanted)
        (defined,) = interpret(other._function, [(0, 6)])
        assert np.array_equal(defined, wanted)
        part = other.update().rfactor(other.rvars()[1], y)
        part.compute_root()
        assert np.array_equal(np.asarray(other.realize([6])), wanted)
        twice = pickle.loads(pickle.dumps(other))
        assert np.array_equal(twice.realize([6]), wanted)


@pytest.mark.parametrize("times", [1, 2])
def test_points_that_an_rdom_leaves_out(times: int) -> None:
    """A predicate over RVars, over a Var too, and of values of another Func."""
    image = hl.ImageParam(hl.Int(32), 1, "image")
    image.set(np.arange(130, dtype=np.int32))
    r = hl.RDom([(0, 4), (0, 40)])
    r.where(r.x * 40 + r.y < 130)
    plain, rows, few, weight = hl.funcs("plain rows few weight")
    at = hl.clamp(r.x * 40 + r.y, 0, 129)
    plain[x] = 0
    plain[x] += image[at] * (x + 1)
    one = hl.RDom([(0, 40)])
    one.where(hl.likely(y * 40 + one < 130))
    rows[x, y] = 0
    rows[x, y] += image[hl.clamp(y * 40 + one, 0, 129)] * (x + 1)
    weight[x] = x % 3
    weight.compute_root()
    some = hl.RDom([(0, 130)])
    some.where(weight[some] == 1)
    few[x] = 0
    few[x] += image[some] * x
    for f, shape in ((plain, [3]), (rows, [3, 4]), (few, [3])):
        made = f
        for _ in range(times):
            made = pickle.loads(pickle.dumps(made))
        whole = f.realize(shape)
        assert isinstance(whole, hl.Buffer)
        found = made.realize(shape)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(whole))
        point = tuple([n - 1 for n in shape])
        at_end = np.asarray(whole)[tuple(reversed(point))]
        assert hl.evaluate(made[point]) == at_end
    assert int(np.asarray(plain.realize([1]))[0]) == sum(range(130))


def test_an_intermediate_leaves_out_what_its_last_part_does_not_have() -> None:
    image, u = hl.ImageParam(hl.Int(32), 1, "image"), hl.Var("u")
    image.set(np.arange(130, dtype=np.int32))
    r, ro, ri = hl.RDom([(0, 130)]), hl.RVar("ro"), hl.RVar("ri")
    total = hl.Func("total")
    total[()] = 0
    total[()] += image[r]
    total.update().split(r, ro, ri, 40, hl.TailStrategy.GuardWithIf)
    parts = pickle.loads(pickle.dumps(total.update().rfactor(ro, u)))
    made = parts.realize([4])
    np.testing.assert_array_equal(
        np.asarray(made), [sum(range(k, min(k + 40, 130))) for k in (0, 40, 80, 120)]
    )
