"""What recursive filters are asked to reach, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.recursive.case import LFILTER, OPENCV, OURS, SCIPY, UNTILED, Case
from benchmarks.recursive.found import Point, Results, of_threads, points

#: By the number of threads: times of lfilter over ours, in every case of images.
OVER_LFILTER = {"1": 3.5, "2": 6.0}
#: Times of our untiled line over ours, from order 3 on.
OVER_UNTILED, LEAST_ORDER = 2.0, 3
#: The Gaussian's times, at its side: of OpenCV's, and of Halide's best schedule.
SIDE, OVER_BLUR, OVER_HALIDE = 4096, 2.0, 1.2
#: The table's: of cv2.integral's time over ours, or of a copy's.
OVER_INTEGRAL, OF_COPY = 1.5, 0.7
#: Our default's time over that of the best by hand.
DEFAULT_OVER_BEST = 1.1
#: The largest time for a pixel over the least, from this side on.
FLAT, FLAT_FROM = 1.25, 2048

HEAD = ("what", "threads", "wanted", "found", "")
Row = list[str]
#: What is asked of a point, in times, and None where it is not.
Ratio = Callable[[Point], float | None]


def rows(results: Results, cases: Mapping[str, Case]) -> Iterator[Row]:
    """All of them: what, threads, the limit, what was found, whether it holds."""
    images = [c for c in cases.values() if c.kind == "image"]
    for case in images:
        yield from _over_lfilter(results, case)
    yield from _untiled(results)
    yield from _gaussian(results)
    yield from _tables(results, images)
    for case in cases.values():
        yield from _default(results, case)
    for case in images:
        yield from _flat(results, case)


def _ratio(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a / b


def _row(what: str, threads: str, limit: str, found: str, holds: bool) -> Row:
    return [what, threads, limit, found, "ok" if holds else "MISSED"]


def _extreme(
    found: Sequence[Point], ratio: Ratio, choose: Callable[..., float]
) -> tuple[float, int] | None:
    """The least or the largest ratio, and the value at which it was found."""
    every = [(r, p.value) for p in found if (r := ratio(p)) is not None]
    if not every:
        return None
    wanted = choose([r for r, _ in every])
    return next(one for one in every if one[0] == wanted)


def _at_least(
    results: Results, case: str, what: str, limits: Mapping[str, float], ratio: Ratio
) -> Iterator[Row]:
    """A row for each number of threads: the least ratio of all points."""
    for threads, found in of_threads(results, case).items():
        least = _extreme(found, ratio, min)
        if least is not None and threads in limits:
            limit = limits[threads]
            shown = f"{least[0]:.2f} (at {least[1]})"
            yield _row(what, threads, f"≥ {limit:g}", shown, least[0] >= limit)


def _over_lfilter(results: Results, case: Case) -> Iterator[Row]:
    def ratio(p: Point) -> float | None:
        return _ratio(p.named(SCIPY, LFILTER), p.ours())

    what = f"{case.title}: lfilter's time over ours"
    yield from _at_least(results, case.name, what, OVER_LFILTER, ratio)


def _untiled(results: Results) -> Iterator[Row]:
    def ratio(p: Point) -> float | None:
        if p.value < LEAST_ORDER:
            return None
        return _ratio(p.named(OURS, UNTILED), p.ours())

    limits = dict.fromkeys(OVER_LFILTER, OVER_UNTILED)
    what = f"a line, orders {LEAST_ORDER} on: untiled over our fastest"
    yield from _at_least(results, "orders", what, limits, ratio)


def _gaussian(results: Results) -> Iterator[Row]:
    for p in points(results, "gaussian3"):
        if p.value != SIDE:
            continue
        rivals = (
            ("cv2.GaussianBlur's", p.seconds(OPENCV), OVER_BLUR),
            ("Halide's fastest", p.halide(), OVER_HALIDE),
        )
        for name, seconds, limit in rivals:
            found = _ratio(seconds, p.ours())
            if found is not None:
                what = f"Gaussian, {SIDE} x {SIDE}: {name} time over ours"
                shown = f"{found:.2f}"
                yield _row(what, p.threads, f"≥ {limit:g}", shown, found >= limit)


def _tables(results: Results, images: Sequence[Case]) -> Iterator[Row]:
    """Either of two goals is enough, at the largest size."""
    for case in images:
        if not case.name.startswith("sat_"):
            continue
        for threads, found in of_threads(results, case.name).items():
            p = max(found, key=lambda one: one.value)
            over = _ratio(p.seconds(OPENCV), p.ours())
            share = _ratio(p.copy(), p.ours())
            if over is None or share is None:
                continue
            yield _row(
                f"{case.title}, {p.value} x {p.value}: cv2.integral's time over ours,"
                " or our share of a copy's rate",
                threads,
                f"≥ {OVER_INTEGRAL:g} or ≥ {OF_COPY:.0%}",
                f"{over:.2f}, {share:.0%}",
                over >= OVER_INTEGRAL or share >= OF_COPY,
            )


def _default(results: Results, case: Case) -> Iterator[Row]:
    def ratio(p: Point) -> float | None:
        return _ratio(p.default(), p.by_hand())

    for threads, found in of_threads(results, case.name).items():
        most = _extreme(found, ratio, max)
        if most is not None:
            yield _row(
                f"{case.title}: default over the best by hand",
                threads,
                f"≤ {DEFAULT_OVER_BEST:g}",
                f"{most[0]:.2f} (at {most[1]})",
                most[0] <= DEFAULT_OVER_BEST,
            )


def _flat(results: Results, case: Case) -> Iterator[Row]:
    for threads, found in of_threads(results, case.name).items():
        times = [
            (p.value, t)
            for p in found
            if p.value >= FLAT_FROM and (t := p.per_point(p.default())) is not None
        ]
        if len(times) < 2:
            continue
        ratio = max(t for _, t in times) / min(t for _, t in times)
        sides = [side for side, _ in times]
        yield _row(
            f"{case.title}, {min(sides)} to {max(sides)}: time for a pixel, largest"
            " over least",
            threads,
            f"≤ {FLAT:g}",
            f"{ratio:.2f}",
            ratio <= FLAT,
        )


__all__ = ["HEAD", "rows"]
