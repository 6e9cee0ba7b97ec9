"""Loop nests as HTML: the lines of print_loop_nest, coloured, with blocks that fold."""

from __future__ import annotations

import re
from dataclasses import field
from html import escape

from parhelion.dataclass import dataclass
from parhelion.views.page import styled

_WORD = re.compile(
    r"(?P<k>\b(?:produce|consume|store|for|parallel|vectorized|unrolled|gpu_block"
    r"|gpu_thread|gpu_lane|in)\b)|(?P<d>(?<![\w$.])-?\d+\b)"
)


@dataclass(slots=True)
class _Block:
    """A line, and those that are indented below it."""

    text: str
    inside: list[_Block] = field(default_factory=list)


def nest_html(text: str) -> str:
    """For a notebook: what `nest_fragment` makes, with its style."""
    return styled(nest_fragment(text))


def nest_fragment(text: str) -> str:
    """The loop nest as HTML without style. text: as `Pipeline.loop_nest` gives it."""
    root = _Block("")
    open_ = [(-1, root)]
    for raw in text.splitlines():
        line = raw.lstrip(" ")
        depth = len(raw) - len(line)
        while open_[-1][0] >= depth:
            open_.pop()
        made = _Block(line)
        open_[-1][1].inside.append(made)
        open_.append((depth, made))
    return "\n".join(["<div class='ph-nest'>", *map(_html, root.inside), "</div>"])


def _html(block: _Block) -> str:
    shown = f"<code>{_coloured(block.text)}</code>"
    if not block.inside:
        return f"<div class='ph-leaf'>{shown}</div>"
    inside = "\n".join([_html(b) for b in block.inside])
    return (
        f"<details open><summary>{shown}</summary>\n"
        f"<div class='ph-in'>\n{inside}\n</div></details>"
    )


def _coloured(line: str) -> str:
    out, at = [], 0
    for word in _WORD.finditer(line):
        out.append(escape(line[at : word.start()]))
        kind = word.lastgroup
        out.append(f"<span class='ph-{kind}'>{escape(word.group())}</span>")
        at = word.end()
    return "".join(out) + escape(line[at:])


__all__ = ["nest_fragment", "nest_html"]
