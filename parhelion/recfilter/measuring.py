"""Measures pipelines of the same values beside each other, while there is time."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from parhelion.autoschedule import trials
from parhelion.autoschedule.driver import given_to
from parhelion.autoschedule.pipeline.sizes import find_sizes
from parhelion.errors import HalideError, TimeLimitError, here
from parhelion.ir.bindings import Bindings
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.runner import Runner

#: How often each is run in turns, and by how many times as long as the fastest one a
#: pipeline may take and still be run again.
_ROUNDS, _NEAR = 7, 1.5


class Bench:
    """Runs pipelines on the same images, given or random, into the same outputs.

    extents: of the output. ends: when, by `time.perf_counter`, no other is begun. what:
    names who measures, in errors.
    """

    def __init__(
        self,
        extents: Sequence[int],
        inputs: Mapping[object, object],
        ends: float,
        what: str,
    ) -> None:
        self.extents, self.inputs, self.ends = list(extents), inputs, ends
        self.what = what
        self._bindings: Bindings | None = None
        self._made: list[Buffer] = []

    def is_over(self) -> bool:
        return time.perf_counter() >= self.ends

    def times(
        self, made: Sequence[Callable[[], Func]], step: Callable[[], None]
    ) -> list[float | str | None]:
        """The least seconds of each pipeline; why it cannot run, in words; or None for
        those that were not begun in time, of which the first is none. step: is called
        once for each run.

        Raises what the first one raises: others can then not run either.
        """
        runners: dict[int, Runner] = {}
        found: list[float | str | None] = [None] * len(made)
        for k, each in enumerate(made):
            if k == 0 or not self.is_over():
                try:
                    runners[k] = self._compiled(each())
                except TimeLimitError:
                    raise
                except HalideError as error:
                    if k == 0:
                        raise
                    found[k] = error.what
            step()
        best = dict.fromkeys(runners, float("inf"))
        for n in range(_ROUNDS):
            for k in best:
                # Each is run once, at least.
                if n == 0 or not self.is_over():
                    best[k] = min(best[k], self._run(runners[k]))
                    found[k] = best[k]
                step()
            least = min(best.values(), default=0.0)
            best = {k: t for k, t in best.items() if t <= _NEAR * least}
        return found

    def _compiled(self, out: Func) -> Runner:
        outputs = (out._function,)
        if self._bindings is None:
            given = given_to(
                Pipeline(out), (), self.extents, self.inputs, what=self.what
            )
            sizes = find_sizes(outputs, given)
            self._bindings = trials.bindings_of(outputs, sizes, given.images)
        runner = Runner(outputs, out.name(), bindings=self._bindings)
        if not self._made:
            boxes = [[(0, n) for n in self.extents] for _ in runner.targets]
            self._made = trials.prepared(runner, boxes)
            # With images for those inputs that are as large as is needed.
            self._bindings = runner.bindings
        runner.refresh()
        runner.run(runner.inputs(), self._made)
        return runner

    def _run(self, runner: Runner) -> float:
        inputs = runner.inputs()
        start = time.perf_counter()
        runner.run(inputs, self._made)
        return time.perf_counter() - start


def most_steps(count: int) -> int:
    """How often `Bench.times` steps at most for so many pipelines."""
    return count * (1 + _ROUNDS)


@contextmanager
def progress(
    length: int, label: str, shown: bool | None
) -> Iterator[Callable[[], None]]:
    """A progress bar of so many steps on the standard error output, which is there
    within the block; what makes a step.

    shown: None for where that is a terminal, and the library of the bar is there.
    Raises HalideError where it is not and the bar was asked for.
    """
    there = importlib.util.find_spec("click") is not None
    if shown and not there:
        raise HalideError(
            "the progress bar is drawn by click, which is not installed",
            at=here(),
            hint="pip install 'parhelion[cli]', or progress=False",
        )
    if not (there and sys.stderr.isatty() if shown is None else shown):
        yield lambda: None
        return
    import click  # only here: most programs never measure

    with click.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield lambda: bar.update(1)
        bar.update(length - bar.pos)


__all__ = ["Bench", "most_steps", "progress"]
