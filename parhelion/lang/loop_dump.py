"""Files that show what the compiler made: the lowered program as text and as a page."""

from __future__ import annotations

import enum
import os

from parhelion.ir.pipeline import ArgKind, Lowered
from parhelion.ir.text import text


class StmtOutputFormat(enum.Enum):
    """How `compile_to_lowered_stmt` writes the program."""

    Text = "text"
    HTML = "html"


def write(filename: str | os.PathLike[str], content: str) -> None:
    """Writes a text file."""
    with open(filename, "w", encoding="utf-8") as file:
        file.write(content)


def write_lowered(
    lowered: Lowered, filename: str | os.PathLike[str], fmt: StmtOutputFormat
) -> None:
    """Writes a lowered program."""
    if fmt is StmtOutputFormat.HTML:
        from parhelion.ir.html import lowered_html

        write(filename, lowered_html(lowered))
    else:
        write(filename, lowered_text(lowered))


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
