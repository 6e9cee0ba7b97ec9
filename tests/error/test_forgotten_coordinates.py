"""Funcs and images whose coordinates were left out: the message names them."""

from __future__ import annotations

import pytest

import parhelion as hl
from tests.error.test_language import normal

x, y = hl.vars("x y")


def refused(what: str, line: str, hint: str) -> str:
    return (
        f"{what} mentions the variable _0, which is not among its arguments\n-->\n"
        f"   |  {line}\nhint: {hint}"
    )


def test_a_func() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    with pytest.raises(hl.DefinitionError) as error:
        g[x] = f
    assert normal(str(error.value)) == refused(
        "the definition of Func 'g'",
        "g[x] = f",
        "f without coordinates is its value at _0: write f[x]",
    )


def test_an_image() -> None:
    image, g = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Func("g")
    with pytest.raises(hl.DefinitionError) as error:
        g[x, y] = image + 1
    assert normal(str(error.value)) == refused(
        "the definition of Func 'g'",
        "g[x, y] = image + 1",
        "image without coordinates is its value at _0, _1: write image[x, y]",
    )


def test_a_func_in_an_update() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = 0
    with pytest.raises(hl.DefinitionError) as error:
        g[x] += f
    assert normal(str(error.value)) == refused(
        "update 0 of Func 'g'",
        "g[x] += f",
        "f without coordinates is its value at _0: write f[x]",
    )
