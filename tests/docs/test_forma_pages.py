"""The pages about Forma for people who know NumPy, and about Forma in Python: what
stands side by side there is the same."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lark")

from parhelion import forma
from parhelion.errors import FormaError
from tests.forma.python_files import run

DOCS = Path(__file__).parent.parent.parent / "docs"
NUMPY = (DOCS / "forma-for-numpy.md").read_text()
PYTHON = (DOCS / "forma-in-python.md").read_text()


def blocks(page: str) -> list[tuple[str, str]]:
    """The language and the text of each block."""
    return re.findall(r"^```(\w+)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_numpy_and_forma_compute_the_same() -> None:
    first, *pairs = blocks(NUMPY)
    scope = run(first[1])
    assert [kind for kind, _ in pairs] == ["python", "forma"] * 16
    for k in range(0, len(pairs), 2):
        scope.pop("out", None)
        run(pairs[k][1], scope=scope)
        text = pairs[k + 1][1]
        program = forma.compile(text, strict_float=True)
        names = inspect.signature(program).parameters
        given = {name: scope[name] for name in names if name in scope}
        for got, wanted in zip(
            several(program(**given)), several(scope["out"]), strict=True
        ):
            assert got.dtype == wanted.dtype, text
            assert np.array_equal(got, wanted), text


def several(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_python_and_forma_are_the_same() -> None:
    scope: dict[str, Any] = {}
    refused = 0
    for (kind, text), (under, said) in zip(
        blocks(PYTHON), [*blocks(PYTHON)[1:], ("", "")], strict=True
    ):
        if kind == "python" and under == "text":
            with pytest.raises(FormaError) as caught:
                run(text, "page.py", scope=scope)
            assert str(caught.value) + "\n" == said
            refused += 1
        elif kind == "python":
            run(text, scope=scope)
        elif kind == "forma":
            assert scope["blur"].tree == forma.parse(text)
    assert refused == 2
    assert scope["out"].shape == (4, 6) and np.allclose(scope["out"], 1)
    assert [one.shape for one in scope["details"]] == [
        *((16, 24), (8, 12), (4, 6), (2, 3))
    ]
    assert (scope["twice"] == 2).all()
    assert scope["contrast"].name == "contrast"


def test_the_cell_of_a_notebook() -> None:
    cell = blocks(PYTHON)[-1][1]
    head, _, text = cell.partition("\n")
    assert head == "%%forma blur" and forma.check(text)
