"""docs/errors.md: common mistakes, what Parhelion says of each, and the cures.

    python -m tests.docs.errors_page

runs the programs of `tests.docs.mistakes` and writes the page.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from textwrap import fill

from tests.docs.mistakes import definitions, images, schedules, values
from tests.docs.mistakes.mistake import START, Mistake, Outcome, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"

SECTIONS = {
    "Numbers and conditions": values.MISTAKES,
    "Definitions": definitions.MISTAKES,
    "Images and sizes": images.MISTAKES,
    "Schedules": schedules.MISTAKES,
}

_HEAD = f"""# Common mistakes

Each mistake has the shortest program that makes it, what Parhelion says, what that
means, and a program that is right. An error is a sentence; below it stands your line,
then what is legal there, and a hint. All errors are of the class `hl.HalideError`.
`hl.ScheduleWarning` and `hl.RecomputeWarning` are warnings: the program goes on. Some
mistakes are no errors, because a program may be meant so; they are here because the
picture is not the one that was wanted.

All programs begin with these lines:

```python
{START}```

This page is written by `python -m tests.docs.errors_page`, which runs all programs, and
a test does so again.
"""


@cache
def outcome(program: str) -> Outcome:
    """Return what a program of the page does."""
    return run(program)


def mistakes() -> list[Mistake]:
    """Return the mistakes of all sections."""
    return [one for section in SECTIONS.values() for one in section]


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    plain = re.sub(r"[^\w\- ]", "", title.replace("`", "").lower())
    return plain.replace(" ", "-")


def _part(one: Mistake) -> str:
    cured = outcome(one.cure).told()
    lines = [f"### {one.title}", "", "```python", one.program + "```", ""]
    lines += ["```text", outcome(one.program).told(), "```", ""]
    lines += [fill(one.meaning, 88, break_long_words=False), ""]
    lines += ["```python", one.cure + "```", ""]
    if cured:
        lines += ["```text", cured, "```", ""]
    return "\n".join(lines)


def page() -> str:
    """Return the text of docs/errors.md."""
    parts = [_HEAD]
    for name, section in SECTIONS.items():
        links = [f"- [{one.title}](#{anchor(one.title)})" for one in section]
        parts.append("\n".join([f"**{name}**", "", *links, ""]))
    for name, section in SECTIONS.items():
        parts += [f"## {name}\n", *[_part(one) for one in section]]
    return "\n".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE}")
