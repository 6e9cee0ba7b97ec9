"""What LLVM made is found again, as long as all is the same that it was made by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parhelion.codegen.target import host_target
from parhelion.ir.target import Target, generic_target
from parhelion.runtime import jit
from tests.support import objects

TEXT = f"""target triple = "{host_target().triple}"
define i32 @seven() {{
  ret i32 7
}}
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Target]:
    """What LLVM is asked for, with object files in a folder of their own."""
    found: list[Target] = []
    ask = objects.MADE

    def make(
        text: str, target: Target, times: jit.CompileTimes, level: int = 2
    ) -> tuple[bytes, frozenset[str]]:
        found.append(target)
        return ask(text, target, times, level)

    monkeypatch.setattr(objects, "MADE", make)
    monkeypatch.setenv("PARHELION_TESTS_OBJECTS", str(tmp_path))
    return found


def made(text: str = TEXT, target: Target | None = None, level: int = 2) -> bytes:
    times = jit.CompileTimes()
    code, called = objects.made_once(text, target or host_target(), times, level)
    assert not called and times.emit > 0
    return code


def test_llvm_is_asked_once(asked: list[Target]) -> None:
    first = made()
    assert made() == first and len(asked) == 1
    assert first == jit.object_code(TEXT)


def test_what_differs_is_asked_for(
    asked: list[Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    made()
    made(TEXT.replace("7", "8"))
    made(target=generic_target(256))
    made(level=0)
    assert len(asked) == 4
    monkeypatch.setattr(objects, "maker", lambda: b"another LLVM")
    made()
    assert len(asked) == 5


def test_the_modules_that_ask_llvm_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "jit.py"
    assert jit.__file__ is not None
    other.write_text(Path(jit.__file__).read_text() + "\n")
    before = objects.maker()
    monkeypatch.setattr(jit, "__file__", str(other))
    assert objects.maker.__wrapped__() != before


def test_a_file_that_is_cut_off_is_made_again(
    asked: list[Target], tmp_path: Path
) -> None:
    first = made()
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for length in (0, 10, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert made() == first and file.read_bytes() != whole[:length]
    assert len(asked) == 4


def test_what_was_used_longest_ago_goes_first(
    asked: list[Target], tmp_path: Path
) -> None:
    texts = [TEXT.replace("7", str(n)) for n in (1, 2, 3)]
    for k, text in enumerate(texts):
        made(text)
        for file in tmp_path.iterdir():
            if file.stat().st_mtime > 1000:
                os.utime(file, (k, k))
    made(texts[0])  # which is the newest then
    sizes = [file.stat().st_size for file in tmp_path.iterdir()]
    objects.drop_oldest(tmp_path, sum(sizes))
    assert len(list(tmp_path.iterdir())) == 3
    objects.drop_oldest(tmp_path, sum(sizes) - 1)
    asked.clear()
    made(texts[0])
    made(texts[2])
    assert not asked
    made(texts[1])
    assert len(asked) == 1
    objects.drop_oldest(tmp_path, 0)
    assert not list(tmp_path.iterdir())


def test_a_run_leaves_what_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And nothing else: whole programs are made again in each run."""
    for name in ("PARHELION_TESTS_OBJECTS", "PARHELION_TESTS_RUN"):
        monkeypatch.setenv(name, os.environ[name])
    objects.begin(tmp_path)
    first = objects.programs()
    first.mkdir()
    made()
    objects.end()
    assert len(list(tmp_path.iterdir())) == 1 and not first.parent.exists()
    objects.begin()
    assert objects.programs() != first
    made()
    folder = objects.programs().parent
    assert len(list(folder.iterdir())) == 1
    objects.end()
    assert not folder.exists()
