"""`RecFilter.autotune`: a measured search for the tiles of recursive filters."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from parhelion.autoschedule.driver import given_to
from parhelion.autoschedule.machine.fit import processor
from parhelion.errors import ScheduleError, here
from parhelion.lang.checked import boolean
from parhelion.lang.func import Func
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import get_host_target
from parhelion.recfilter.coefficients import amplified
from parhelion.recfilter.filters import Filter, most_growth
from parhelion.recfilter.measuring import Bench, most_steps, progress
from parhelion.recfilter.orders import settled
from parhelion.recfilter.tuned import Tuned, Way, counted, from_json
from parhelion.runtime import cache
from parhelion.runtime.threads import get_num_threads
from parhelion.runtime.versions import compiler
from parhelion.schedule.keys import NotPortable, key_of
from parhelion.schedule.reach import Reach

if TYPE_CHECKING:
    from parhelion.recfilter.recfilter import RecFilter

#: Changes whenever the ways that are tried do, or the text that is kept.
_FORMAT = 1
#: The widths that are tried, in points.
_WIDTHS = [1 << k for k in range(6, 13)]
#: A budget that no search uses up, in seconds.
_LONGEST = 1e9
#: How often the search goes on from the best way that it has found.
_STEPS = 3


def autotune(
    one: RecFilter,
    seconds: float,
    inputs: Mapping[object, object] | None,
    shown: bool | None,
) -> Tuned:
    """See `RecFilter.autotune`."""
    what = f"{one._name}.autotune"
    one._open("is tuned")
    budget = _budget(seconds, what)
    one._type()
    one._check_undirected(what)
    if shown is not None:
        shown = boolean(shown, f"{what}: progress")
    search = _Search(one, budget, {} if inputs is None else inputs, what)
    search.check_inputs()
    found = search.kept()
    if found is None:
        found = search.run(shown)
        search.keep(found)
    search.take(one, found.best)
    return found


def _budget(seconds: Any, what: str) -> float:
    kinds = int | float | np.integer | np.floating
    is_number = isinstance(seconds, kinds) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < math.inf:
        raise ScheduleError(
            f"{what}: the budget must be a positive number of seconds, not {seconds!r}",
            at=here(),
            hint="a way takes a second or two to compile, and there are up to some 20",
        )
    return float(min(seconds, _LONGEST))


class _Search:
    """The ways to compute a RecFilter, and which of them is the fastest here."""

    def __init__(
        self, one: RecFilter, budget: float, inputs: Mapping[object, object], what: str
    ) -> None:
        self.filter, self.budget, self.inputs, self.what = one, budget, inputs, what
        #: The widths that each dimension may be cut into, besides whole lines.
        self.widths = self._choices()
        self.names = [one._dims[k].name() for k in self.widths]
        self.threads = get_num_threads()
        self._key: str | None = None

    def _choices(self) -> dict[int, list[int]]:
        one, t, found = self.filter, self.filter._type(), dict[int, list[int]]()
        for k, d in enumerate(one._dims):
            mine = [f for f in one._filters if f.dim == k]
            if not any([f.order for f in mine]) or not _are_constant(mine):
                continue
            backs = [
                g.constants()[1]
                for f in mine
                for g in settled(Filter(k, f.causal, (1,), f.feedback), t)
            ]
            order, most = max([f.order for f in mine]), most_growth(t)
            found[k] = [
                w
                for w in _WIDTHS
                if order <= w < d.extent
                and (
                    not t.is_float()
                    or max([amplified(b, w, d.extent) for b in backs]) <= most
                )
            ]
        if not found:
            raise ScheduleError(
                f"{self.what}: {one._name} has no recursive filter of constant"
                " coefficients, so that there are no tiles to choose",
                at=here(),
                hint="add the filters first, then tune",
            )
        return found

    # Ways.

    def _whole(self) -> Way:
        return Way(dict.fromkeys(self.names))

    def _alike(self) -> Iterable[Way]:
        """All dimensions in tiles of about the same width."""
        yield self._whole()
        for width in _WIDTHS:
            widths = [width if width in w else None for w in self.widths.values()]
            if any(widths):
                yield from self._both(dict(zip(self.names, widths, strict=True)))

    def _both(self, widths: Mapping[str, int | None]) -> list[Way]:
        """Dimensions in the same tiles, and in tiles of their own if that differs."""
        ways = [Way(widths, apart) for apart in (False, True)]
        parts = [self._copy(way)._parts() for way in ways]
        return ways[:1] if parts[0] == parts[1] else ways

    def _near(self, way: Way) -> Iterable[Way]:
        """One dimension in other tiles."""
        for name, choices in zip(self.names, self.widths.values(), strict=True):
            width = way.widths[name]
            tried: list[int | None] = [width * 2, width // 2] if width else []
            for other in [*tried, None] if width else choices[2:5]:
                if other is None or other in choices:
                    yield Way({**way.widths, name: other}, way.apart)

    def take(self, one: RecFilter, way: Way) -> None:
        """Has a RecFilter computed in a way, as if it had been split so."""
        for k, width in zip(self.widths, way.widths.values(), strict=True):
            one._widths[k] = one._dims[k].extent if width is None else width
        one._apart = way.apart

    @functools.cached_property
    def _in_lines(self) -> Func:
        """The filters in whole lines; they read the same inputs in all ways."""
        return self._copy(self._whole()).as_func()

    def check_inputs(self) -> None:
        """Raises TypeMismatchError for inputs that the pipeline does not have, and for
        values of other types."""
        extents = [d.extent for d in self.filter._dims]
        given_to(Pipeline(self._in_lines), (), extents, self.inputs, what=self.what)

    def _copy(self, way: Way) -> RecFilter:
        one = self.filter
        made = one._like(one._name, one._filters, one._source)
        self.take(made, way)
        return made

    # Searching.

    def run(self, shown: bool | None) -> Tuned:
        bench = Bench(
            [d.extent for d in self.filter._dims],
            self.inputs,
            time.perf_counter() + self.budget,
            self.what,
        )
        found: dict[object, tuple[Way, float | str | None]] = {}
        ways = list(self._alike())
        for _ in range(_STEPS):
            label = f"{self.filter._name}: {counted(len(ways))}"
            with progress(most_steps(len(ways)), label, shown) as step:
                times = bench.times([self._making(way) for way in ways], step)
            for way, took in zip(ways, times, strict=True):
                found[way.key] = (way, took)
            best = min([pair for pair in found.values() if _ran(pair)], key=_seconds)
            if bench.is_over() or len(self.names) == 1 or best[0] not in ways:
                break
            others = [w for w in self._near(best[0]) if w.key not in found]
            if not others:
                break
            # The best one runs beside those that may be better: times of one moment.
            ways = [best[0], *others]
        return self._result(list(found.values()))

    def _making(self, way: Way) -> Callable[[], Func]:
        return lambda: self._copy(way).as_func()

    def _result(self, found: Sequence[tuple[Way, float | str | None]]) -> Tuned:
        ran = sorted([pair for pair in found if _ran(pair)], key=_seconds)
        refused = dict.fromkeys([why for _, why in found if isinstance(why, str)])
        return Tuned(
            self.filter._name,
            tuple([way for way, _ in ran]),
            tuple([_seconds(pair) for pair in ran]),
            self.budget,
            self.threads,
            len([took for _, took in found if took is None]),
            tuple(refused),
        )

    # What is kept.

    def key(self) -> str | None:
        """The name of what is kept of these filters; None if that cannot be told in
        another process, as of Funcs that foreign code computes."""
        if self._key is None:
            whole = self._in_lines._function
            machine = (processor(), str(get_host_target()), self.threads)
            parts = (_FORMAT, compiler(), machine, tuple(self.widths))
            try:
                told = key_of((*parts, Reach((whole,)).look()), names=False)
            except NotPortable:
                return None
            self._key = f"recfilter-{told.digest}"
        return self._key

    def kept(self) -> Tuned | None:
        """What an earlier search has found that had as much time."""
        key = self.key()
        raw = None if key is None else cache.load(key)
        if key is None or raw is None:
            return None
        try:
            found = from_json(raw.decode(), self.filter._name, self.names, self.threads)
        except (ValueError, KeyError, TypeError):
            cache.discard(key)
            return None
        return found if not found.left or found.budget >= self.budget else None

    def keep(self, found: Tuned) -> None:
        key = self.key()
        if key is not None:
            cache.store(key, found.to_json().encode())


def _are_constant(filters: Sequence[Filter]) -> bool:
    return all([f.is_constant for f in filters])


def _ran(pair: tuple[Way, float | str | None]) -> bool:
    return isinstance(pair[1], float)


def _seconds(pair: tuple[Way, float | str | None]) -> float:
    assert isinstance(pair[1], float)
    return pair[1]


__all__ = ["autotune"]
