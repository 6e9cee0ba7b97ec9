"""How many seconds of the processor each test takes, with those of its processes.

On a computer that does other work too, the clock says little. Of ``pytest
--processor-times FILE``: each worker tells with its reports what they took, and the
process that started the workers writes the file.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


def spent() -> float:
    """Seconds of the processor of this process, and of those that it waited for."""
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


class ProcessorTimes:
    """A plugin; see the module. file: where the times are written."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.last = 0.0
        self.of_tests: Counter[str] = Counter()

    def pytest_runtest_logstart(self) -> None:
        self.last = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = spent()
        report.processor, self.last = now - self.last, now
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.of_tests[report.nodeid] += report.processor

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput"):
            self.file.write_text(self.text())

    def text(self) -> str:
        """Seconds of all, of each folder and of each test, the largest first."""
        folders: Counter[str] = Counter()
        for name, seconds in self.of_tests.items():
            folders["/".join(name.split("::")[0].split("/")[:2])] += seconds
        rows = [("in all", sum(folders.values()))]
        rows += [*folders.most_common(), *self.of_tests.most_common()]
        return "".join([f"{seconds:9.2f} {name}\n" for name, seconds in rows])


__all__ = ["ProcessorTimes"]
