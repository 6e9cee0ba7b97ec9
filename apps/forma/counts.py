"""How large the programs are, beside what the paper says of its own.

python -m apps.forma.counts prints the table of docs/apps.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

from apps.forma.program import Program
from apps.forma.programs import PROGRAMS
from parhelion.forma import tree as T
from parhelion.forma.check import check_tree
from parhelion.forma.parse import parse_file

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Counts:
    """lines: those with more than a comment. pipeline: those of them behind the last
    function. pyramids: qualified variables. stages: of the graph, with functions
    inlined and loops unrolled. None: not known."""

    lines: int | None = None
    pipeline: int | None = None
    stencils: int | None = None
    vectors: int | None = None
    loops: int | None = None
    pyramids: int | None = None
    stages: int | None = None


#: What the paper says in sections 4.2 to 4.5. Of Canny's detector it has "less than 10
#: lines": we take them for what is behind the functions.
PAPER: Mapping[str, Counts] = {
    "canny": Counts(pipeline=10),
    "pyramid": Counts(lines=26),
    "exposure_pyramid": Counts(184, None, 25, 9, 2, 30),
    "camera_pipe": Counts(stencils=12, vectors=1),
}


def lines_of(text: str) -> int:
    """The lines of a program, without blank ones and comments."""
    return sum([bool(line.strip()) for line in _COMMENT.sub("", text).splitlines()])


def counts(program: Program) -> Counts:
    """Of one program."""
    read = parse_file(program.path)
    kinds = [one.kind for one in read.functions]
    loops = [one for one in read.body if isinstance(one, T.For)]
    graph = check_tree(read)
    families = {name.split("<")[0] for name, _ in graph.variables if "<" in name}
    return Counts(
        lines=lines_of(program.text),
        pipeline=lines_of(program.text[read.functions[-1].span.end :]),
        stencils=kinds.count("stencil"),
        vectors=kinds.count("vector"),
        loops=len(loops),
        pyramids=len(families),
        stages=len(graph.needed()) - len(graph.inputs),
    )


def rows() -> list[list[str]]:
    """A row for each program: its name and its counts, with the paper's behind them."""
    found = []
    for name, program in PROGRAMS.items():
        ours, theirs = counts(program), PAPER.get(name, Counts())
        row = [name]
        for one in fields(Counts):
            mine, paper = getattr(ours, one.name), getattr(theirs, one.name)
            row.append(f"{mine}" if paper is None else f"{mine} ({paper})")
        found.append(row)
    return found


HEAD = ["program", "lines", "pipeline", "stencils", "vector functions", "loops"]
HEAD += ["qualified variables", "stages"]


def table() -> str:
    """The table, as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *rows()]
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines])


if __name__ == "__main__":
    print(table())

__all__ = ["HEAD", "PAPER", "Counts", "counts", "lines_of", "table"]
