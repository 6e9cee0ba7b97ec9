"""The program of docs/ahead-of-time.md runs as it stands, and its words are true."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang.extension import write_extension
from parhelion.runtime import cache
from tests.aot.builds import HOST
from tests.generator.test_extension import linked, loaded

PAGE = Path(__file__).parent.parent.parent / "docs" / "ahead-of-time.md"


def test_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 2
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARHELION_GPU", "simulate")  # as the page sets it
    scope: dict[str, object] = {}
    for program in programs:
        exec(compile(program, str(PAGE), "exec"), scope)  # noqa: S102
    written = sorted(p.name for p in tmp_path.iterdir())
    names = ["bright.a", "bright.h", "bright_arm.h", "bright_arm.o"]
    assert written == [*names, "twice.h", "twice.o"]
    # The program in C++.
    (source,) = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "main.cpp").write_text(source)
    made = HOST.run(tmp_path / "main.cpp", [tmp_path / "bright.a"], tmp_path, [])
    assert (made.returncode, made.stdout) == (0, "1500 1500\n"), made.stderr
    assert made.stderr.strip() in PAGE.read_text()
    # The program in C that keeps buffers on the device.
    (source,) = re.findall(
        r"```c\n(#include <stdio.h>.*?)```", PAGE.read_text(), re.DOTALL
    )
    (tmp_path / "main.c").write_text(source)
    made = HOST.run(tmp_path / "main.c", [tmp_path / "twice.o"], tmp_path, [])
    assert (made.returncode, made.stdout) == (0, "0 0 13\n"), made.stderr


def test_the_cache_is_as_large_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARHELION_CACHE_MB", raising=False)
    assert f"more\nthan {cache.limit() >> 20} MB" in PAGE.read_text()


@linked
def test_small_outputs_need_a_tail_strategy(tmp_path: Path) -> None:
    """Of code compiled ahead of time with an automatic schedule."""
    image = np.random.default_rng(3).integers(0, 1000, (8, 8)).astype(np.uint16)
    exact = image[1:, :-1] // 2 + image[1:, 1:] // 2

    def bright(name: str) -> tuple[hl.Func, hl.ImageParam]:
        x, y = hl.vars("x y")
        picture = hl.ImageParam(hl.UInt(16), 2, "picture")
        f = hl.Func(name)
        f[x, y] = picture[x, y + 1] // 2 + picture[x + 1, y + 1] // 2
        return f, picture

    def module(f: hl.Func, picture: hl.ImageParam) -> Callable[..., object]:
        name = f.name()
        write_extension([f.compile_to_module([picture], name)], tmp_path, name)
        made: Callable[..., object]
        made = getattr(loaded(tmp_path / f"{name}.abi3.so"), name)
        return made

    plain, picture = bright("plain")
    found = hl.autoschedule(plain, [1536, 2560])
    small = module(plain, picture)
    with pytest.raises(IndexError, match=r"the pipeline writes -?\d+ to \d+, but "):
        small(image, np.zeros((1, 1), np.uint16))

    guarded, picture = bright("guarded")
    code, count = re.subn(
        r"(\.(?:split|vectorize)\([^()]*\d)\)",
        r"\1, hl.TailStrategy.GuardWithIf)",
        found.to_python(),
    )
    assert count
    scope: dict[str, Callable[[hl.Pipeline], None]] = {}
    exec(code, scope)  # noqa: S102
    scope["schedule"](hl.Pipeline([guarded]))
    small = module(guarded, picture)
    for height, width in ((1, 1), (3, 5), (7, 7)):
        out = np.zeros((height, width), np.uint16)
        small(image, out)
        np.testing.assert_array_equal(out, exact[:height, :width])
