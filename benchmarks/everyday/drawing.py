"""The best of a number of random legal schedules of a pipeline, which is kept."""

from __future__ import annotations

import parhelion as hl
from benchmarks.auto import library
from benchmarks.auto.batch import Spec, run_batches
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.made import digest
from benchmarks.auto.supervise import Failed
from benchmarks.case import Case
from benchmarks.everyday.baselines import DRAWS, RANDOM

#: Seconds after which a draw that compiles, or runs once, is given up.
_PATIENCE = 25.0


def drawn(case: Case) -> dict[str, str]:
    """Different random legal schedules as Python, by the number of the draw. Where the
    same one is drawn again, there are fewer."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for seed in range(DRAWS):
        app = case.algorithm(hl)
        set_estimates(case, app, case.inputs())
        params = hl.AutoschedulerParams(RANDOM, {"seed": str(seed)})
        pipeline = hl.Pipeline([app.output])
        result = pipeline.apply_autoscheduler(hl.get_host_target(), params)
        text = str(result.to_python())
        if (key := digest(text)) not in seen:
            seen.add(key)
            found[f"draw {seed}"] = text
    return found


def keep_best(case: Case, threads: int, seconds: float) -> str:
    """Runs random schedules and keeps the fastest. Returns what came of it, in words.

    seconds: to measure one of them, at first; close ones get longer.
    """
    texts = drawn(case)
    (found,) = run_batches([Spec(case.name, texts)], threads, seconds, _PATIENCE)
    if isinstance(found, Failed):
        raise found
    entries, _ = found
    times = {n: float(e["min"]) for n, e in entries.items() if "min" in e}
    wrong = [n for n in times if not entries[n]["same"]]
    if wrong:
        raise Failed(f"{case.name}: {', '.join(wrong)} computed something else")
    told = f"{len(times)} of {len(texts)} random schedules could be run in time"
    if not times:
        raise Failed(f"{case.name}: {told}")
    best = min(times, key=times.__getitem__)
    text = f"# the fastest of {told}: {best}\n{texts[best]}"
    library.keep_searched(RANDOM, case.name, threads, text)
    return f"{told}; the fastest takes {times[best] * 1e3:.2f} ms"


__all__ = ["drawn", "keep_best"]
