"""What notebooks show of profiles, reports, schedules that were found, and errors."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from parhelion.errors import HalideError
from parhelion.lang.report import TITLES, cells_of
from parhelion.runtime.profile import size_text
from parhelion.views.page import styled

if TYPE_CHECKING:
    from parhelion.autoschedule.decisions import Explanation
    from parhelion.autoschedule.result import AutoSchedulerResults
    from parhelion.lang.report import Report
    from parhelion.runtime.profile import Profile

#: Selects what stands behind the button, and copies it: without asking for permission,
#: and also where the page came over a network without encryption.
_COPY = (
    "<button type='button' class='ph-copy' onclick='getSelection().selectAllChildren("
    'this.nextElementSibling);document.execCommand("copy")\'>copy</button>'
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def code(text: str) -> str:
    """Code, with a button that copies it."""
    shown = f"<pre class='ph-source'>{escape(text.strip())}</pre>"
    return f"<div class='ph-code-box'>{_COPY}{shown}</div>"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text and of `Markup`, with a column of names and others of numbers."""
    head = "".join([f"<th>{escape(h)}</th>" for h in heads])
    body = "\n".join([f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows])
    return f"<table class='ph-table'><tr>{head}</tr>\n{body}</table>"


def _cell(text: str) -> str:
    return f"<td>{text if isinstance(text, Markup) else escape(text)}</td>"


def bar(share: float, text: str = "") -> Markup:
    """A part of a whole, 0 to 1, as a bar, with a text or in percent."""
    wide = min(max(100 * share, 0.0), 100.0)
    told = escape(text) or f"{100 * share:.1f} %"
    return Markup(f"<span class='ph-share' style='--share:{wide:.1f}%'>{told}</span>")


def profile_html(profile: Profile) -> str:
    """Where the time of runs goes, the slowest Func first; all of it as text below."""
    rows = [
        [
            f.name,
            time_text(f.seconds),
            bar(f.share),
            f"{f.threads:.2g}",
            f"{f.calls:,.0f}",
            size_text(f.peak + f.stack) if f.peak + f.stack else "",
        ]
        for f in sorted(profile.funcs, key=lambda f: -f.seconds)
    ]
    runs = "1 run" if profile.runs == 1 else f"{profile.runs} runs"
    head = (
        f"<p><b>{escape(profile.pipeline)}</b> {time_text(profile.seconds)} <span"
        f" class='ph-dim'>each of {runs}, threads at work: {profile.threads:.2g}</span>"
        "</p>"
    )
    heads = ("Func", "time", "share", "threads", "produced", "storage")
    return styled(f"{head}\n{table(heads, rows)}\n{_as_text(str(profile))}")


def report_html(report: Report) -> str:
    """What a schedule does; all of it as text below."""
    peak = f"storage at most {size_text(report.peak)}"
    head = f"<p><b>{escape(report.pipeline)}</b> <span class='ph-dim'>{peak}</span></p>"
    shown = table(("Func", *TITLES), [cells_of(f) for f in report.funcs])
    return styled(f"{head}\n{shown}\n{_as_text(str(report))}")


def result_html(result: AutoSchedulerResults) -> str:
    """A schedule that was found: its code, and why it is so."""
    told = [f"found in {time_text(result.seconds)}"]
    if result.predicted_seconds is not None:
        told.append(f"predicted to take {time_text(result.predicted_seconds)}")
    name = escape(result.scheduler_name)
    head = f"<p><b>{name}</b> <span class='ph-dim'>{', '.join(told)}</span></p>"
    why = _folded("why it is so", _explained(result.explain()))
    return styled(f"{head}\n{code(result.to_python())}\n{why}")


def explanation_html(explanation: Explanation) -> str:
    """What an automatic scheduler decided."""
    return styled(_explained(explanation))


def _explained(explanation: Explanation) -> str:
    """The heading, a table of the decisions with their reasons, and the notes."""
    from parhelion.autoschedule.decisions import cost_text

    rows = []
    for d in explanation.decisions:
        second = d.runner_up
        other = "" if second is None else second.label
        gain = "" if d.gain is None else cost_text(d.gain, explanation.unit)
        cost = cost_text(d.chosen.cost, explanation.unit)
        rows.append([d.kind, d.func, d.chosen.label, cost, other, gain, d.reason])
    heads = ["decision", "Func", "chosen", "cost", "runner-up", "gain", "because"]
    if not any([row[-1] for row in rows]):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    parts = [f"<p>{'<br>'.join(map(escape, explanation.heading))}</p>"]
    if rows:
        parts.append(table(heads, rows))
    parts += [f"<p>note: {escape(note)}</p>" for note in explanation.notes]
    return "\n".join([*parts, _as_text(str(explanation))])


def error_html(error: HalideError) -> str:
    """An error: what is wrong, the line, and what to do."""
    name = escape(type(error).__name__)
    parts = [f"<p><b>{name}</b>: {escape(error.what)}</p>"]
    if error.at is not None:
        parts.append(f"<p class='ph-dim'>{escape(str(error.at))}</p>")
        text, marks = error.at.marked()
        if text:
            first = len(marks) - len(marks.lstrip())
            marked = f"<mark>{escape(text[first : len(marks)])}</mark>"
            line = escape(text[:first]) + marked + escape(text[len(marks) :])
            parts.append(f"<pre class='ph-source'>{line}</pre>")
    if error.detail:
        parts.append(f"<pre class='ph-source'>{escape(error.detail)}</pre>")
    if error.legal:
        legal = "".join([f"<li><code>{escape(one)}</code></li>" for one in error.legal])
        parts.append(f"<p>legal here:</p><ul>{legal}</ul>")
    if error.hint:
        parts.append(f"<p><b>hint:</b> {escape(error.hint)}</p>")
    return styled("\n".join(["<div class='ph-wrong'>", *parts, "</div>"]))


def _as_text(whole: str) -> str:
    return _folded("as text", code(whole))


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n{body}</details>"


def time_text(seconds: float) -> str:
    """A time to be read, in three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


__all__ = [
    "Markup",
    "bar",
    "code",
    "error_html",
    "explanation_html",
    "profile_html",
    "report_html",
    "result_html",
    "table",
    "time_text",
]
