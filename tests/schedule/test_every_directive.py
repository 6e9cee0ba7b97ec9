"""Every directive once: what it does to the lowered program.

The directives have tests of their own, which go further. Here none can be missing:
the table is compared with `DIRECTIVES`, and that with the methods of Halide 21 (in
tests/lang/test_directives_against_halide.py). What each refuses stands in
tests/error/test_every_refusal.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

import parhelion as hl

pytestmark = pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")

#: All scheduling directives for CPUs.
DIRECTIVES = frozenset(
    [
        "align_bounds",
        "align_extent",
        "align_storage",
        "allow_race_conditions",
        "always_partition",
        "always_partition_all",
        "async_",
        "atomic",
        "bound",
        "bound_extent",
        "bound_storage",
        "clone_in",
        "compute_at",
        "compute_inline",
        "compute_root",
        "compute_with",
        "fold_storage",
        "fuse",
        "hoist_storage",
        "hoist_storage_root",
        "in_",
        "memoize",
        "never_partition",
        "never_partition_all",
        "parallel",
        "partition",
        "prefetch",
        "rename",
        "reorder",
        "reorder_storage",
        "rfactor",
        "ring_buffer",
        "serial",
        "set_coverage",
        "set_estimate",
        "set_estimates",
        "specialize",
        "specialize_fail",
        "split",
        "store_at",
        "store_in",
        "store_root",
        "tile",
        "tile_scan",
        "unroll",
        "unscheduled",
        "vectorize",
    ]
)

GUARD = hl.TailStrategy.GuardWithIf


@dataclass
class Pipe:
    """out reads f, at two rows, and h; f reads an image, and has an update, a sum of
    other pixels, if that is asked for."""

    updated: bool = False
    image: hl.ImageParam = field(
        default_factory=lambda: hl.ImageParam(hl.UInt(8), 2, "image")
    )
    gain: hl.Param = field(default_factory=lambda: hl.Param(hl.Int(32), "gain"))

    def __post_init__(self) -> None:
        self.x, self.y = x, y = hl.vars("x y")
        self.r = r = hl.RDom([(0, 8)], "r")
        self.f, self.h, self.out, self.nil = (
            hl.Func(name) for name in ("f", "h", "out", "nil")
        )
        self.f[x, y] = hl.i32(self.image[x, y])
        if self.updated:
            self.f[x, y] += self.image[r.x, y]
        self.h[x, y] = x * y
        self.out[x, y] = self.f[x, y] * self.gain + self.f[x, y + 1] + self.h[x, y]

    def text(self) -> str:
        return re.sub(r"\$\d+", "", hl.Pipeline(self.out).lowered_text())


Step = Callable[[Pipe], object]


def fail_unless_known(p: Pipe) -> None:
    p.out.specialize(p.gain == 1)
    p.out.specialize_fail("gain?")


def scan_rows(p: Pipe) -> None:
    p.out[p.r.x + 1, p.y] += p.out[p.r.x, p.y]


@dataclass(frozen=True)
class Effect:
    """`given` after `before` brings a line like `shown` into the lowered program, or
    takes the last one like it out (`gone`)."""

    given: Step
    shown: str
    before: Step = lambda p: None
    gone: bool = False
    updated: bool = False


t, u, xi, yi = hl.vars("t u xi yi")

EFFECTS: dict[str, Effect] = {
    # Where and when.
    "compute_root": Effect(lambda p: p.f.compute_root(), r"allocate f\["),
    "compute_at": Effect(
        lambda p: p.f.compute_at(p.out, p.y), r"^ +for \(out\.s0\.y.*\n +.*\n? +.*f\["
    ),
    "compute_inline": Effect(
        lambda p: p.f.compute_inline(),
        r"allocate f\[",
        before=lambda p: p.f.compute_root(),
        gone=True,
    ),
    "store_at": Effect(
        # One allocation around both loops, and one new row in each iteration.
        lambda p: p.f.store_at(p.out, hl.Var.outermost()),
        r"allocate f\[.*\n(.*\n)*? +for \(out\.s0\.y",
        before=lambda p: p.f.compute_at(p.out, p.y),
    ),
    "store_root": Effect(
        lambda p: p.f.store_root(),
        r"allocate f\[.*\n(.*\n)*? +for \(out\.s0\.y",
        before=lambda p: p.f.compute_at(p.out, p.y),
    ),
    "hoist_storage": Effect(
        lambda p: p.f.hoist_storage(p.out, hl.Var.outermost()),
        r"allocate f\[.*\n(.*\n)*? +for \(out\.s0\.y",
        before=lambda p: p.f.compute_at(p.out, p.y),
    ),
    "hoist_storage_root": Effect(
        lambda p: p.f.hoist_storage_root(),
        r"allocate f\[.*\n(.*\n)*? +for \(out\.s0\.y",
        before=lambda p: p.f.compute_at(p.out, p.y),
    ),
    "store_in": Effect(
        lambda p: p.f.store_in(hl.MemoryType.Stack),
        r"allocate f\[int32 \* 16384 \* 2\] in stack",
        before=lambda p: p.f.compute_at(p.out, p.y).bound_storage(p.x, 16384),
    ),
    "fold_storage": Effect(
        lambda p: p.f.fold_storage(p.y, 5),
        r"\(f\.s0\.y - out\.min\.1\) % 5",
        before=lambda p: p.f.store_root().compute_at(p.out, p.y),
    ),
    "reorder_storage": Effect(
        lambda p: p.f.reorder_storage(p.y, p.x),
        r"allocate f\[int32 \* 2 \* out\.extent\.0\]",
        before=lambda p: p.f.compute_at(p.out, p.y),
    ),
    "align_storage": Effect(
        lambda p: p.f.align_storage(p.x, 16),
        r"\(out\.extent\.0 \+ 15\)/16\*16",
        before=lambda p: p.f.compute_root(),
    ),
    "bound_storage": Effect(
        lambda p: p.f.bound_storage(p.x, 640),
        r'storage_bound_too_small, "f", "x", 640',
        before=lambda p: p.f.compute_root(),
    ),
    "bound": Effect(lambda p: p.out.bound(p.x, 0, 8), r"for \(out\.s0\.x, 0, 8\)"),
    "bound_extent": Effect(
        lambda p: p.out.bound_extent(p.x, 8), r"for \(out\.s0\.x, out\.min\.0, 8\)"
    ),
    "align_bounds": Effect(
        lambda p: p.f.align_bounds(p.x, 16),
        r"let f\.x\.min = out\.min\.0/16\*16",
        before=lambda p: p.f.compute_root(),
    ),
    "align_extent": Effect(
        lambda p: p.f.align_extent(p.x, 16),
        r"let f\.x\.max = out\.min\.0 - \(0 - out\.extent\.0\)/16\*16",
        before=lambda p: p.f.compute_root(),
    ),
    "set_estimate": Effect(
        lambda p: p.f.set_estimate(p.x, 0, 64), r"^  estimate f\.x in \[0, 63\]$"
    ),
    "set_estimates": Effect(
        lambda p: p.f.set_estimates([(0, 64), (1, 8)]),
        r"^  estimate f\.y in \[1, 8\]$",
    ),
    "set_coverage": Effect(
        lambda p: p.f.set_coverage(0.25, (8, 8)), r"^  estimate f is read to 25%$"
    ),
    # Loops.
    "split": Effect(
        lambda p: p.out.split(p.x, p.x, xi, 4), r"for \(out\.s0\.xi, 0, 4\)"
    ),
    "fuse": Effect(
        lambda p: p.out.fuse(p.x, p.y, t),
        r"for \(out\.s0\.t, 0, out\.extent\.0\*out\.extent\.1\)",
    ),
    "reorder": Effect(
        lambda p: p.out.reorder(p.y, p.x),
        r"for \(out\.s0\.x.*\n(.*\n)? +for \(out\.s0\.y",
    ),
    "rename": Effect(lambda p: p.out.rename(p.x, t), r"for \(out\.s0\.t,"),
    "tile": Effect(
        lambda p: p.out.tile(p.x, p.y, xi, yi, 4, 4),
        r"for \(out\.s0\.yi, 0, 4\) \{\n(.*\n)*? +for \(out\.s0\.xi, 0, 4\)",
    ),
    "unroll": Effect(
        lambda p: p.out.unroll(p.x, 2),
        r"(out\[.*= .*\n(.*\n)?.*){2}",
    ),
    "vectorize": Effect(lambda p: p.out.vectorize(p.x, 8), r"out\[ramp\(.*, 1, 8\)"),
    "serial": Effect(
        lambda p: p.out.serial(p.y),
        r"parallel \(",
        before=lambda p: p.out.parallel(p.y),
        gone=True,
    ),
    "partition": Effect(
        lambda p: p.out.partition(p.x, hl.Partition.Never),
        r"epilogue",
        before=lambda p: p.out.vectorize(p.x, 8, GUARD),
        gone=True,
    ),
    "never_partition": Effect(
        lambda p: p.out.never_partition(p.x),
        r"epilogue",
        before=lambda p: p.out.vectorize(p.x, 8, GUARD),
        gone=True,
    ),
    "never_partition_all": Effect(
        lambda p: p.out.never_partition_all(),
        r"epilogue",
        before=lambda p: p.out.vectorize(p.x, 8, GUARD),
        gone=True,
    ),
    "always_partition": Effect(
        lambda p: p.out.always_partition(p.x),
        r"out\.s0\.x\.epilogue",
        before=lambda p: p.out.vectorize(p.x, 8, GUARD).never_partition(p.x),
    ),
    "always_partition_all": Effect(
        lambda p: p.out.always_partition(p.y).always_partition_all(),
        r"out\.s0\.x\.epilogue",
        before=lambda p: (
            p.out.tile(p.x, p.y, xi, yi, 8, 4, GUARD)
            .vectorize(xi)
            .never_partition(p.x, p.y, yi)
        ),
    ),
    "unscheduled": Effect(  # nothing, on purpose; tests/error has its warning
        lambda p: p.f.update().unscheduled(), r"never", gone=False, updated=True
    ),
    # Threads.
    "parallel": Effect(lambda p: p.out.parallel(p.y), r"parallel \(out\.s0\.y"),
    "atomic": Effect(
        lambda p: p.f.update().atomic().parallel(p.r.x),
        r"atomic",
        before=lambda p: p.f.compute_root(),
        updated=True,
    ),
    "allow_race_conditions": Effect(
        lambda p: p.f.update().allow_race_conditions().parallel(p.r.x),
        r"parallel \(f\.s1\.r",
        before=lambda p: p.f.compute_root(),
        updated=True,
    ),
    "prefetch": Effect(
        lambda p: p.f.prefetch(p.image, p.y, p.y, 2),
        r"prefetch image\[",
        before=lambda p: p.f.compute_root(),
    ),
    "async_": Effect(
        lambda p: p.f.async_(),
        r"fork f \{",
        before=lambda p: p.f.store_root().compute_at(p.out, p.y),
    ),
    "ring_buffer": Effect(
        lambda p: p.f.ring_buffer(3),
        r"let f\.slot = \(out\.s0\.y - out\.min\.1\) % 3",
        before=lambda p: p.f.compute_at(p.out, p.y).hoist_storage_root(),
    ),
    # Sharing loops.
    "compute_with": Effect(
        lambda p: p.h.compute_with(p.f, p.y),
        r"for \(\S*fused\.y",
        before=lambda p: (p.f.compute_root(), p.h.compute_root()),
    ),
    # Rewriting.
    "in_": Effect(
        lambda p: p.f.in_(p.out).compute_root(),
        r"f_in_out\[.*\] = f\[|produce f_in_out",
    ),
    "clone_in": Effect(
        lambda p: p.f.clone_in(p.out).compute_root(), r"produce f_clone_in_out"
    ),
    "rfactor": Effect(
        lambda p: p.f.update().rfactor(p.r.x, u).compute_root(),
        r"produce f_intm",
        updated=True,
    ),
    "tile_scan": Effect(
        lambda p: p.out.update().tile_scan(p.r, 4),
        r"produce out_scan_completedx",
        before=scan_rows,
    ),
    "specialize": Effect(
        lambda p: p.out.specialize(p.gain == 1).vectorize(p.x, 8),
        r"if \(gain == 1\)",
    ),
    "specialize_fail": Effect(
        fail_unless_known,
        r'"gain\?"',
    ),
    # Results that are kept.
    "memoize": Effect(
        lambda p: p.h.memoize(), r"memo", before=lambda p: p.h.compute_root()
    ),
}


def test_the_effects_are_of_all_directives() -> None:
    assert set(EFFECTS) == DIRECTIVES


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_effect(name: str) -> None:
    one = EFFECTS[name]
    plain, changed = Pipe(one.updated), Pipe(one.updated)
    one.before(plain)
    one.before(changed)
    one.given(changed)
    texts = [re.search(one.shown, p.text(), re.MULTILINE) for p in (plain, changed)]
    if name == "unscheduled":
        loops = [re.findall(r"^ *for .*", p.text(), re.M) for p in (plain, changed)]
        assert loops[0] == loops[1]
        return
    assert [m is not None for m in texts] == [one.gone, not one.gone]
