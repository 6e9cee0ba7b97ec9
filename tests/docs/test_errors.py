"""The page of common mistakes is what its programs say, and the cures cure."""

from __future__ import annotations

import pytest

import parhelion as hl
from tests.docs.errors_page import PAGE, anchor, mistakes, outcome, page
from tests.docs.mistakes.mistake import FILE, Mistake


def named(one: Mistake) -> str:
    return anchor(one.title)


@pytest.mark.parametrize("one", mistakes(), ids=named)
def test_a_mistake(one: Mistake) -> None:
    """It is refused or warned of, or prints what is wrong; the cure does none of it."""
    wrong, right = outcome(one.program), outcome(one.cure)
    assert wrong.told() and one.meaning
    if wrong.error is not None:
        assert wrong.error.at is not None and wrong.error.at.file == FILE
        assert type(wrong.error) is not hl.InternalError
    assert right.error is None and not right.warned, right.told()
    assert right.told() != wrong.told()


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == page(), "python -m tests.docs.errors_page writes it"


def test_there_are_forty_and_each_is_told_once() -> None:
    titles = [one.title for one in mistakes()]
    assert len(titles) >= 40 and len(set(map(anchor, titles))) == len(titles)
    assert len({one.program for one in mistakes()}) == len(titles)
