"""Every directive once: an illegal use of it, with the whole message.

None can be missing: see tests/schedule/test_every_directive.py, whose pipeline this is.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

import parhelion as hl
from tests.schedule.test_every_directive import DIRECTIVES, Pipe, Step

pytestmark = pytest.mark.filterwarnings("ignore::parhelion.ScheduleWarning")

t, u, xi = hl.vars("t u xi")
#: Where no number belongs.
WRONG: Any = 3

#: They are legal on every Func: a place that another directive needs is that one's.
TAKES_ALL = frozenset(["compute_inline", "compute_root"])

#: For each directive one illegal use and the whole message, from the Func's name on.
REFUSED: dict[str, tuple[Step, str]] = {
    "split": (
        lambda p: p.f.split(p.x, p.x, xi, 0),
        "f.split: the factor must be positive, not 0",
    ),
    "fuse": (
        lambda p: p.f.fuse(p.x, p.x, t),
        "f.fuse: x cannot be fused with itself",
    ),
    "reorder": (
        lambda p: p.f.reorder(p.x, p.x),
        "f.reorder: x is given twice",
    ),
    "rename": (
        lambda p: p.f.rename(p.x, p.y),
        "f.rename: y is already a loop of f\n"
        "loops, innermost first: x, y\n"
        "hint: give the new loop a name of its own",
    ),
    "tile": (
        lambda p: p.f.tile(p.x, p.y, xi, p.y, 4, 4),
        "f.tile: both loops made of y are called y",
    ),
    "serial": (
        lambda p: p.f.serial(t),
        "f.serial: f has no loop t\nlegal here:\n  - x\n  - y",
    ),
    "parallel": (
        lambda p: p.f.update().parallel(p.r.x),
        "f.update(0).parallel: r.x cannot be parallel: its iterations depend"
        " on each other\n"
        "iterations may read and write the same f[x, y]\n"
        "legal here:\n"
        "  - x\n"
        "  - y\n"
        "hint: atomic(), given before, makes each update happen as a whole",
    ),
    "vectorize": (
        lambda p: p.f.vectorize(p.x, 0),
        "f.vectorize: the factor must be positive, not 0",
    ),
    "unroll": (
        lambda p: p.f.unroll(p.x, -1),
        "f.unroll: the factor must be positive, not -1",
    ),
    "compute_at": (
        lambda p: p.f.compute_at(p.out, t),
        "f.compute_at(out, t): out has no loop t\n"
        "the loop nest without f:\n"
        "  produce out:\n"
        "    for y:\n"
        "      for x:\n"
        "        out(...) = ...  <- uses f\n"
        "legal here:\n"
        "  - f.compute_root()\n"
        "  - f.compute_at(out, y)\n"
        "  - f.compute_at(out, x)",
    ),
    "store_at": (
        lambda p: p.f.compute_root().store_at(p.out, p.y),
        "f.store_at(out, y): the storage of f must enclose f.compute_root()\n"
        "the loop nest without f:\n"
        "  produce out:\n"
        "    for y:\n"
        "      for x:\n"
        "        out(...) = ...  <- uses f\n"
        "legal here:\n"
        "  - f.store_root()",
    ),
    "store_root": (
        lambda p: (p.h.store_root(),),
        "h.store_root(): h is inlined and needs no storage\n"
        "hint: store_at goes together with compute_at",
    ),
    "hoist_storage": (
        lambda p: p.f.compute_root().hoist_storage(p.out, p.y),
        "f.hoist_storage(out, y): the storage of f must be allocated at or"
        " outside f.store_root()\n"
        "the loop nest without f:\n"
        "  produce out:\n"
        "    for y:\n"
        "      for x:\n"
        "        out(...) = ...  <- uses f\n"
        "legal here:\n"
        "  - f.hoist_storage_root()",
    ),
    "hoist_storage_root": (
        lambda p: (
            p.f.compute_at(p.out, p.y).hoist_storage_root(),
            p.out.parallel(p.y),
        ),
        "f.hoist_storage_root(): the iterations of the parallel loop y of out"
        " would share the storage and overwrite each other's values\n"
        "the loop nest without f:\n"
        "  produce out:\n"
        "    parallel y:\n"
        "      for x:\n"
        "        out(...) = ...  <- uses f\n"
        "legal here:\n"
        "  - f.hoist_storage(out, y)",
    ),
    "store_in": (
        lambda p: p.f.store_in(hl.MemoryType.VTCM),
        "f.store_in: nothing here has a memory MemoryType.VTCM\n"
        "legal here:\n"
        "  - MemoryType.Auto\n"
        "  - MemoryType.Heap\n"
        "  - MemoryType.Stack\n"
        "  - MemoryType.Register\n"
        "  - MemoryType.GPUShared\n"
        "  - MemoryType.GPUTexture",
    ),
    "fold_storage": (
        lambda p: p.f.fold_storage(p.x, 0),
        "f.fold_storage: the extent must be at least 1, not 0",
    ),
    "reorder_storage": (
        lambda p: p.f.reorder_storage(p.x),
        "f.reorder_storage takes two or more different dimensions\n"
        "legal here:\n"
        "  - x\n"
        "  - y",
    ),
    "align_storage": (
        lambda p: p.f.align_storage(p.x, p.gain),
        "f.align_storage: the alignment must be a constant",
    ),
    "bound_storage": (
        lambda p: p.f.bound_storage(p.x, 0),
        "f.bound_storage: the bound must be at least 1, not 0",
    ),
    "bound": (
        lambda p: p.f.bound(t, 0, 8),
        "f.bound: t is not a dimension of f\nlegal here:\n  - x\n  - y",
    ),
    "bound_extent": (
        lambda p: p.f.bound_extent(p.x, -1),
        "f.bound_extent: the extent of x must not be negative, but is -1",
    ),
    "align_bounds": (
        lambda p: p.f.align_bounds(p.x, 0),
        "f.align_bounds: the modulus must be a positive constant",
    ),
    "align_extent": (
        lambda p: p.f.align_extent(p.x, p.gain),
        "f.align_extent: the modulus must be a positive constant",
    ),
    "set_estimate": (
        lambda p: p.f.set_estimate(p.x, 0, -8),
        "f.set_estimate: the extent of x must not be negative, but is -8",
    ),
    "set_coverage": (
        lambda p: p.f.set_coverage(1.5),
        "f.set_coverage: a fraction is a number above 0, and at most 1, not 1.5\n"
        "hint: a tenth is 0.1; of what is never read, nothing is computed anyway",
    ),
    "set_estimates": (
        lambda p: p.f.set_estimates([(0, 8)]),
        "f.set_estimates: f has 2 dimensions, but 1 estimates are given",
    ),
    "compute_with": (
        lambda p: p.h.compute_with(p.h, p.y),
        "h.compute_with: h cannot share loops with itself",
    ),
    "specialize": (
        lambda p: p.f.specialize(p.x == 1),
        "f.specialize: the condition depends on the Var x\n"
        "hint: a condition is made of Params and of the sizes and strides of"
        " images and outputs, which one run does not change; hl.select"
        " chooses from pixel to pixel",
    ),
    "specialize_fail": (
        lambda p: p.f.specialize_fail(WRONG),
        "f.specialize_fail takes a message, not 3",
    ),
    "in_": (
        lambda p: p.h.in_(p.f),
        "h.in_(f): f does not read h\nf reads image, f",
    ),
    "clone_in": (
        lambda p: p.f.clone_in(p.f),
        "f.clone_in: f cannot be replaced in its own definition",
    ),
    "rfactor": (
        lambda p: p.f.update().rfactor(t, u),
        "f.update(0).rfactor: f.update(0) has no loop t\n"
        "legal here:\n"
        "  - r.x\n"
        "  - x\n"
        "  - y",
    ),
    "tile_scan": (
        lambda p: p.f.update().tile_scan(p.r.x, 8),
        "f.update(0).tile_scan: the update is no scan: it reads no earlier value\n"
        "hint: f[r, y] = own * f[r, y] + a1 * f[r - 1, y] + … + rest is one",
    ),
    "atomic": (
        lambda p: p.nil.atomic(),
        "nil cannot be scheduled before it is defined",
    ),
    "allow_race_conditions": (
        lambda p: p.nil.allow_race_conditions(),
        "nil cannot be scheduled before it is defined",
    ),
    "prefetch": (
        lambda p: p.f.prefetch(p.image, p.y, p.x, 1),
        "f.prefetch of image: the loop x, to look ahead along, is inside the"
        " loop y, where the hint stands\n"
        "loops, innermost first: x, y",
    ),
    "memoize": (
        lambda p: p.f.compute_root().memoize(),
        "f.memoize(): f depends on the pixels of the image image, which no"
        " key can hold\n"
        "hint: say what tells one image from another: hl.memoize_tag(value,"
        " version), with a Param for the version",
    ),
    "async_": (
        lambda p: (
            p.f.compute_root(),
            p.h.compute_root().async_(),
            p.h.compute_with(p.f, p.y),
        ),
        "h.compute_with(f, y): h is async: a thread of its own runs it",
    ),
    "ring_buffer": (
        lambda p: p.f.ring_buffer(0),
        "f.ring_buffer: the number of copies must be positive, not 0",
    ),
    "partition": (
        lambda p: p.f.partition(p.x, WRONG),
        "f.partition takes a Partition, not 3\n"
        "legal here:\n"
        "  - Auto\n"
        "  - Never\n"
        "  - Always",
    ),
    "never_partition": (
        lambda p: p.f.never_partition(t),
        "f.never_partition: f has no loop t\nlegal here:\n  - x\n  - y",
    ),
    "never_partition_all": (
        lambda p: p.nil.never_partition_all(),
        "nil cannot be scheduled before it is defined",
    ),
    "always_partition": (
        lambda p: p.f.always_partition(t),
        "f.always_partition: f has no loop t\nlegal here:\n  - x\n  - y",
    ),
    "always_partition_all": (
        lambda p: p.f.compute_root().always_partition_all(),
        "f.always_partition_all: the loop y decides no likely condition that"
        " it could be partitioned by\n"
        "hint: tails of splits that do not round up, boundary conditions and"
        " hl.likely make such conditions",
    ),
    "unscheduled": (
        lambda p: p.f.update().unroll(p.y, 2).unscheduled(),
        "f.update(0).unscheduled: the stage has directives already",
    ),
}


def test_the_refusals_are_of_all_directives() -> None:
    assert set(REFUSED) == DIRECTIVES - TAKES_ALL


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusal(name: str) -> None:
    given, message = REFUSED[name]
    p = Pipe(updated=True)
    with pytest.raises(hl.ScheduleError) as caught:
        given(p)
        p.text()
    error = caught.value
    assert error.at is not None and error.at.file == __file__
    shown = [
        line
        for line in re.sub(r"\$\d+", "", str(error)).split("\n")
        if not line.startswith(("  --> ", "   |  "))
    ]
    assert "\n".join(shown) == message
