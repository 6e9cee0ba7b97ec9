"""The page of the docs about recursive filters, and the summary that is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.recursive import counts, goals
from benchmarks.recursive.case import Case
from benchmarks.recursive.drawing import (
    IMAGE_LINES,
    SIGNAL_LINES,
    Line,
    best_of_variants,
    draw_lines,
    draw_variants,
)
from benchmarks.recursive.found import Point, Results, measured, points, troubles
from benchmarks.report import table

_HEAD = """# Recursive filters, measured

{scale} sizes; written by `python -m benchmarks.recursive{flag} --page {path}`. The
filters are those of "Compiling High Performance Recursive Filters" (Chaurasia and
others, 2015), here on a processor. All contenders of one size run in turn in one
process, one process for each number of threads; times are minima. Before it is timed,
each result is compared with the exact one, in double precision; a wrong one is an
error. [How to write these filters](recursive-filters.md).

"Default" is a filter without `split` and without any schedule. SciPy's `lfilter` runs
in float32 on one thread; OpenCV, Halide 21 and Parhelion have the same number of
threads. Halide's definition is the paper's untiled one (section 4), under the schedules
of `benchmarks/recursive/untiled.py`; no directive tiles a scan along its own dimension.
"Plain Funcs, strips" is that definition and one of these schedules under Parhelion.
The copies read and write each pixel once: the time that memory alone asks for.

## Where it ran

{machine}

## What must hold

{goals}

{troubles}"""

#: What is told of images, of variants of one filter, and of lines, where it was
#: measured.
_IMAGES = """
## Images

Nanoseconds for a pixel, as in the paper's Figures 6 to 11. Pixels are noise around
zero: sums of positive ones lose the digits of float32 in a large image, whoever adds
them. What is outside of the image is zero, but for `spline_filter` and `GaussianBlur`;
these are compared away from the edges.

{images_plot}

{images}

## Contenders one by one

Of the largest size; the last column is how far the result is from the exact one.
*Unstable* methods lose all digits to rounding, so that nothing is expected of them, and
their times are never counted as the fastest. The paper finds a table of order 3
unstable, and sums of order 2 along one dimension stable (section 8); in tiles, sums of
order 2 lose digits as well, more in wider ones. In integers, which wrap, both are
exact.

{details}
"""
_VARIANTS = """
## Reorganizations

The paper's Figure 2: the Gaussian of order 3 with its filters overlapped and cascaded,
each in its best width of tiles. Filters along x and along y are not yet computed in the
same tiles here: what is overlapped in *xy* runs along x and then along y, so that *3xy*
and *3x_3y* are the same. No filters of order 1 make the Gaussian, whose poles are
complex: *1xy_1xy_1xy* has real ones and the same variance.

{variants_plot}

{variants}
"""
_SIGNALS = """
## Lines

Nanoseconds for a sample on {samples} samples, as in the paper's Figures 12 and 13.
*Untiled* is an ordinary Func, with one update for each filter, on one thread. The first
table is of one filter of each order; its factors of order 2 run each in tiles of their
own (cascaded) or all in the same ones (overlapped). The second one is of several
filters of order 2: in the same tiles, each in its own, or in two halves.

{signals_plot}

{signals}
"""
_COUNTS = """
## Lines of code

Of a filter with its signature, definition and choice of tiles
(`benchmarks/recursive/applications.py`). The paper gives ranges for all its examples
(section 8): in its language, in CUDA without tiles, and in CUDA with tiles.

{counts}
"""


def write(results: Results, cases: Mapping[str, Case], path: Path) -> list[Path]:
    """Writes the page, and its plots beside it. Returns what was written."""
    shown = measured(results, cases)
    by_kind = {k: [c for c in shown if c.kind == k] for k in ("image", "signal")}
    plots = {k: path.with_name(f"{path.stem}-{k}s.svg") for k in (*by_kind, "variant")}
    written: list[Path] = []
    for kind, lines in (("image", IMAGE_LINES), ("signal", SIGNAL_LINES)):
        if by_kind[kind]:
            draw_lines(results, by_kind[kind], lines, plots[kind])
            written.append(plots[kind])
    variants = list(points(results, "variants"))
    if variants:
        draw_variants(variants, plots["variant"])
        written.append(plots["variant"])

    def plot(kind: str, words: str) -> str:
        return f"![{words}]({plots[kind].name})" if plots[kind] in written else ""

    scale = results["scale"]
    found = list(troubles(results))
    text = _HEAD.format(
        scale=scale.capitalize(),
        flag=_flags(results, cases),
        path=f"docs/{path.name}",
        machine=table(["", ""], [[k, v] for k, v in results["machine"].items()]),
        goals=table(goals.HEAD, goals.rows(results, cases)),
        troubles="".join([f"- {t}\n" for t in found]),
    )
    if by_kind["image"]:
        text += _IMAGES.format(
            images_plot=plot("image", "Time for a pixel by size"),
            images=_tables(results, by_kind["image"], IMAGE_LINES),
            details="\n\n".join(_details(results, by_kind["image"])),
        )
    if variants:
        text += _VARIANTS.format(
            variants_plot=plot("variant", "Time for a pixel of each variant"),
            variants=table(["", "threads", "size", "ms", "tiles"], _variants(variants)),
        )
    if by_kind["signal"]:
        text += _SIGNALS.format(
            samples=_samples(results, by_kind["signal"]),
            signals_plot=plot("signal", "Time for a sample by order"),
            signals=_tables(results, by_kind["signal"], SIGNAL_LINES),
        )
    text += _COUNTS.format(
        counts=table(["", "ours", "paper's", "CUDA", "CUDA, in tiles"], counts.rows())
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [path, *written]


def _flags(results: Results, cases: Mapping[str, Case]) -> str:
    """The options by which so much was measured."""
    scale, names = results["scale"], list(results["cases"])
    flags = "" if scale == "usual" else f" --{scale}"
    if set(names) != set(cases):
        flags += f" --case {' '.join(names)}"
    threads = dict.fromkeys([k for one in results["cases"].values() for k in one])
    if list(threads) != ["1", "2"]:
        flags += f" --threads {','.join(threads)}"
    return flags


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def rows(found: Sequence[Point], lines: Sequence[Line]) -> Iterator[list[str]]:
    """A row for each point: threads, the parameter, nanoseconds of each line."""
    for p in found:
        times = [_number(p.per_point(seconds(p))) for _, _, seconds in lines]
        yield [p.threads, str(p.value), *times]


def _tables(results: Results, cases: Sequence[Case], lines: Sequence[Line]) -> str:
    """A heading and a table for each case."""
    parts = []
    for case in cases:
        head = ["threads", case.parameter, *[name for name, _, _ in lines]]
        found = list(points(results, case.name))
        parts.append(_headed(case.title, table(head, rows(found, lines))))
    return "\n\n".join(parts)


def _headed(title: str, text: str) -> str:
    return f"### {title[0].upper()}{title[1:]}\n\n{text}"


def _details(results: Results, cases: Sequence[Case]) -> Iterator[str]:
    """Of each case, all contenders at its largest size."""
    for case in cases:
        found = list(points(results, case.name))
        largest = max([p.value for p in found])
        at = [p for p in found if p.value == largest]
        head = ["", *[f"ms, {p.threads} thread(s)" for p in at]]
        head += [f"median, {p.threads}" for p in at]
        labels = dict.fromkeys([label for p in at for label in p.contenders])
        lines = [_detail(label, at) for label in labels]
        title = f"{case.title}, {case.parameter} {largest}"
        yield _headed(title, table([*head, "difference"], lines))


def _detail(label: str, at: Sequence[Point]) -> list[str]:
    entries = [p.contenders.get(label, {}) for p in at]
    cells = [
        f"{entry[what] * 1e3:.2f}" if what in entry else ""
        for what in ("min", "median")
        for entry in entries
    ]
    apart = [e["difference"] for e in entries if "difference" in e]
    unstable = any([e.get("unstable", False) for e in entries])
    wrong = any(["wrong" in e for e in entries])
    told = f"{max(apart):.1e}" if apart else ""
    told += " (unstable)" if unstable else ""
    return [label, *cells, f"{told} WRONG".strip() if wrong else told]


def _variants(found: Sequence[Point]) -> Iterator[list[str]]:
    for p in found:
        for name, entry in best_of_variants(p).items():
            width = entry["name"].rpartition(" ")[2]
            yield [name, p.threads, str(p.value), f"{entry['min'] * 1e3:.2f}", width]


def _samples(results: Results, cases: Sequence[Case]) -> str:
    """How many samples the lines had."""
    found = {p.points for case in cases for p in points(results, case.name)}
    return " and ".join([f"{n:,}" for n in sorted(found)]) or "no"


def summary(results: Results, cases: Mapping[str, Case]) -> str:
    """All tables, as text."""
    lines: list[str] = []
    for case in measured(results, cases):
        lines.append(f"{case.title} (ns each):")
        found = list(points(results, case.name))
        if case.kind == "variants":
            lines += ["  " + "  ".join(row) for row in _variants(found)]
            continue
        shown = IMAGE_LINES if case.kind == "image" else SIGNAL_LINES
        head = ["threads", case.parameter, *[name for name, _, _ in shown]]
        lines += _aligned([head, *rows(found, shown)])
    lines.append("what must hold:")
    lines += _aligned(list(goals.rows(results, cases)))
    lines.append("lines of code:")
    lines += _aligned(counts.rows())
    lines += [f"ERROR: {t}" for t in troubles(results)]
    return "\n".join(lines)


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    if not table:
        return []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  "
        + "  ".join([c.ljust(w) for c, w in zip(row, widths, strict=True)]).rstrip()
        for row in table
    ]


__all__ = ["summary", "write"]
