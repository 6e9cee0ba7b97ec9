"""Directives for many stages at once, by the tags of their dimensions.

They are written down here, and given to the stages when these are made (`by_tags`).
From: the 2015 paper, section 7, "Manual control".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parhelion.dataclass import dataclass
from parhelion.errors import ScheduleError, Site, here
from parhelion.recfilter.dims import whole_number
from parhelion.recfilter.tags import Kind, VarTag
from parhelion.schedule.rules import MOST_FACTOR


@dataclass(frozen=True, slots=True)
class Class:
    """A class of stages. name: ``intra``, ``inter`` or ``full``. number: of ``intra``,
    1 for the tiles of the image, 2 for what comes into tiles along an earlier
    dimension; 0 for all."""

    name: str
    number: int = 0

    def has(self, other: Class) -> bool:
        """Whether stages of another class, which has its number, are of this one."""
        return self.name == other.name and self.number in (0, other.number)

    def __str__(self) -> str:
        return f"{self.name}_schedule({self.number or ''})"


INTRA, RESIDUAL, INTER = Class("intra", 1), Class("intra", 2), Class("inter")
FULL = Class("full")


@dataclass(frozen=True, slots=True)
class Directive:
    """One directive of a RecFilter's. stages: whom it is for. factor: of a split, a
    vector, …; None where it goes without. site: the user's line."""

    stages: Class
    method: str
    tags: tuple[VarTag, ...]
    factor: int | None
    site: Site | None

    def __str__(self) -> str:
        given = [str(t) for t in self.tags]
        if self.factor is not None:
            given.append(str(self.factor))
        return f"{self.method}({', '.join(given)})"


class RecFilterSchedule:
    """Directives for the stages of one class of a RecFilter, each for all dimensions
    that have a tag; those that a stage does not have are passed over.

    They take the place of the automatic schedule of these stages. Each raises
    ScheduleError for what is no tag and for a factor that is no positive integer, and
    DefinitionError after `RecFilter.as_func`; which stages there are is known when they
    are made, where a tag that none of them has raises ScheduleError, as do directives
    that a stage refuses.

    >>> from parhelion.recfilter import RecFilter, RecFilterDim
    >>> x, y = RecFilterDim("x", 64), RecFilterDim("y", 64)
    >>> f = RecFilter("f")
    >>> f[x, y] = hl.u32(1)
    >>> f.add_filter(+y, [1, 1])
    >>> f.split(y, 16)
    >>> f.intra_schedule().vectorize(f.full(0), 8).parallel(f.outer(0))
    f.intra_schedule().vectorize(full(0), 8).parallel(outer(0))
    >>> np.asarray(f.realize())[-1, -1]
    np.uint32(64)
    """

    def __init__(
        self, owner: str, stages: Class, write: Callable[[Directive], None]
    ) -> None:
        self._owner, self._stages, self._write = owner, stages, write
        self._given: list[Directive] = []

    def __repr__(self) -> str:
        told = "".join([f".{d}" for d in self._given])
        return f"{self._owner}.{self._stages}{told}"

    # Where stages are computed.

    def compute_locally(self) -> RecFilterSchedule:
        """Computes what scans for each tile or strip anew, in the innermost of the
        OUTER and FULL loops of the stage that reads it: what it makes stays in the
        caches. Tails, and what others read of a whole image, are computed globally."""
        if self._stages.name == INTER.name:
            raise ScheduleError(
                f"{self._owner}.{self._stages}.compute_locally: stages that go from"
                " tile to tile are read by all tiles, and are computed globally",
                at=here(),
                hint=f"{self._owner}.intra_schedule().compute_locally()",
            )
        return self._add("compute_locally")

    def compute_globally(self) -> RecFilterSchedule:
        """Computes whole stages before those that read them."""
        return self._add("compute_globally")

    def reorder_storage(self, *tags: VarTag) -> RecFilterSchedule:
        """Stores dimensions in this order, innermost first, before those not named. The
        layout of the result is for those to say who read it."""
        return self._add("reorder_storage", *tags)

    # Loops.

    def reorder(self, *tags: VarTag) -> RecFilterSchedule:
        """Puts loops inside each other in this order, innermost first."""
        return self._add("reorder", *tags)

    def split(self, tag: VarTag, factor: int) -> RecFilterSchedule:
        """Splits loops in two, of which the inner one, of the tag `tag.split_var()`,
        runs `factor` times; the outer one keeps the tag."""
        return self._add("split", tag, factor=self._factor("split", factor))

    def fuse(self, inner: VarTag, outer: VarTag) -> RecFilterSchedule:
        """Makes one loop of two, where a stage has both; it has the tag of `inner`. If
        one of the two is a scan, so is the loop: its points have an order, whatever its
        tag is."""
        return self._add("fuse", inner, outer)

    def vectorize(self, tag: VarTag, factor: int | None = None) -> RecFilterSchedule:
        """Runs so many iterations at once, as vectors: as many as a register holds, if
        nothing is said. Of several loops that have the tag, the innermost."""
        self._check_free("vectorize", tag)
        if factor is not None:
            factor = self._factor("vectorize", factor)
        return self._add("vectorize", tag, factor=factor)

    def unroll(self, tag: VarTag, factor: int | None = None) -> RecFilterSchedule:
        """Writes out so many iterations one after the other, or all of them."""
        if factor is not None:
            factor = self._factor("unroll", factor)
        return self._add("unroll", tag, factor=factor)

    def parallel(self, tag: VarTag, task_size: int | None = None) -> RecFilterSchedule:
        """Runs iterations on all cores, so many in a task. Of several loops that have
        the tag, the outermost. What is computed locally runs on the core of the stage
        that reads it."""
        self._check_free("parallel", tag)
        if task_size is not None:
            task_size = self._factor("parallel", task_size)
        return self._add("parallel", tag, factor=task_size)

    def gpu_blocks(self, *tags: VarTag) -> RecFilterSchedule:
        """Runs loops over the blocks of a kernel, of which a stage has at most three,
        the innermost first. What is computed locally is in the kernel of the stage that
        reads it."""
        return self._on_gpu("gpu_blocks", tags)

    def gpu_threads(self, *tags: VarTag) -> RecFilterSchedule:
        """Runs loops over the threads of each block, of which a stage has at most
        three, the innermost first."""
        return self._on_gpu("gpu_threads", tags)

    def _on_gpu(self, method: str, tags: Sequence[VarTag]) -> RecFilterSchedule:
        if not tags:
            raise ScheduleError(
                f"{self._what(method)} takes the tags of loops, and none is given",
                at=here(),
                legal=[f"{self._owner}.{k}()" for k in ("inner", "outer", "full")],
            )
        for one in tags:
            self._check_free(method, one)
        return self._add(method, *tags)

    # What they are given.

    def _add(
        self, method: str, *tags: object, factor: int | None = None
    ) -> RecFilterSchedule:
        for one in tags:
            if not isinstance(one, VarTag):
                raise ScheduleError(
                    f"{self._what(method)} takes tags, not {one}",
                    at=here(),
                    legal=[f"{self._owner}.{k.value}()" for k in Kind],
                )
        found = tuple([one for one in tags if isinstance(one, VarTag)])
        one = Directive(self._stages, method, found, factor, here())
        self._write(one)
        self._given.append(one)
        return self

    def _what(self, method: str) -> str:
        return f"{self._owner}.{self._stages}.{method}"

    def _factor(self, method: str, given: object) -> int:
        factor = whole_number(given)
        if factor is None or not 0 < factor <= MOST_FACTOR:
            raise ScheduleError(
                f"{self._what(method)}: the factor must be a positive integer, up to"
                f" {MOST_FACTOR}, not {given!r:.60}",
                at=here(),
            )
        return factor

    def _check_free(self, method: str, tag: object) -> None:
        """Raises ScheduleError for the tag of scans, whose points have an order."""
        if isinstance(tag, VarTag) and tag.kind is Kind.SCAN:
            raise ScheduleError(
                f"{self._what(method)}: a point of a scan needs the one before, so that"
                f" {tag} cannot run at the same time",
                at=here(),
                legal=[f"{self._owner}.{k}()" for k in ("inner", "outer", "full")],
            )


__all__ = [
    "FULL",
    "INTER",
    "INTRA",
    "RESIDUAL",
    "Class",
    "Directive",
    "RecFilterSchedule",
]
