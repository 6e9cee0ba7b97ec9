"""What is compiled is a value: nothing that a user does meanwhile changes it."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.bindings import SET
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import generic_target
from parhelion.ir.text import text
from parhelion.lower.options import LowerOptions
from parhelion.lower.passes import lower
from parhelion.schedule.reach import Reach
from parhelion.schedule.spec import PipelineSpec
from tests.golden.nests import CASES
from tests.golden.test_lowered import LOWERED
from tests.support.spec import spec_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::parhelion.schedule.rules.ScheduleWarning"
)
x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))


class Pair:
    """A producer that is read through a wrapper, a clone and by itself, of an image,
    with a Param, an update over an RDom with a predicate, and a branch."""

    def __init__(self) -> None:
        self.image = hl.ImageParam(hl.Float(32), 2, "image")
        self.gain = hl.Param(hl.Float(32), "gain", 1.0)
        self.p, self.q = hl.Func("p"), hl.Func("q")
        self.left, self.out = hl.Func("left"), hl.Func("out")
        r = hl.RDom([(0, 5), (0, 3)], "r")
        self.p[x, y] = self.image[x, y] * self.gain
        r.where(self.p[r.x, r.y] > 0.5)
        self.q[x, y] = 0.0
        self.q[x, y] += self.p[x + r.x, y + r.y]
        self.left[x, y] = self.p[x, y] + self.q[x, y]
        self.out[x, y] = self.left[x, y] + self.p[x + 1, y]
        self.p.compute_root()
        self.q.compute_at(self.out, xi)
        self.wrapper = self.p.in_(self.q).compute_root()
        self.clone = self.p.clone_in(self.left).compute_root()
        self.staged = self.image.in_(self.clone).compute_root()
        self.out.tile(x, y, xi, yi, 16, 4).vectorize(xi, 8)
        self.out.specialize(self.gain > 2.0)


def lowered(spec: PipelineSpec) -> str:
    return text(lower(spec, name="out").body)


def called(f: Function) -> Iterator[Function]:
    for d in f.stages():
        for e in (*d.values, *d.args, *d.guard):
            yield from (n.func for n in nodes(e) if isinstance(n, FuncCall))


CHANGES: dict[str, Callable[[Pair], object]] = {
    "compute level": lambda it: it.q.compute_root(),
    "storage": lambda it: it.p.store_in(hl.MemoryType.Stack).align_storage(x, 16),
    "bound": lambda it: it.out.bound(x, 0, 64),
    "loops": lambda it: it.q.vectorize(x, 4),
    "loops of an update": lambda it: it.q.update(0).vectorize(x, 4),
    "loops of a branch": lambda it: it.out.specialize(it.gain > 2.0).parallel(y),
    "another branch": lambda it: it.out.specialize(it.gain < -2.0),
    "prefetch": lambda it: it.out.prefetch(it.p, y, y, 2),
    "wrapper": lambda it: it.wrapper.compute_inline(),
    "another wrapper": lambda it: it.p.in_().compute_root(),
    "wrapper of an image": lambda it: it.image.in_().compute_root(),
    "stride": lambda it: it.image.dim(0).set_stride(3),
    "extent": lambda it: it.out.output_buffer().dim(1).set_extent(40),
    "range": lambda it: it.gain.set_range(0.5, 3.0),
    "trace": lambda it: it.q.trace_stores(),
    "threads": lambda it: it.q.compute_root().async_(),
    "update": lambda it: hl.Func.__setitem__(it.out, (x, 3), 1.0),
    "name": lambda it: it.q.update(0).rename(x, hl.Var("u")),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_later_is_not_compiled(name: str) -> None:
    before = lowered(spec_of(Pair().out))
    it = Pair()
    spec = spec_of(it.out)
    same = spec_of(it.out)
    assert spec == same and hash(spec) == hash(same) and spec is not same
    CHANGES[name](it)
    assert spec == same and spec != spec_of(it.out)
    assert _plain(lowered(spec)) == _plain(before)
    assert _plain(lowered(spec_of(it.out))) != _plain(before)


def _plain(body: str) -> str:
    """A program without the numbers that make names unique in the process."""
    return re.sub(r"\$\d+", "", body)


def test_lowering_leaves_the_users_objects_as_they_are() -> None:
    it = Pair()
    reach = Reach([it.out._function])
    before = reach.look()
    frozen = [f.frozen for f in reach.functions]
    lowered(spec_of(it.out))
    assert reach.look() == before
    assert [f.frozen for f in reach.functions] == frozen


def test_copies_call_copies_and_have_wrappers_in_their_places() -> None:
    it = Pair()
    spec = spec_of(it.out)
    copies = set(spec.order)
    assert {f.copy_of for f in copies} == set(spec.copies)
    for f in spec.order:
        assert copies.issuperset(called(f))
    names = {f.copy_of: {g.copy_of for g in called(f)} for f in spec.order}
    assert names[it.q._function] == {it.q._function, it.wrapper._function}
    assert names[it.left._function] == {it.clone._function, it.q._function}
    assert names[it.clone._function] == {it.staged._function}
    assert it.image._sym in spec.copies[it.staged._function].stages()[0].mentions()


def test_an_output_writes_to_the_users_buffer() -> None:
    it = Pair()
    spec = spec_of(it.out, it.q)
    assert [f.buffers for f in spec.outputs] == [
        it.out._function.buffers,
        it.q._function.buffers,
    ]


def test_other_promises_are_another_pipeline() -> None:
    it = Pair()
    spec = spec_of(it.out)
    dim = it.image._sym.dims[0]
    it.image.dim(0).set_stride(7)
    strided = spec_of(it.out)
    other = spec.assuming({dim: strided.assumptions.dims[dim]})
    assert lowered(other) == lowered(strided) != lowered(spec)


def test_what_promises_mention_is_assumed_of_too() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    other = hl.ImageParam(hl.UInt(8), 1, "other")
    n = hl.Param(hl.Int(32), "n")
    n.set_range(1, 100)
    image.dim(1).set_stride(other.dim(0).extent() * n)
    f = hl.Func("f")
    f[x, y] = image[x, y]
    assumed = spec_of(f).assumptions
    assert assumed.of(n._sym) == [n._sym.lo, n._sym.hi]
    assert set(other._sym.dims) <= set(assumed.dims)


# Pickled.


def sent(spec: PipelineSpec) -> PipelineSpec:
    made: PipelineSpec = pickle.loads(pickle.dumps(spec))
    return made


def test_what_was_pickled_is_compiled_to_the_same_code() -> None:
    it = Pair()
    it.image.dim(1).set_stride(it.image.dim(0).extent())
    it.gain.set_range(0.0, 3.0)
    it.out.prefetch(it.wrapper, y, y, 2)
    spec = spec_of(it.out, it.q)
    made = sent(sent(spec))
    assert not set(made.order) & {*spec.order, *spec.copies}
    told = [emit(lower(s, name="out"), generic_target(256)) for s in (spec, made)]
    assert told[0] == told[1]


@pytest.mark.parametrize("name", LOWERED)
def test_every_golden_pipeline_is_the_same_after_pickling(name: str) -> None:
    made = CASES[name](hl)
    outputs = made._functions() if isinstance(made, hl.Pipeline) else [made._function]
    spec = PipelineSpec.of(list(outputs))
    made_again = sent(spec)
    assert lowered(made_again) == lowered(spec)
    assert made_again == spec and hash(made_again) == hash(spec)


def test_a_factored_reduction_stays_one() -> None:
    f, u = hl.Func("f"), hl.Var("u")
    r = hl.RDom([(0, 64)], "r")
    f[()] = 0.0
    f[()] += hl.cast(hl.Float(32), r.x)
    f.update(0).split(r.x, hl.RVar("ro"), hl.RVar("ri"), 8)
    f.update(0).rfactor(hl.RVar("ri"), u).compute_root()
    made = sent(spec_of(f))
    assert lowered(made) == lowered(spec_of(f))
    with pytest.raises(hl.ScheduleError, match="another order"):
        lower(made, name="f", options=LowerOptions(strict_float=True))


def test_deep_trees_are_pickled() -> None:
    f = hl.Func("f")
    e = hl.cast(hl.Float(32), x)
    for k in range(20_000):
        e = hl.sqrt(e + k)
    f[x] = e
    spec = spec_of(f)
    assert len(sent(spec).order) == len(spec.order)


def test_pixels_and_values_are_not_part_of_it() -> None:
    pixels = hl.Buffer(np.zeros((1000, 1000), np.float32), "pixels")
    p = hl.Param(hl.Int(32), "p", 7)
    f = hl.Func("f")
    f[x, y] = pixels[x, y] + p
    made = sent(spec_of(f))
    assert len(pickle.dumps(spec_of(f))) < 10_000
    (image,) = {s for d in made.outputs[0].stages() for s in d.mentions()}
    assert isinstance(image, BufferSym) and image.embedded and SET.of(image) is None
    (param,) = made.assumptions.params
    assert SET.of(param) is None


PROGRAM = """
import pickle, sys
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.lower.passes import lower
spec = pickle.load(sys.stdin.buffer)
sys.stdout.write(emit(lower(spec, name="out"), generic_target(512)))
sys.stderr.write(spec.digest)
"""


def test_another_process_compiles_the_same_bytes() -> None:
    spec = spec_of(Pair().out)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=pickle.dumps(spec),
        capture_output=True,
        check=True,
    )
    assert ran.stderr.decode() == spec.digest
    assert ran.stdout.decode() == emit(lower(spec, name="out"), generic_target(512))


def test_foreign_code_is_refused() -> None:
    f = hl.Func("f")
    f.define_extern(lambda out: None, [], hl.Float(32), [x, y])
    with pytest.raises(hl.HalideError, match="foreign code computes f"):
        pickle.dumps(spec_of(f))


def test_specs_with_foreign_code_are_equal_where_the_code_is() -> None:
    specs = []
    for told in (lambda out: None, lambda out: None):
        f = hl.Func("f")
        f.define_extern(told, [], hl.Float(32), [x, y])
        specs += [spec_of(f), spec_of(f)]
    assert specs[0] == specs[1] and specs[2] == specs[3]
    assert specs[0] != specs[2] and specs[0] != "spec"
    assert len({*specs}) == 2


def test_equal_programs_have_equal_specs() -> None:
    """Two that have the same names, which two of one process have not."""
    told = (
        "from tests.schedule.test_spec import Pair, spec_of\n"
        "print(spec_of(Pair().out).digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", told], capture_output=True, check=True
        ).stdout
        for _ in range(2)
    }
    assert len(digests) == 1 and spec_of(Pair().out) != spec_of(Pair().out)
