"""A lowered program as one self-contained HTML page, with blocks that fold.

On the left stands the loop structure (productions, loops, allocations), each line a
link to its place; on the right the whole program. Loops and productions fold away,
and every use of a name lights up under the pointer. The page loads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from html import escape

from parhelion.dataclass import dataclass
from parhelion.ir.deep import run_deep
from parhelion.ir.pipeline import Lowered
from parhelion.ir.stmt import Stmt
from parhelion.ir.text import KEYWORDS, text

#: What opens a block that is part of the loop structure.
_STRUCTURE = re.compile(
    r"(produce|consume|for|parallel|vectorized|unrolled|allocate|realize|fork|} and"
    r"|atomic|acquire|release|prefetch|extern|run)\b"
)
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>\b\d[\w.]*|\b0x[0-9a-f]+\b)"
    r"|(?P<word>[A-Za-z_$][\w.$#]*)"
    r"|(?P<other>.)",
    re.DOTALL,
)
_TYPE = re.compile(r"(bool|int\d+|uint\d+|float\d+|bfloat\d+|handle\d*)(x\d+)?")


@dataclass(slots=True)
class _Line:
    """One line of the program with the lines that it encloses."""

    number: int
    text: str
    inside: list[_Line] = field(default_factory=list)
    end: str = ""


def lowered_html(lowered: Lowered, notes: Sequence[str] = ()) -> str:
    """The page of a lowered pipeline, with its arguments, and notes below them."""
    args = [f"{a.kind.value} {a.name}: {a.symbol.type}" for a in lowered.args]
    return stmt_html(lowered.body, lowered.name, [*args, *notes])


def stmt_html(body: Stmt, title: str, arguments: Sequence[str] = ()) -> str:
    """The page of a program. `title` names the pipeline."""
    lines = run_deep(lambda: text(body)).splitlines()
    tree = _tree(lines)
    program = run_deep(lambda: "\n".join(_code(tree)))
    outline = run_deep(lambda: "\n".join(_outline(tree)))
    return _PAGE.format(
        title=escape(title),
        arguments="".join([f"<li><code>{_colour(a)}</code></li>" for a in arguments]),
        outline=outline,
        program=program,
        style=_STYLE,
        js=_SCRIPT,
    )


def _tree(lines: list[str]) -> list[_Line]:
    """The lines nested by their indentation; closing braces end their block."""
    root: list[_Line] = []
    open_: list[tuple[int, list[_Line]]] = [(-1, root)]
    for number, raw in enumerate(lines, 1):
        stripped = raw.lstrip(" ")
        depth = (len(raw) - len(stripped)) // 2
        while open_[-1][0] >= depth:
            open_.pop()
        siblings = open_[-1][1]
        if stripped.startswith("}") and siblings:
            if stripped == "}":
                siblings[-1].end = stripped
                continue
        line = _Line(number, stripped)
        siblings.append(line)
        open_.append((depth, line.inside))
    return root


def _code(lines: list[_Line]) -> Iterator[str]:
    for line in lines:
        head = f'<span class="n" id="L{line.number}">{line.number}</span>'
        shown = _colour(line.text)
        if not line.inside:
            end = f" {line.end}" if line.end else ""
            yield f'<div class="l">{head}<code>{shown}{end}</code></div>'
            continue
        yield f"<details open><summary>{head}<code>{shown}</code>"
        yield f'<span class="more">… {line.end}</span></summary><div class="b">'
        yield from _code(line.inside)
        yield "</div>"
        if line.end:
            yield f'<div class="l"><span class="n"></span><code>{line.end}</code></div>'
        yield "</details>"


def _outline(lines: list[_Line]) -> Iterator[str]:
    """Nested lists of the lines that make the structure of the program."""
    items = list(_structure(lines))
    if not items:
        return
    yield "<ul>"
    for line, inside in items:
        shown = _colour(_headline(line.text))
        yield f'<li><a href="#L{line.number}"><code>{shown}</code></a>'
        yield from _outline(inside)
        yield "</li>"
    yield "</ul>"


def _structure(lines: list[_Line]) -> Iterator[tuple[_Line, list[_Line]]]:
    for line in lines:
        if _STRUCTURE.match(line.text):
            yield line, line.inside
        else:
            yield from _structure(line.inside)


def _headline(line: str) -> str:
    """A line of the outline: without brackets, and not too long."""
    line = line.removesuffix("{").removesuffix(":").removeprefix("}").strip()
    return line if len(line) <= 72 else line[:71] + "…"


def _colour(line: str) -> str:
    out: list[str] = []
    for token in _TOKEN.finditer(line):
        shown = escape(token.group(), quote=True)
        kind = token.lastgroup
        if kind == "word":
            word = token.group()
            if word in KEYWORDS:
                out.append(f'<b class="k">{shown}</b>')
            elif _TYPE.fullmatch(word):
                out.append(f'<span class="t">{shown}</span>')
            else:
                out.append(f'<span class="v" data-v="{shown}">{shown}</span>')
        elif kind == "number":
            out.append(f'<span class="d">{shown}</span>')
        elif kind == "string":
            out.append(f'<span class="s">{shown}</span>')
        else:
            out.append(shown)
    return "".join(out)


_STYLE = """
:root { color-scheme: light dark; --fg: #1d2430; --bg: #fcfcfa; --dim: #8a8f98;
  --key: #9a2b6b; --num: #1d6f8a; --type: #6a5acd; --str: #3a7a2a; --hit: #ffe08a;
  --line: #e4e2da; }
@media (prefers-color-scheme: dark) { :root { --fg: #d8dce4; --bg: #16191f;
  --dim: #6c7480; --key: #f08cc0; --num: #7cc7e0; --type: #b3a8ff; --str: #9ad08a;
  --hit: #5c4a10; --line: #2a2f38; } }
body { margin: 0; display: flex; height: 100vh; color: var(--fg);
  background: var(--bg); font: 13px/1.5 ui-monospace, monospace; }
nav { flex: 0 0 24em; overflow: auto; border-right: 1px solid var(--line);
  padding: 1em; }
main { flex: 1; overflow: auto; padding: 1em; }
h1 { font-size: 15px; margin: 0 0 .6em; }
ul { list-style: none; margin: 0; padding-left: 1em; }
nav > ul { padding: 0 0 .8em; }
a { color: inherit; text-decoration: none; }
a:hover { text-decoration: underline; }
code { font: inherit; white-space: pre-wrap; overflow-wrap: anywhere; }
.l, summary { display: flex; list-style: none; }
summary { cursor: pointer; }
summary::-webkit-details-marker { display: none; }
.b { padding-left: 2ch; }
.n { flex: 0 0 5ch; text-align: right; padding-right: 1ch; color: var(--dim);
  user-select: none; }
.b .n { margin-left: 0; }
.more { display: none; color: var(--dim); padding-left: 1ch; }
details:not([open]) > summary .more { display: inline; }
summary:hover { background: var(--line); }
.k { color: var(--key); font-weight: 600; } .d { color: var(--num); }
.t { color: var(--type); } .s { color: var(--str); }
.hit { background: var(--hit); } :target { color: var(--key); font-weight: 700; }
button { font: inherit; margin: 0 .5em .8em 0; }
"""

_SCRIPT = """
const all = [...document.querySelectorAll("main details")];
const fold = open => all.forEach(d => d.open = open);
document.getElementById("open").onclick = () => fold(true);
document.getElementById("close").onclick = () => fold(false);
const named = new Map();
for (const e of document.querySelectorAll("main .v")) {
  const list = named.get(e.dataset.v) || [];
  list.push(e);
  named.set(e.dataset.v, list);
}
const light = (e, on) => {
  const v = e.target.dataset && e.target.dataset.v;
  for (const one of named.get(v) || []) one.classList.toggle("hit", on);
};
document.addEventListener("mouseover", e => light(e, true));
document.addEventListener("mouseout", e => light(e, false));
for (const a of document.querySelectorAll("nav a"))
  a.onclick = () => {
    let e = document.querySelector(a.getAttribute("href"));
    for (e = e && e.closest("details"); e; e = e.parentElement.closest("details"))
      e.open = true;
  };
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<nav>
<h1>{title}</h1>
<ul>{arguments}</ul>
<button id="open">unfold all</button><button id="close">fold all</button>
{outline}
</nav>
<main>
{program}
</main>
<script>{js}</script>
</body>
</html>
"""
