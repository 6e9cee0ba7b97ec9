"""The examples in the docstrings of public functions, classes and methods run."""

from __future__ import annotations

import doctest
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl


@dataclass(frozen=True)
class Public:
    """A function, class, method or property that users are given. name: as they write
    it. owner: the class that defines a method."""

    name: str
    made: object
    module: str
    owner: type | None = None

    @property
    def doc(self) -> str:
        return inspect.cleandoc(getattr(self.made, "__doc__", None) or "")


def members(name: str, kind: type) -> Iterator[Public]:
    """The public methods and properties of a class, without those of Python's own."""
    for member in sorted(dir(kind)):
        owner = next((c for c in kind.__mro__ if member in vars(c)), object)
        if member.startswith("_") or not owner.__module__.startswith("parhelion"):
            continue
        made = inspect.getattr_static(kind, member)
        if isinstance(made, staticmethod | classmethod):
            made = made.__func__
        if isinstance(made, property) or inspect.isfunction(made):
            yield Public(f"{name}.{member}", made, owner.__module__, owner)


def everything() -> Iterator[Public]:
    for name in sorted(dir(hl)):
        made = getattr(hl, name)
        home = getattr(made, "__module__", None) or ""
        if made is hl.BoundaryConditions:
            for one in made.__all__:
                yield Public(f"{name}.{one}", getattr(made, one), made.__name__)
        elif (
            callable(made)
            and not name.startswith("_")
            and not isinstance(made, types.ModuleType)
            and home.startswith("parhelion.")
        ):
            yield Public(name, made, home)
            if isinstance(made, type):
                yield from members(name, made)


def once(found: Iterator[Public]) -> list[Public]:
    """Each only by the first of its names: methods are inherited, classes have two."""
    kept: dict[int, Public] = {}
    for one in found:
        kept.setdefault(id(one.made), one)
    return list(kept.values())


PUBLIC = once(everything())
SHOWN = [p for p in PUBLIC if ">>>" in p.doc]
#: Python's ``...`` in an example stands for any text.
OPTIONS = doctest.ELLIPSIS


def failures(doc: str, name: str) -> str:
    """What goes wrong in the examples of a docstring; they take for granted what
    ``help(parhelion)`` says."""
    scope = {"np": np, "hl": hl, "x": hl.Var("x"), "y": hl.Var("y"), "c": hl.Var("c")}
    test = doctest.DocTestParser().get_doctest(doc, scope, name, name, 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=told.append)
    return "".join(told)


@pytest.mark.parametrize("one", SHOWN, ids=lambda one: one.name)
def test_examples_run(
    one: Public, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert failures(one.doc, one.name) == ""


def test_a_wrong_example_fails() -> None:
    right = "Returns 3.\n\n>>> hl.evaluate(hl.i32(1) + 2)\n3"
    assert failures(right, "right") == ""
    assert "Expected" in failures(right.replace("\n3", "\n4"), "other value")
    assert "Error" in failures(right.replace("hl.i32", "hl.i33"), "no such name")
    assert "Expected" in failures(right + "\n>>> hl.i32(1)\nX", "other text")
