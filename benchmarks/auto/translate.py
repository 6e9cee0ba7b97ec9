"""Schedules that Halide's Adams2019 prints as C++, as Python.

The text is a function of the pipeline's Funcs by name, so that it does not depend on
the order in which Halide lists them, which changes with their names.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

_FUNC = re.compile(r"Func (\S+) = pipeline\.get_func\((\d+)\);$")
_FROM = re.compile(
    r"R?Var ([\w$]+)\(([\w$]+)(?:\.update\((\d+)\))?"
    r"\.get_schedule\(\)\.dims\(\)\[(\d+)\]\.var\);$"
)
_MADE = re.compile(r'(R?Var) (\S+)\("(\S+)"\);$')
_STAGE = re.compile(r"(\w[\w$]*?)(?:\.update\((\d+)\))?(;?)$")
_CALL = re.compile(r"\.(\w+)\((.*)\)(;?)$")
_NUMBERED = re.compile(r"(?:(.+)\$(\d+)|(lambda)_(\d+))$")


class NotUnderstood(Exception):
    """A line of C++ that is not of the kind that the scheduler prints."""


def base_names(names: Sequence[str]) -> list[str]:
    """Names of Funcs without what makes them unique in a process, the "$3" of any and
    the number of a "lambda_7"; the second and further Funcs of one name get "#2", …,
    in the order of their numbers."""
    count: dict[str, int] = {}
    found: dict[str, str] = {}
    for name in sorted(names, key=_parts):
        base = _parts(name)[0]
        count[base] = count.get(base, 0) + 1
        found[name] = base if count[base] == 1 else f"{base}#{count[base]}"
    return [found[name] for name in names]


def _parts(name: str) -> tuple[str, int]:
    """A name as it was given, and its number."""
    m = _NUMBERED.match(name)
    return (m[1] or m[3], int(m[2] or m[4])) if m else (name, 0)


def to_python(source: str, names: Sequence[str]) -> str:
    """A Python function `schedule(funcs)` that does what the C++ does.

    names: of the unscheduled pipeline's Funcs, in the order of its `get_func`; `funcs`
    has them by their `base_names`. Raises NotUnderstood.
    """
    bases = base_names(names)
    lines = [line.strip() for line in source.splitlines()]
    head: list[str] = []
    body: list[str] = []
    for line in filter(None, lines):
        if m := _FUNC.match(line):
            head.append(f"{_identifier(m[1])} = funcs[{bases[int(m[2])]!r}]")
        elif m := _FROM.match(line):
            head.append(f"{_identifier(m[1])} = {_dimension(m[2], m[3], int(m[4]))}")
        elif m := _MADE.match(line):
            head.append(f"{_identifier(m[2])} = hl.{m[1]}({m[3]!r})")
        elif m := _CALL.match(line):
            arguments = ", ".join(_argument(a) for a in _split(m[2]))
            body.append(f"    .{m[1]}({arguments})")
            if m[3]:
                body.append(")")
        elif (m := _STAGE.match(line)) and m[3]:
            continue  # A stage without directives.
        elif m:
            stage = _identifier(m[1])
            if m[2] is not None:
                stage += f".update({m[2]})"
            body += ["(", f"    {stage}"]
        else:
            raise NotUnderstood(line)
    text = "\n".join(f"    {line}" for line in [*head, *body])
    return f"import halide as hl\n\n\ndef schedule(funcs):\n{text}\n"


def _dimension(func: str, update: str | None, k: int) -> str:
    """The k-th loop of a stage before it is scheduled: those of updates are over the
    RVars first."""
    if update is None:
        return f"{_identifier(func)}.args()[{k}]"
    return f"{_identifier(func)}.rvars({update})[{k}]"


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if keyword.iskeyword(plain) or plain == "hl" else plain


def _split(arguments: str) -> list[str]:
    """At the commas; a list in braces is its elements, as Python's methods take it."""
    return [a for a in re.split(r"[\s,{}]+", arguments) if a]


def _argument(text: str) -> str:
    if re.fullmatch(r"-?\d+", text):
        return text
    if "::" in text:
        return "hl." + text.replace("::", ".")
    return _identifier(text)
