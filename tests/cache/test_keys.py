"""The names of cached programs: the same for the same, others for all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import parhelion as hl
from benchmarks.case import Case
from benchmarks.cases import all_cases
from parhelion.codegen.target import host_target
from parhelion.ir import names
from parhelion.ir.target import make_target
from parhelion.runtime import versions
from parhelion.runtime.program import Variant, _key
from parhelion.schedule import keys
from parhelion.schedule.reach import Reach
from tests.cache.programs import child

x, y = hl.Var("x"), hl.Var("y")
xi, yi = hl.Var("xi"), hl.Var("yi")
Guard = hl.TailStrategy.GuardWithIf


class Parts:
    """A pipeline of two stages, an update and a parameter, to be varied."""

    def __init__(
        self,
        factor: int = 3,
        shift: float = 0.5,
        type: hl.Type | None = None,
        name: str = "f",
        offset: int = 1,
        steps: int = 8,
        edge: bool = False,
    ) -> None:
        self.image = hl.ImageParam(type or hl.UInt(8), 2, "image")
        self.gain = hl.Param(hl.Float(32), "gain", 1.0)
        self.f, self.g = hl.Func(name), hl.Func("g")
        source: Any = self.image
        if edge:
            source = hl.BoundaryConditions.repeat_edge(self.image)
        self.f[x, y] = hl.i32(source[x + offset, y]) * factor
        r = hl.RDom([(0, steps)], "r")
        self.g[x, y] = hl.f32(self.f[x, y]) * self.gain
        self.g[x, y] += self.f[x + r, y] + shift
        self.r = r


def digest(parts: Parts, variant: Variant | None = None, target: Any = None) -> str:
    state = Reach([parts.g._function]).look()
    found = _key(state, "g", variant or Variant(), target or host_target())
    assert found is not None
    return found.digest


def plain(**given: Any) -> Callable[[], str]:
    return lambda: digest(Parts(**given))


def scheduled(change: Callable[[Parts], object]) -> Callable[[], str]:
    def make() -> str:
        parts = Parts()
        change(parts)
        return digest(parts)

    return make


def with_stride(stride: int | None) -> Callable[[], str]:
    def make() -> str:
        parts = Parts()
        strides = frozenset([(parts.image._sym, ((0, stride),))])
        return digest(parts, Variant(strides=strides))

    return make


def without_feature() -> str:
    host = host_target()
    fewer = make_target(host.triple, host.cpu, host.features[1:])
    return digest(Parts(), target=fewer)


def other_processor() -> str:
    host = host_target()
    return digest(Parts(), target=make_target(host.triple, "x86-64", host.features))


PROGRAMS: dict[str, Callable[[], str]] = {
    "as it is": plain(),
    "an integer constant": plain(factor=4),
    "a float constant": plain(shift=0.25),
    "a float constant's last bit": plain(shift=0.5000000596046448),
    "the sign of zero": plain(shift=-0.0),
    "zero": plain(shift=0.0),
    "an image's type": plain(type=hl.Int(8)),
    "an image's width": plain(type=hl.UInt(16)),
    "a coordinate": plain(offset=2),
    "a reduction's extent": plain(steps=9),
    "a boundary condition": plain(edge=True),
    "compute_root": scheduled(lambda p: p.f.compute_root()),
    "compute_at": scheduled(lambda p: p.f.compute_at(p.g, y)),
    "compute_at another loop": scheduled(lambda p: p.f.compute_at(p.g, x)),
    "store_root": scheduled(lambda p: p.f.store_root().compute_at(p.g, y)),
    "store_in": scheduled(lambda p: p.f.compute_root().store_in(hl.MemoryType.Stack)),
    "vectorize": scheduled(lambda p: p.g.vectorize(x, 8, Guard)),
    "vectorize wider": scheduled(lambda p: p.g.vectorize(x, 16, Guard)),
    "another tail": scheduled(lambda p: p.g.vectorize(x, 8, hl.TailStrategy.RoundUp)),
    "parallel": scheduled(lambda p: p.g.parallel(y)),
    "unroll": scheduled(lambda p: p.g.unroll(x, 2, Guard)),
    "tile": scheduled(lambda p: p.g.tile(x, y, xi, yi, 8, 8, Guard)),
    "reorder": scheduled(lambda p: p.g.reorder(y, x)),
    "an update's vectorize": scheduled(lambda p: p.g.update(0).vectorize(x, 8, Guard)),
    "an update's parallel": scheduled(lambda p: p.g.update(0).parallel(y)),
    "atomic": scheduled(lambda p: p.g.update(0).atomic()),
    "reorder_storage": scheduled(lambda p: p.f.compute_root().reorder_storage(y, x)),
    "fold_storage": scheduled(
        lambda p: p.f.store_root().compute_at(p.g, y).fold_storage(y, 4)
    ),
    "align_storage": scheduled(lambda p: p.f.compute_root().align_storage(x, 16)),
    "bound": scheduled(lambda p: p.g.bound(x, 0, 64)),
    "another bound": scheduled(lambda p: p.g.bound(x, 0, 32)),
    "align_bounds": scheduled(lambda p: p.g.align_bounds(x, 4)),
    "prefetch": scheduled(lambda p: p.g.prefetch(p.image, y, y, 2)),
    "memoize": scheduled(lambda p: p.f.compute_root().memoize()),
    "async": scheduled(lambda p: p.f.compute_root().async_()),
    "specialize": scheduled(lambda p: p.g.specialize(p.gain == 1.0)),
    "another specialize": scheduled(lambda p: p.g.specialize(p.gain == 2.0)),
    "trace_stores": scheduled(lambda p: p.f.compute_root().trace_stores()),
    "a wrapper": scheduled(lambda p: p.f.in_(p.g).compute_root()),
    "a Param's range": scheduled(lambda p: p.gain.set_range(0.0, 2.0)),
    "another range": scheduled(lambda p: p.gain.set_range(0.0, 3.0)),
    "a promised stride": scheduled(lambda p: p.image.dim(0).set_stride(3)),
    "a promised extent": scheduled(lambda p: p.image.dim(0).set_bounds(0, 64)),
    "an alignment": scheduled(lambda p: p.image.set_host_alignment(64)),
    "an argument's stride": with_stride(3),
    "any stride": with_stride(None),
    "64-bit indices": lambda: digest(Parts(), Variant(index64=True)),
    "strict_float": lambda: digest(Parts(), Variant(strict_float=True)),
    "trace": lambda: digest(Parts(), Variant(trace=True)),
    "trace_realizations": scheduled(lambda p: p.f.compute_root().trace_realizations()),
    "a tag": scheduled(lambda p: p.f.compute_root().add_trace_tag("one")),
    "another tag": scheduled(lambda p: p.f.compute_root().add_trace_tag("two")),
    "profile": lambda: digest(Parts(), Variant(profile=True)),
    # What brings about a warning, or none.
    "unscheduled": scheduled(lambda p: p.g.update(0).unscheduled()),
    "the order that it has": scheduled(lambda p: p.g.reorder(x, y)),
    "the memory that it has": scheduled(lambda p: p.f.store_in(hl.MemoryType.Auto)),
    "the storage that it has": scheduled(lambda p: p.f.reorder_storage(x, y)),
    "guarded tails": lambda: digest(Parts(), Variant(guard_tails=True)),
    "a feature less": without_feature,
    "another processor": other_processor,
}


def made(make: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The digest that a new process would have."""
    monkeypatch.setattr(names, "_TAKEN", {})
    return make()


@pytest.fixture(autouse=True)
def on(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path))


def test_whatever_differs_has_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, str] = {}
    for what, make in PROGRAMS.items():
        one = made(make, monkeypatch)
        assert one == made(make, monkeypatch), f"{what}: not the same again"
        assert one not in found, f"{what} is taken for: {found[one]}"
        found[one] = what


def sums(order: int = 0, funcs: str = "f g", vars: str = "x y r") -> hl.Func:
    """Where the order of an RDom's variables matters, which have the same bounds."""
    column, row = map(hl.Var, vars.split()[:2])
    f, g = map(hl.Func, funcs.split())
    r = hl.RDom([(0, 4), (0, 4)], vars.split()[2])
    i, j = (r.x, r.y) if order == 0 else (r.y, r.x)
    f[column, row] = column + 3 * row
    g[column] = 1
    g[column] = g[column] * 2 + f[i, j + column]
    f.compute_root()
    return g


def key_of(f: hl.Func, **given: Any) -> keys.Key:
    state = Reach([f._function]).look()
    found = _key(state, f.name(), Variant(**given), host_target())
    assert found is not None
    return found


def test_names_do_not_count() -> None:
    first = key_of(sums())
    for funcs, vars in (("f g", "x y r"), ("g f", "y x s"), ("p q", "a b c")):
        again = key_of(sums(0, funcs, vars))
        assert again.digest == first.digest
    assert set(again.names) == {"p", "q", "a", "b", "c$x", "c$y", "c.x", "c.y"}
    assert key_of(sums(1)).digest != first.digest


def test_names_of_loops_that_rfactor_takes_do_not_count() -> None:
    def folded() -> hl.Func:
        r, f = hl.RDom([(0, 1024)]), hl.Func("f")
        f[x] = 0
        f[x] += r.x * x
        outer, inner, lane = hl.RVar("outer"), hl.RVar("inner"), hl.Var("lane")
        f.update().split(r.x, outer, inner, 8)
        f.update().rfactor(inner, lane).compute_root()
        return f

    first, again = folded(), folded()
    assert key_of(first).digest == key_of(again).digest


def test_names_of_tuples_do_not_count() -> None:
    def pair(name: str) -> hl.Func:
        f = hl.Func(name)
        f[x] = (x, x + 1)
        return f

    digests = {key_of(pair(name)).digest for name in ("f", "f", "g")}
    assert len(digests) == 1
    assert key_of(pair("min")).digest not in digests


def test_names_count_in_code_that_has_them() -> None:
    first, again = sums(), sums()
    assert key_of(first, trace=True).digest != key_of(again, trace=True).digest
    for f in (first, again):
        f.trace_stores()
    assert key_of(first).digest != key_of(again).digest


@pytest.mark.parametrize("word", ["stride", "min", "split", "factor", "the"])
def test_words_of_messages_count(word: str) -> None:
    """Among them no name could be found again."""
    plain_names = key_of(sums()).digest
    found = {plain_names, key_of(sums(0, f"{word} g")).digest}
    found.add(key_of(sums(0, "f g", f"x {word} r")).digest)
    assert len(found) == 3
    assert key_of(sums(0, f"{word} g")).digest in found  # as word$1


@pytest.mark.parametrize("name", ["ä", "a.b", "2", "n" * 33])
def test_names_that_are_not_one_word_of_a_message_count(name: str) -> None:
    assert key_of(ramp(name)).digest != key_of(ramp("x")).digest
    assert key_of(ramp("y")).digest == key_of(ramp("x")).digest


def ramp(var: str) -> hl.Func:
    f, x = hl.Func(), hl.Var(var)
    f[x] = x
    return f


def test_which_names_are_the_same_counts() -> None:
    """Of a Func and a Var of one name, messages could not say which is meant."""
    first = key_of(sums(0, "left right")).digest
    assert key_of(sums(0, "top bottom", "top y r")).digest != first
    assert key_of(sums(0, "up down", "x down r")).digest != first


def test_interleaved_images_are_told_apart_by_their_use() -> None:
    """A set of them has no order of its own."""

    def key(swapped: bool) -> str:
        a, b = (hl.ImageParam(hl.UInt(8), 2) for _ in range(2))
        f = hl.Func()
        f[x, y] = hl.i32(a[x, y]) - b[x, y] * 2
        one, two = ((3,), (4,)) if swapped else ((4,), (3,))
        strides = [(a._sym, ((0, *one),)), (b._sym, ((0, *two),))]
        return key_of(f, strides=frozenset(strides)).digest

    assert len({key(False) for _ in range(20)}) == 1
    assert key(True) != key(False)


class Mentioned(Parts):
    """The same, with symbols that the definitions do not mention."""

    def __init__(self) -> None:
        super().__init__()
        self.p = hl.Param(hl.Int(32), "p", 4)
        self.q = hl.Param(hl.Int(32), "q", 4)
        self.other = hl.ImageParam(hl.UInt(8), 2, "other")
        self.rows = self.f.compute_at(self.g, y)

    def in_a_branch(self) -> None:
        outer = self.g.specialize(self.gain == 1.0)
        outer.split(x, xi, yi, self.p, Guard)

    def in_a_branch_of_a_branch(self) -> None:
        outer = self.g.specialize(self.gain == 1.0)
        outer.specialize(self.gain == 2.0).split(x, xi, yi, self.p, Guard)

    def by_way_of_a_range(self) -> None:
        self.q.set_max_value(self.p)
        self.g.bound(x, 0, self.q)

    def by_way_of_a_promise(self) -> None:
        self.other.dim(0).set_extent(self.p)
        self.g.bound(x, 0, self.other.dim(0).extent())


#: Where a Param p or an image may stand, other than in what is computed.
OF_A_PARAM: dict[str, Callable[[Mentioned], object]] = {
    "bound": lambda m: m.g.bound(x, 0, m.p),
    "bound's min": lambda m: m.g.bound(x, m.p, 16),
    "split": lambda m: m.g.split(x, xi, yi, m.p, Guard),
    "fold_storage": lambda m: m.f.store_root().fold_storage(y, m.p),
    "bound_storage": lambda m: m.f.bound_storage(x, m.p),
    "prefetch": lambda m: m.g.prefetch(m.image, y, y, m.p),
    "memoize": lambda m: m.f.memoize(hl.EvictionKey(m.p)),
    "a branch": Mentioned.in_a_branch,
    "a branch of a branch": Mentioned.in_a_branch_of_a_branch,
    "an image's promise": lambda m: m.image.dim(1).set_stride(m.p),
    "an output's promise": lambda m: m.g.output_buffer().dim(0).set_extent(m.p),
    "a Param's range": lambda m: m.gain.set_max_value(hl.f32(m.p)),
    "a range of a range": Mentioned.by_way_of_a_range,
    "another image's promise": Mentioned.by_way_of_a_promise,
}
OF_AN_IMAGE: dict[str, Callable[[Mentioned], object]] = {
    "bound": lambda m: m.g.bound(x, 0, m.other.dim(0).extent()),
    "an image's promise": lambda m: m.image.dim(1).set_stride(m.other.dim(0).extent()),
    "a condition": lambda m: m.g.specialize(m.other.dim(0).extent() == 3).parallel(y),
}
RANGES: list[Callable[[Mentioned], object]] = [
    lambda m: None,
    lambda m: m.p.set_range(1, 8),
    lambda m: m.p.set_range(1, 16),
    lambda m: m.p.set_min_value(1),
]
PROMISES: list[Callable[[Mentioned], object]] = [
    lambda m: None,
    lambda m: m.other.dim(0).set_stride(2),
    lambda m: m.other.dim(0).set_min(0),
    lambda m: m.other.dim(1).set_extent(64),
]
MENTIONS = [
    *[("a Param in " + what, use, RANGES) for what, use in OF_A_PARAM.items()],
    *[("an image in " + what, use, PROMISES) for what, use in OF_AN_IMAGE.items()],
]


@pytest.mark.parametrize(
    ("use", "changes"), [m[1:] for m in MENTIONS], ids=[m[0] for m in MENTIONS]
)
def test_promises_of_what_only_schedules_mention(
    use: Callable[[Mentioned], object],
    changes: list[Callable[[Mentioned], object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Code has checks of them: other promises, another name and another state."""
    found: set[str] = set()
    for change in changes:
        monkeypatch.setattr(names, "_TAKEN", {})
        one = Mentioned()
        use(one)
        reach = Reach([one.g._function])
        before = reach.look()
        assert reach.look() == before
        images = reach.images
        change(one)
        assert (reach.look() == before) == (change is changes[0])
        assert reach.images == images
        found.add(digest(one))
    assert len(found) == len(changes)


def test_code_is_made_anew_for_another_range() -> None:
    p = hl.Param(hl.Int(32), "p", 50)
    f = hl.Func("f")
    f[x] = x
    f.bound(x, 0, p)
    p.set_range(0, 10)
    with pytest.raises(hl.HalideError, match="above its maximum 10"):
        f.realize([50])
    p.set_range(0, 100)
    made = f.realize([50])
    assert isinstance(made, hl.Buffer)
    assert made[49] == 49


def test_images_that_only_a_schedule_mentions_are_no_inputs() -> None:
    one = Mentioned()
    one.g.prefetch(one.other, y, y, 2)
    reach = Reach([one.g._function])
    reach.look()
    assert reach.images == (one.image._sym,)
    assert one.other._sym in reach.others


def test_versions_and_passes_have_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    before = made(plain(), monkeypatch)
    found = {before}
    ours, llvm, passes = versions.compiler()
    for other in ((ours + "1", llvm, passes), (ours, "0", passes), (ours, llvm, "")):
        monkeypatch.setattr(versions, "compiler", lambda told=other: told)
        found.add(made(plain(), monkeypatch))
    assert len(found) == 4


def test_all_folders_of_the_compiler_are_looked_at() -> None:
    parts = {part.split("/")[0] for part in versions._PASSES}
    found = {
        path.parent.relative_to(versions.ROOT).as_posix()
        for part in parts
        for path in (versions.ROOT / part).rglob("*.py")
    }
    assert found == set(versions._PASSES)


def test_the_compiler_is_known_by_its_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """A change of any file of the passes is a change of the compiler."""
    for part in ("", *versions._PASSES):
        (tmp_path / part).mkdir(exist_ok=True, parents=True)
        (tmp_path / part / "one.py").write_text("1")
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    seen = {versions.compiler.__wrapped__()}
    for part in ("", *versions._PASSES):
        (tmp_path / part / "one.py").write_text("11")
        seen.add(versions.compiler.__wrapped__())
    assert len(seen) == 2 + len(versions._PASSES)


def test_values_are_no_part_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the values of Params, nor pixels, nor hints, nor lines of the source."""
    before = made(plain(), monkeypatch)

    def value(p: Parts) -> None:
        p.gain.set(7.0)
        p.image.set(hl.Buffer(hl.UInt(8), [20, 20]))
        p.g.set_estimates([(0, 100), (0, 100)])
        p.g.set_coverage(0.5, (4, 4))

    assert made(scheduled(value), monkeypatch) == before


def test_another_process_has_the_same_names() -> None:
    source = """
import os
import tests.cache.test_keys as t
os.environ["PARHELION_CACHE"] = "/nonexistent"
print([make() for make in [t.plain(), t.plain(edge=True)]])
"""
    runs = [
        child(source, "/nonexistent", PYTHONHASHSEED=seed).stdout for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] != ""


@pytest.mark.parametrize("case", all_cases(), ids=lambda c: c.name)
def test_every_application_has_a_name(case: Case) -> None:
    for schedule in case.schedules:
        apps = [case.build(hl, schedule) for _ in range(2)]
        first, again = [key_of(app.output).digest for app in apps]
        assert first == again


def test_foreign_code_has_no_name() -> None:
    f = hl.Func("f")
    f[x] = hl.extern_function("abs", hl.Int(32), [hl.Int(32)])(x)
    import ctypes

    other = hl.Func("other")
    pointer = ctypes.CDLL(None).labs
    other[x] = hl.extern_function(pointer, hl.Int(64), [hl.Int(64)])(hl.i64(x))
    for func in (f, other):
        state = Reach([func._function]).look()
        found = _key(state, "f", Variant(), host_target())
        assert (found is None) == (func is other)
