"""Trees of programs are kept from one process to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.forma.programs import PROGRAMS
from parhelion.errors import FormaError
from parhelion.forma import kept
from parhelion.forma import tree as T
from parhelion.forma.parse import parse
from parhelion.forma.spans import Source, Span
from parhelion.ir.deep import run_deep
from parhelion.runtime import cache

TEXT = "parameter M; vector#1 int x[M];\nreturn x@[1];"
PROGRAM = f"""
import sys
from parhelion import forma
forma.parse({TEXT!r})
print("lark" in sys.modules)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path))
    return tmp_path


def spans(value: object) -> list[tuple[int, int, Source]]:
    """The places of all nodes of a tree."""
    if isinstance(value, Span):
        return [(value.start, value.end, value.source)]
    if isinstance(value, tuple):
        return [one for part in value for one in spans(part)]
    if not isinstance(value, T.Node):
        return []
    parts = [getattr(value, name) for name in value.__dataclass_fields__]
    return [one for part in parts for one in spans(part)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_kept_is_what_was_read(name: str) -> None:
    text = PROGRAMS[name].path.read_text()
    source = Source(text, "a file")
    assert kept.find(source) is None
    made = parse(text, "a file")
    found = kept.find(source)
    assert found == made
    assert [p[:2] for p in spans(found)] == [p[:2] for p in spans(made)]
    assert {p[2] for p in spans(found)} == {source}


def test_deep_trees_are_kept() -> None:
    text = f"parameter M; vector#1 int x[M]; y = {'-(' * 3000}1{')' * 3000}; return x;"
    made = parse(text)
    found = kept.find(Source(text))
    assert found is not None
    assert run_deep(lambda: found == made)


def test_a_kept_tree_needs_no_parser() -> None:
    def run() -> str:
        command = [sys.executable, "-c", PROGRAM]
        made = subprocess.run(command, env=os.environ, capture_output=True, text=True)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    assert [run(), run()] == ["True", "False"]


def test_nothing_is_kept_where_code_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CACHE", "off")
    parse(TEXT)
    assert kept.find(Source(TEXT)) is None


def test_what_is_misspelt_is_not_kept(folder: Path) -> None:
    with pytest.raises(FormaError):
        parse("return")
    assert not list(folder.glob("*.bin"))


def test_what_is_damaged_is_read_again(folder: Path) -> None:
    made = parse(TEXT)
    (path,) = folder.glob("*.bin")
    path.write_bytes(path.read_bytes()[:-1])
    assert kept.find(Source(TEXT)) is None
    assert parse(TEXT) == made


def test_another_reader_reads_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse(TEXT)
    monkeypatch.setattr(kept, "_reader", lambda: "another")
    assert kept.find(Source(TEXT)) is None
    assert cache.usage().files == 1
