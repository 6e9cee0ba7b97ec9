"""The examples on the page about compiled Forma programs run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("lark")

PAGE = Path(__file__).parent.parent.parent / "docs" / "forma-programs.md"


def test_the_examples_of_the_page() -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(examples) == 6
    scope: dict[str, object] = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), scope)  # noqa: S102
