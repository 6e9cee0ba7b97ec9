"""Files that show what the compiler made: lowered programs as text and as a page."""

from __future__ import annotations

import enum
import html
import os
from pathlib import Path

from parhelion.ir.pipeline import ArgKind, Lowered
from parhelion.ir.text import text


class StmtOutputFormat(enum.Enum):
    """How `compile_to_lowered_stmt` writes the program."""

    Text = "text"
    HTML = "html"


def write(filename: str | os.PathLike[str], content: str) -> None:
    """Writes a text file."""
    Path(filename).write_text(content, encoding="utf-8")


def write_lowered(
    lowered: Lowered, filename: str | os.PathLike[str], fmt: StmtOutputFormat
) -> None:
    """Writes a lowered program."""
    as_page = fmt is StmtOutputFormat.HTML
    write(filename, lowered_page(lowered) if as_page else lowered_text(lowered))


def lowered_text(lowered: Lowered) -> str:
    """The arguments, one a line, and the program."""
    lines = [f"func {lowered.name}("]
    for a in lowered.args:
        what = f"{a.symbol.type}"
        if a.kind is not ArgKind.SCALAR:
            what = f"{a.kind.value} buffer of {what}"
        lines.append(f"  {a.name}: {what},")
    body = text(lowered.body).rstrip("\n")
    lines += [") {", *[f"  {line}" for line in body.split("\n")], "}", ""]
    return "\n".join(lines)


_STYLE = """
body { font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; margin: 2em;
       background: #fff; color: #222; }
details { margin: 0; } summary { list-style: none; cursor: pointer; }
summary::before { content: "▾ "; color: #999; }
details:not([open]) > summary::before { content: "▸ "; }
details > div { margin-left: 1.2em; border-left: 1px solid #ddd; padding-left: .8em; }
p { margin: 0; padding-left: 1.2em; white-space: pre-wrap; }
b { color: #7b2d8b; font-weight: 600; } i { color: #1a6b3c; font-style: normal; }
"""

_KEYWORDS = frozenset(
    ("for", "parallel", "vectorized", "unrolled", "if", "else", "let", "in", "func")
    + ("produce", "consume", "realize", "allocate", "free", "assert", "block")
)


def lowered_page(lowered: Lowered) -> str:
    """A page of HTML, self-contained, whose loops fold and unfold at a click."""
    lines = lowered_text(lowered).rstrip("\n").split("\n")
    body = "\n".join(_nested(lines))
    title = html.escape(f"{lowered.name}: the lowered program")
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{title}</h1>\n{body}\n</body></html>\n"
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _nested(lines: list[str]) -> list[str]:
    """Lines by indentation: one that has deeper lines after it can be folded."""
    out: list[str] = []
    open_at: list[int] = []
    for i, line in enumerate(lines):
        depth = _indent(line)
        while open_at and open_at[-1] >= depth:
            out.append("</div></details>")
            open_at.pop()
        if i + 1 < len(lines) and _indent(lines[i + 1]) > depth:
            out.append(f"<details open><summary>{_coloured(line)}</summary><div>")
            open_at.append(depth)
        else:
            out.append(f"<p>{_coloured(line)}</p>")
    out += ["</div></details>"] * len(open_at)
    return out


def _coloured(line: str) -> str:
    words = html.escape(line.strip()).split(" ")
    return " ".join(f"<b>{w}</b>" if w in _KEYWORDS else w for w in words)
