"""Extensions that are not built, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import parhelion as hl
from parhelion.lang.generator import find_generator
from tests.generator.filters import Soften
from tests.generator.test_extension import linked

x = hl.Var("x")


def ready() -> hl.Module:
    f = hl.Func("ready")
    f[x] = x
    return f.compile_to_module([], "ready")


def foreign() -> hl.Module:
    f = hl.Func("foreign")
    f[x] = x
    return f.compile_to_module([], "foreign", hl.Target("arm-64-linux"))


REFUSED: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda p: hl.build_extension([], p),
        "an extension of no functions is asked for",
    ),
    (
        lambda p: hl.build_extension([ready(), ready()], p, "m"),
        "two functions are called 'ready'",
    ),
    (
        lambda p: hl.build_extension([ready(), find_generator("soft")], p),
        "a module of 2 functions needs a name",
    ),
    (
        lambda p: hl.build_extension(ready(), p, "my module"),
        "'my module' is no name for a Python module",
    ),
    (
        lambda p: hl.build_extension(foreign(), p),
        "an extension for arm-64-linux cannot be linked here",
    ),
    (
        lambda p: hl.build_extension(hl.Func("f"), p),  # type: ignore[arg-type]
        "an extension is built of Generators and Modules, not <parhelion.Func 'f'>",
    ),
    (
        lambda p: hl.build_extension(ready(), p, generator_params={"a": 1}),
        "generator_params are for a Generator, not for a Module",
    ),
    (
        lambda p: hl.build_extension([Soften, Soften], p, generator_params={"a": 1}),
        "generator_params are for one Generator; 2 functions are to be built",
    ),
]


@linked
@pytest.mark.parametrize("case", REFUSED, ids=lambda c: c[1][:40])
def test_what_is_refused(
    case: tuple[Callable[[Path], object], str], tmp_path: Path
) -> None:
    with pytest.raises(hl.HalideError) as caught:
        case[0](tmp_path)
    assert caught.value.what == case[1]
    assert list(tmp_path.iterdir()) == []


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    with pytest.raises(hl.HalideError) as caught:
        hl.build_extension(ready(), tmp_path)
    assert caught.value.what == (
        "a Python extension is linked by a C compiler, and 'no-such-compiler' is not "
        "there"
    )
    assert "apt install gcc" in caught.value.hint


@linked
def test_a_compiler_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(hl.HalideError) as caught:
        hl.build_extension(ready(), tmp_path)
    assert caught.value.what == "the C compiler failed on the extension 'ready'"
    assert list(tmp_path.iterdir()) == []
