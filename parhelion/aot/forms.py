"""The messages of failures as formats of C's printf."""

from __future__ import annotations

import string
from collections.abc import Sequence

from parhelion.codegen.failure_site import FailureSite
from parhelion.ir.failures import FAILURES


def printf_form(site: FailureSite) -> tuple[str, list[str]]:
    """A message as a format of printf, and the types of the numbers it takes."""
    failure = FAILURES[site.code]
    kinds: list[str] = []
    shown: list[str] = []
    for arg in site.args:
        if isinstance(arg, str):
            shown.append(arg.replace("%", "%%"))
            continue
        real = arg.is_float()
        kinds.append("double" if real else "i64")
        unsigned = arg.is_uint() and not arg.is_bool()
        shown.append("%g" if real else ("%llu" if unsigned else "%lld"))
    if site.code == "require":
        return failure.template.replace("{0}", "".join(shown)), kinds
    parts: list[str] = []
    order: list[int] = []
    numbered = [i for i, a in enumerate(site.args) if not isinstance(a, str)]
    for text, field, _, conversion in string.Formatter().parse(failure.template):
        parts.append(text.replace("%", "%%"))
        if field is not None:
            i = int(field)
            word = shown[i]
            parts.append(f"'{word}'" if conversion == "r" else word)
            if i in numbered:
                order.append(numbered.index(i))
    # printf takes its numbers in the order of the record, or by their position.
    text = "".join(parts)
    if order != sorted(set(order)) or order != list(range(len(kinds))):
        text = _positional(failure.template, shown, numbered)
    return text, kinds


def _positional(template: str, shown: Sequence[str], numbered: Sequence[int]) -> str:
    """The format with the position of each number written out (POSIX)."""
    parts: list[str] = []
    for text, field, _, conversion in string.Formatter().parse(template):
        parts.append(text.replace("%", "%%"))
        if field is not None:
            i = int(field)
            word = shown[i]
            if i in numbered:
                word = f"%{numbered.index(i) + 1}$" + word[1:]
            parts.append(f"'{word}'" if conversion == "r" else word)
    return "".join(parts)


__all__ = ["printf_form"]
