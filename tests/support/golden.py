"""Golden texts: what a test got once, reviewed and kept, and must get again.

`pytest --update-golden` writes what the tests got; the diff is then reviewed as code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "golden"


@dataclass(frozen=True, slots=True)
class Golden:
    """The texts under tests/golden/, by name."""

    update: bool

    def check(self, name: str, text: str) -> None:
        """Fails unless `text` is what tests/golden/`name`.txt holds."""
        path = FOLDER / f"{name}.txt"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(f"no golden text {name}: run with --update-golden")
        assert text == path.read_text(encoding="utf-8")
