"""Lines of C without the names that nothing uses, of which compilers would warn."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

_TEXT = re.compile(r'"(?:\\.|[^"\\])*"')
_WORD = re.compile(r"[A-Za-z_]\w*")
#: The definition of one variable by a value, on a line of its own.
_DEFINITION = re.compile(r"\s*(?:const )?\w+ \*?(\w+) = .*;$")


def _words(line: str) -> list[str]:
    """The words of a line outside of strings and comments."""
    return _WORD.findall(_TEXT.sub("", line).split("//")[0])


def words(lines: Sequence[str]) -> set[str]:
    """All words of some lines."""
    return {word for line in lines for word in _words(line)}


def without_unused(lines: Sequence[str]) -> list[str]:
    """The lines without definitions of variables that no other line mentions. Names are
    unique, and what a line computes has no effect but its name."""
    uses: Counter[str] = Counter()
    defined: dict[str, int] = {}
    for at, line in enumerate(lines):
        uses.update(_words(line))
        found = _DEFINITION.match(line)
        if found is not None:
            defined[found[1]] = at
    gone: set[int] = set()
    left = [name for name in defined if uses[name] == 1]
    while left:
        at = defined[left.pop()]
        gone.add(at)
        for word in _words(lines[at]):
            uses[word] -= 1
            if word in defined and uses[word] == 1 and defined[word] not in gone:
                left.append(word)
    return [line for at, line in enumerate(lines) if at not in gone]


def used_helpers(helpers: Mapping[str, str], there: set[str]) -> list[str]:
    """The texts of the functions whose names are `there`, and of those that they call,
    which stand before them."""
    texts: list[str] = []
    wanted = set(there)
    for name, text in reversed(list(helpers.items())):
        if name in wanted:
            texts.append(text)
            wanted |= words(text.split("\n"))
    return texts[::-1]


__all__ = ["used_helpers", "without_unused", "words"]
