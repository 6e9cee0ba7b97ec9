"""Options and fixtures that tests of every area share."""

from __future__ import annotations

import pytest

from tests.support.golden import Golden


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
