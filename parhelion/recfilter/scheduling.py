"""How users schedule the stages of a RecFilter: by the tags of their dimensions."""

from __future__ import annotations

import os
from collections.abc import Sequence

from parhelion.errors import HalideError, ScheduleError, here
from parhelion.ir.device import SIMULATED
from parhelion.ir.expr import Expr, FuncCall
from parhelion.ir.function import Function
from parhelion.ir.rewrite import nodes
from parhelion.lang.func import Func
from parhelion.lang.loop_dump import file_name, write
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import (
    Target,
    TargetFeature,
    get_jit_target_from_environment,
)
from parhelion.recfilter.dims import whole_number
from parhelion.recfilter.directives import (
    FULL,
    INTER,
    Class,
    Directive,
    RecFilterSchedule,
)
from parhelion.recfilter.gpu_schedules import THREADS, OnGpu
from parhelion.recfilter.tags import Kind, VarTag, tag
from parhelion.schedule.order import realization_order


class Scheduled:
    """The stages of a RecFilter by classes, and their dimensions by tags.

    From: the 2015 paper, section 7.
    """

    _name: str
    _directives: list[Directive]
    #: Set if stages are kernels of a GPU, whatever the target.
    _kernels: OnGpu | None

    def _open(self, verb: str) -> None:
        raise NotImplementedError

    def as_func(self, target: Target | None = None) -> Func:
        raise NotImplementedError

    def _given(self) -> set[Function]:
        """The user's Funcs, which the filters read."""
        raise NotImplementedError

    # Classes of stages.

    def intra_schedule(self, number: int = 0) -> RecFilterSchedule:
        """Returns what schedules the stages within tiles: filters that scan a tile, the
        tails that they leave behind, and the result, by tiles.

        number: 1 for the tiles of the image; 2 for what comes into tiles along one
        dimension, followed along the next one; 0 for both. Raises ScheduleError for
        others.
        """
        found = whole_number(number)
        if found not in (0, 1, 2):
            raise ScheduleError(
                f"{self._name}.intra_schedule: there are stages within tiles of the"
                f" numbers 1 and 2, and 0 stands for both, not {number!r:.60}",
                at=here(),
            )
        return self._schedule(Class("intra", found))

    def inter_schedule(self) -> RecFilterSchedule:
        """Returns what schedules the stages that go from tile to tile, and complete the
        tails."""
        return self._schedule(INTER)

    def full_schedule(self) -> RecFilterSchedule:
        """Returns what schedules the stages in no tiles: filters along whole lines, and
        sums of points."""
        return self._schedule(FULL)

    def gpu_auto_schedule(self, max_threads: int = THREADS) -> None:
        """Computes the filters by kernels of a GPU, whatever the target of `as_func`
        is: tiles are blocks, and two dimensions within them threads; each scan is one
        thread's. Stages that have directives by tags keep these.

        max_threads: the most of a block, up to 1024. Where a tile has more points, a
        thread has several; where it has fewer, a block has several tiles. Raises
        ScheduleError for others, and DefinitionError after `as_func`.

        From: the 2015 paper, section 7, "Parallel threads".
        """
        self._open("is scheduled")
        threads = whole_number(max_threads)
        if threads is None or not 0 < threads <= SIMULATED.threads:
            raise ScheduleError(
                f"{self._name}.gpu_auto_schedule: a block has 1 to"
                f" {SIMULATED.threads} threads, not {max_threads!r:.60}",
                at=here(),
                hint=f"without a number, it has up to {THREADS}",
            )
        self._kernels = OnGpu(threads)

    def _on_gpu(self, target: Target | None) -> OnGpu | None:
        """How stages without directives are computed that are made for a target:
        as kernels, or on a CPU."""
        if self._kernels is not None:
            return self._kernels
        if target is None and os.environ.get("HL_JIT_TARGET"):
            target = get_jit_target_from_environment()
        told = any([d.method.startswith("gpu_") for d in self._directives])
        if told or (target is not None and target.has_feature(TargetFeature.CUDA)):
            return OnGpu()
        return None

    def _schedule(self, stages: Class) -> RecFilterSchedule:
        return RecFilterSchedule(self._name, stages, self._direct)

    def _direct(self, one: Directive) -> None:
        self._open("is scheduled")
        self._directives.append(one)

    def _check_undirected(self, what: str) -> None:
        """Raises ScheduleError if there are directives, which are for the stages of
        this RecFilter alone."""
        if self._directives:
            first = self._directives[0]
            told = f"{first.stages}.{first}"
            raise ScheduleError(
                f"{what}: {self._name} has been given directives, {told} the first of"
                " them, which are for its own stages",
                at=here(),
                hint="schedule the RecFilters that are made of it",
            )

    # Tags of dimensions.

    def inner(self, number: int | None = None) -> VarTag:
        """Returns the tag of coordinates within tiles that no scan runs along. number:
        which one of a stage, by dimensions of the image; None for all."""
        return tag(Kind.INNER, number, f"{self._name}.inner")

    def outer(self, number: int | None = None) -> VarTag:
        """Returns the tag of the coordinates of tiles, as `inner` does."""
        return tag(Kind.OUTER, number, f"{self._name}.outer")

    def scan(self) -> VarTag:
        """Returns the tag of the loop of a scan: over the points of a tile, over tiles,
        or over the points of a line."""
        return VarTag(Kind.SCAN)

    def tail(self, number: int | None = None) -> VarTag:
        """Returns the tag of the number of a value among those that a tile leaves
        behind, as `inner` does."""
        return tag(Kind.TAIL, number, f"{self._name}.tail")

    def full(self, number: int | None = None) -> VarTag:
        """Returns the tag of dimensions in no tiles that no scan runs along, as `inner`
        does."""
        return tag(Kind.FULL, number, f"{self._name}.full")

    # What tells of it.

    def _told(self) -> list[str]:
        """The directives in words, those of a class in a row on one line."""
        lines: list[str] = []
        last: Class | None = None
        for d in self._directives:
            if d.stages != last:
                lines.append(str(d.stages))
            lines[-1] += f".{d}"
            last = d.stages
        return lines

    def print_loop_nest(self) -> None:
        """Prints the loops by which all stages are computed, as `Func.print_loop_nest`
        does, below the directives by tags that there are. Nothing can be added to the
        RecFilter afterwards."""
        out = self.as_func()
        for line in self._told():
            print(f"# {self._name}.{line}")
        out.print_loop_nest()

    def print_schedule(self) -> None:
        """Prints the directives of all stages, automatic ones and those by tags, as a
        Python program, as `hl.autoschedule` does. It defines ``schedule(pipeline)``,
        which gives them to a Pipeline of the same stages without a schedule. Those of
        the user's own Funcs are not among them. Nothing can be added to the RecFilter
        afterwards."""
        # Few programs do so, and it takes the automatic schedulers' modules.
        from parhelion.recfilter.printing import schedule_text

        out = self.as_func()
        for line in self._told():
            print(f"# {self._name}.{line}")
        print(schedule_text(out, self._given()), end="")

    def draw(self, filename: str | os.PathLike[str]) -> None:
        """Writes a picture of all stages and what each of them reads, in SVG: what
        Figures 3 to 5 of the 2015 paper show, of this RecFilter. Nothing can be added
        to it afterwards.

        filename: ends with ``.svg``. Raises HalideError for another end, and
        MissingFolderError if there is no folder for it.
        """
        name = file_name(filename)
        if not name.lower().endswith(".svg"):
            raise HalideError(
                f"{self._name}.draw writes a picture in SVG: the name of the file ends"
                f" with .svg, not {name!r}",
                at=here(),
                hint=f"{self._name}.draw({os.path.splitext(name)[0] + '.svg'!r})",
            )
        write(filename, Pipeline(self.as_func())._repr_svg_())


def below(values: Sequence[Expr]) -> set[Function]:
    """The Functions that values need."""
    called = [e.func for v in values for e in nodes(v) if isinstance(e, FuncCall)]
    return set(realization_order(tuple(dict.fromkeys(called))))


__all__ = ["Scheduled", "below"]
