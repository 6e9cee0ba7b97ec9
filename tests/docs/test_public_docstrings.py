"""Public names have docstrings, whose examples run and which name the errors raised."""

from __future__ import annotations

import ast
import doctest
import enum
import inspect
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd
from parhelion.lang import autoscheduling, generator


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

    @property
    def function(self) -> object:
        return self.made.fget if isinstance(self.made, property) else self.made

    @property
    def is_enum(self) -> bool:
        return isinstance(self.made, type) and issubclass(self.made, enum.Enum)


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


def filters_of(package: types.ModuleType) -> list[str]:
    """The filters: the functions among the names of a package."""
    return [n for n in sorted(dir(package)) if inspect.isfunction(getattr(package, n))]


def everything() -> Iterator[Public]:
    for name in sorted(dir(hl)):
        made = getattr(hl, name)
        home = getattr(made, "__module__", None) or ""
        if made is hl.BoundaryConditions:
            for one in made.__all__:
                yield Public(f"{name}.{one}", getattr(made, one), made.__name__)
        elif made is hl.filters:
            for one in filters_of(made):
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
    for name in [n for n in sorted(vars(hd)) if hasattr(getattr(hd, n), "__doc__")]:
        made = getattr(hd, name)
        home = getattr(made, "__module__", None) or ""
        if home.startswith("parhelion.dask."):
            yield Public(f"dask.{name}", made, home)
            if isinstance(made, type):
                yield from members(f"dask.{name}", made)


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
    monkeypatch.setattr(generator, "_KNOWN", {})
    schedulers = dict(autoscheduling._SCHEDULERS)
    monkeypatch.setattr(autoscheduling, "_SCHEDULERS", schedulers)
    assert failures(one.doc, one.name) == ""


def test_a_wrong_example_fails() -> None:
    right = "Returns 3.\n\n>>> hl.evaluate(hl.i32(1) + 2)\n3"
    assert failures(right, "right") == ""
    assert "Expected" in failures(right.replace("\n3", "\n4"), "other value")
    assert "Error" in failures(right.replace("hl.i32", "hl.i33"), "no such name")
    assert "Expected" in failures(right + "\n>>> hl.i32(1)\nX", "other text")


def test_every_public_name_has_a_docstring() -> None:
    assert [p.name for p in PUBLIC if not p.doc] == []


#: Functions and classes that nothing short can show.
UNSHOWN = {
    *("gather", "scatter", "load_plugin"),  # which raise
    *("alias", "create_callable_from_generator"),  # the example of hl.generator does
    "main",  # which reads a command line
    "dask.apply_named",  # of xarray, which brings pandas and is no part of the tests
}


def test_functions_and_classes_have_examples() -> None:
    bare = {
        p.name
        for p in PUBLIC
        if p.owner is None and ">>>" not in p.doc and not p.is_enum
    }
    assert bare == UNSHOWN


def raised(made: object) -> set[str]:
    """The classes of errors that a function, or what makes an object, raises itself."""
    source = textwrap.dedent(inspect.getsource(made))  # type: ignore[arg-type]
    node: ast.AST = ast.parse(source).body[0]
    if isinstance(node, ast.ClassDef):
        made_by = [
            one
            for one in node.body
            if isinstance(one, ast.FunctionDef) and one.name == "__init__"
        ]
        node = made_by[-1] if made_by else ast.Pass()
    names = [
        ast.unparse(one.exc.func)
        for one in ast.walk(node)
        if isinstance(one, ast.Raise) and isinstance(one.exc, ast.Call)
    ]
    return {name for name in names if name.endswith("Error")}


def test_errors_are_named() -> None:
    silent = {
        p.name: missing
        for p in PUBLIC
        if (missing := {name for name in raised(p.function) if name not in p.doc})
    }
    assert silent == {}


def test_an_error_that_is_raised_is_seen() -> None:
    assert raised(hl.logical_not) == {"TypeMismatchError"}
    assert raised(hl.RDom) == {"BoundsError"}
    assert raised(hl.sqrt) == set()
