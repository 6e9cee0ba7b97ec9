"""The colours of Forma programs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

pytest.importorskip("pygments")

from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Token,
)

from parhelion.forma.lexer import FormaLexer
from tests.forma.draw import draw
from tests.forma.listings import LISTINGS


def kinds(text: str) -> list[tuple[object, str]]:
    return [
        (kind, word) for kind, word in FormaLexer().get_tokens(text) if word.strip()
    ]


def test_kinds_of_words() -> None:
    found = kinds(
        "stencil f(vector#2 float X) { return sqrt(X@[-1, .5d]) + g<i>; } // a"
    )
    assert found[:2] == [(Keyword.Declaration, "stencil"), (Name.Function, "f")]
    assert (Keyword.Type, "float") in found
    assert (Name.Builtin, "sqrt") in found
    assert (Operator, "@") in found
    assert (Number.Float, ".5d") in found
    assert (Number.Integer, "2") in found
    assert found[-1] == (Comment.Single, "// a")
    assert (Keyword.Pseudo, "mirror") in kinds("y = f(x:mirror);")
    assert (Name, "mirror") in kinds("mirror = x;")
    assert kinds("3..5")[1] == (Operator, "..")


@pytest.mark.parametrize("number", LISTINGS)
def test_nothing_is_unknown(number: int) -> None:
    for text in (LISTINGS[number], draw(number).text):
        found = list(FormaLexer().get_tokens(text))
        assert all(kind is not Error and kind in Token for kind, _ in found)
        assert "".join([word for _, word in found]) == text


def test_pygments_finds_it() -> None:
    project = Path(__file__).parent.parent.parent / "pyproject.toml"
    points = tomllib.loads(project.read_text())["project"]["entry-points"]
    module, name = points["pygments.lexers"]["forma"].split(":")
    assert (module, name) == (FormaLexer.__module__, FormaLexer.__name__)
