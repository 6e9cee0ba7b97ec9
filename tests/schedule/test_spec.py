"""What is compiled is a value: nothing that a user does meanwhile changes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

import parhelion as hl
from parhelion.ir.expr import FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.ir.text import text
from parhelion.lower.passes import lower
from parhelion.runtime.state import Reach
from parhelion.schedule.spec import PipelineSpec
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
    CHANGES[name](it)
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
