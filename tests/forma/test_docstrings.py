"""The examples in the docstrings of Forma's modules run."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest


@pytest.mark.parametrize(
    "name", ["check", "lexer", "program", "twin.functions", "twin.programs"]
)
def test_examples(name: str) -> None:
    # Functions of the package have the names of some of its modules.
    module = importlib.import_module(f"parhelion.forma.{name}")
    found = doctest.testmod(module, extraglobs={"np": np})
    assert found.attempted and not found.failed
