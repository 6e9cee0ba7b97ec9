"""Options and fixtures that tests of every area share."""

from __future__ import annotations

import os

import pytest

from parhelion.ir import names
from tests.support.golden import Golden

#: Schedules are found by costs that are the same on all computers, and nothing is
#: measured or read for them; in programs that tests start, too.
os.environ["HL_MACHINE"] = "default"

#: Tests change the compiler; what it makes then must not be kept.
os.environ["PARHELION_CACHE"] = "off"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the tests got as the new golden texts (review the diff)",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares texts with those under tests/golden/."""
    return Golden(update=bool(request.config.getoption("--update-golden")))


@pytest.fixture(autouse=True)
def untaken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are given anew in each test. Generated names depend on those taken, and
    texts and the order of terms on names; which tests ran before must not matter."""
    monkeypatch.setattr(names, "_TAKEN", {})
    monkeypatch.setattr(names, "_MADE", {})
