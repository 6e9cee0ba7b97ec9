"""Commands as the tests type them."""

from __future__ import annotations

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result

from parhelion.cli.main import commands
from parhelion.cli.problem import Problem
from parhelion.errors import HalideError


def done(*words: object) -> Result:
    """A command that ends well: its `stdout` and `stderr`."""
    result = CliRunner().invoke(commands, [str(w) for w in words])
    if result.exception is not None:
        raise result.exception
    assert result.exit_code == 0
    return result


def refused(*words: object) -> str:
    """What a command that fails says."""
    with pytest.raises((Problem, HalideError)) as caught:
        done(*words)
    return str(caught.value)
