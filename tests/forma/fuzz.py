"""Mutates Forma programs: they are checked, or refused with a place, and nothing else.

python -m tests.forma.fuzz --cases 5000 --seed 1
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from parhelion import forma
from parhelion.errors import FormaError
from tests.forma.draw import draw
from tests.forma.listings import LISTINGS

_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|\d+\.(?!\.)\d*|\d+|\.\.|[<>=!]=|&&|\|\||.", re.S)
#: What programs consist of, and some of what they do not.
_WORDS = (
    *("struct", "parameter", "vector", "stencil", "return", "for", "endfor", "by"),
    *("int8", "int16", "int", "float", "double", "constant", "clamped", "mirror"),
    *("x", "X", "M", "N", "i", "g", "f", "RGB", "sqrt", "max", "0", "1", "2", "-1"),
    *("99999999999", "1e39", "1.5d", "2147483647", "1000000", ".5", "3..5", "..", "@"),
    *("[", "]", "(", ")", "{", "}", "<", ">", ";", ",", ":", "?", "=", "+", "-", "*"),
    *("/", "%", "!", "&&", "||", "==", "<=", ">=", "//", "/*", "*/", ".", "#", "@["),
    *("if", "while", "to", "\x00", "$", '"', "é", "\u2028", "\t", "\n", "\\", "λ"),
)


@dataclass(frozen=True)
class Mutant:
    """A program, and what has been done to it."""

    text: str
    how: tuple[str, ...]


def programs(rng: random.Random) -> str:
    """A program that is right: one of the paper's, or a random one."""
    if rng.random() < 0.6:
        return rng.choice(list(LISTINGS.values()))
    return draw(rng.randrange(1 << 30), math=True).text


def mutate(rng: random.Random) -> Mutant:
    """A program after one to four changes."""
    text = programs(rng)
    how = []
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 4])):
        name = rng.choice(list(_CHANGES))
        how.append(name)
        text = _CHANGES[name](rng, text)
    return Mutant(text, tuple(how))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text) or [" "]


def _delete(rng: random.Random, text: str) -> str:
    tokens = _tokens(text)
    del tokens[rng.randrange(len(tokens))]
    return "".join(tokens)


def _swap(rng: random.Random, text: str) -> str:
    tokens = _tokens(text)
    a, b = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def _double(rng: random.Random, text: str) -> str:
    tokens = _tokens(text)
    at = rng.randrange(len(tokens))
    tokens[at:at] = [tokens[at]] * rng.choice([1, 1, 2, 50])
    return "".join(tokens)


def _replace(rng: random.Random, text: str) -> str:
    tokens = _tokens(text)
    tokens[rng.randrange(len(tokens))] = rng.choice(_WORDS)
    return "".join(tokens)


def _same_kind(rng: random.Random, text: str) -> str:
    """A name in the place of another name, a number in that of a number."""
    tokens = _tokens(text)
    names = [k for k, one in enumerate(tokens) if one[0].isalpha()]
    numbers = [k for k, one in enumerate(tokens) if one[0].isdigit()]
    kind = names if rng.random() < 0.6 else numbers
    if kind:
        tokens[rng.choice(kind)] = tokens[rng.choice(kind)]
    return "".join(tokens)


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_WORDS) + text[at:]


def _noise(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    noise = "".join([chr(rng.randrange(1, 0x250)) for _ in range(rng.randrange(1, 6))])
    return text[:at] + noise + text[at:]


def _truncate(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _splice(rng: random.Random, text: str) -> str:
    """The beginning of one program with the end of another."""
    other = programs(rng)
    return text[: rng.randrange(len(text) + 1)] + other[rng.randrange(len(other)) :]


def _cut(rng: random.Random, text: str) -> str:
    a = rng.randrange(len(text) + 1)
    return text[:a] + text[min(a + rng.randrange(1, 60), len(text)) :]


def _move_line(rng: random.Random, text: str) -> str:
    lines = text.splitlines(keepends=True) or [""]
    line = lines.pop(rng.randrange(len(lines)))
    lines.insert(rng.randrange(len(lines) + 1), line)
    return "".join(lines)


_CHANGES: dict[str, Callable[[random.Random, str], str]] = {
    "delete": _delete,
    "swap": _swap,
    "double": _double,
    "replace": _replace,
    "same kind": _same_kind,
    "insert": _insert,
    "noise": _noise,
    "truncate": _truncate,
    "splice": _splice,
    "cut": _cut,
    "move line": _move_line,
}


def failure(text: str) -> str:
    """What is wrong with how a program is dealt with; "" if nothing is. Whether it is
    right is told by `is_right`."""
    try:
        forma.check(text, "mutant.forma")
    except FormaError as error:
        at = error.at
        if at is None or at.file != "mutant.forma":
            return f"an error without a place: {error}"
        lines = max(text.count("\n") + 1, 1)
        if not (1 <= at.line <= lines and at.column >= 1):
            return f"an error at {at}, of {lines} lines: {error}"
        return ""
    except Exception as error:  # of any kind: this is what is looked for
        return f"{type(error).__name__}: {error}"
    return ""


def is_right(text: str) -> bool:
    """Whether a program is accepted."""
    try:
        forma.check(text)
    except FormaError:
        return False
    return True


def run(cases: int, seed: int, seconds: float = 10.0) -> tuple[Counter[str], list[str]]:
    """How many programs were accepted and refused, and what failed: also what takes
    more than `seconds`."""
    counts: Counter[str] = Counter()
    failures = []
    for case in range(cases):
        mutant = mutate(random.Random(f"{seed}/{case}"))
        began = time.monotonic()
        wrong = failure(mutant.text)
        took = time.monotonic() - began
        if not wrong and took > seconds:
            wrong = f"it took {took:.1f} s"
        if wrong:
            failures.append(f"case {case} ({', '.join(mutant.how)}): {wrong}")
        counts["accepted" if not wrong and is_right(mutant.text) else "refused"] += 1
        counts.update(mutant.how)
    return counts, failures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts, failures = run(given.cases, given.seed)
    print(", ".join([f"{count} {name}" for name, count in counts.most_common()]))
    for one in failures[:20]:
        print(one)
    print(f"{given.cases} cases, {len(failures)} failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
