"""Sizes by the names of Vars: ``f.realize({"y": 480, "x": 640})``, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.function import Function

#: What methods take as sizes: a list, dimension 0 first, or extents by names.
Sizes: TypeAlias = "Sequence[Any] | Mapping[str, Any]"


def in_order(f: Function, sizes: Sizes, method: str) -> Sequence[Any]:
    """Returns the extents of an output, dimension 0 first. Raises TypeMismatchError for
    names that are not just those of its Vars. method: what is called, for messages."""
    if not isinstance(sizes, Mapping):
        return sizes
    names = [v.name for v in f.args]
    missing = [n for n in names if n not in sizes]
    strange = [n for n in sizes if n not in names]
    if missing or strange:
        lacks = f"lack {missing[0]!r}" if missing else f"have {strange[0]!r}"
        raise TypeMismatchError(
            f"the sizes that {method} is given {lacks}; Func {f.name!r} has the Vars"
            f" {', '.join(names) or 'of no dimension'}",
            at=here(),
            hint=f"write {{{', '.join([f'{n!r}: …' for n in reversed(names)])}}}",
        )
    return [sizes[n] for n in names]


__all__ = ["Sizes", "in_order"]
