"""Tracebacks that end at the user's line."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion import imageio, tracebacks
from parhelion.errors import PACKAGE, InternalError
from tests.support.shells import ipython

x, y, z = hl.vars("x y z")
IMAGE = np.zeros((4, 5), np.uint8)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PARHELION_TRACEBACK")


def plane() -> hl.Func:
    f = hl.Func("f")
    f[x, y] = x + y
    return f


@hl.jit
def wrong_axis(image: hl.Array) -> hl.Array:
    return image.mean(axis=7)


def _undefined() -> None:
    hl.Func("f")[x, y] = x + z


def _read_outside() -> None:
    g = hl.Func("g")
    g[x, y] = hl.Buffer(IMAGE)[x + 3, y]
    g.realize([4, 4])


#: One mistake for each way into the package.
MISTAKES: list[Callable[[], object]] = [
    _undefined,
    _read_outside,
    lambda: hl.u8(3) + 300,
    lambda: 300 + hl.u8(3),
    lambda: plane().parallel(z),
    lambda: plane().tile(x, y, z, z, 3, 3),
    lambda: plane().realize("a"),
    lambda: hl.Pipeline(plane()).realize("a"),
    lambda: max(x, 3),
    lambda: hl.Buffer(IMAGE)[9, 9],
    lambda: hl.Buffer(object()),
    lambda: hl.logical_not(3),
    lambda: hl.filters.gaussian(IMAGE, sigma=-1),
    lambda: hl.autoschedule(plane(), [0]),
    lambda: hl.Target("x86-64-lunix"),
    lambda: hl.ImageParam("uint8", 2).dim(7),
    lambda: hl.RDom([(0, "a")]),  # type: ignore[list-item]
    lambda: plane().compile_to_callable([], 3),  # type: ignore[arg-type]
    lambda: plane().compile_to_callable([])("no buffer"),
    lambda: hl.Array(IMAGE).foo,
    lambda: list(plane()),
    lambda: [1, 2][x + 1],
    lambda: range(x + 1),
    lambda: len(hl.Buffer(hl.UInt(8), [])),
    lambda: list(hl.stream(lambda frame: frame, [IMAGE, IMAGE[:2]])),
    lambda: list(hl.stream(lambda frame: frame, [IMAGE, IMAGE[:2]], queue=0)),
    lambda: plane().profile([4, 4])["g"],
    lambda: plane().report([4, 4])["g"],
    lambda: imageio.imwrite("x.png", np.ma.masked_array(IMAGE, True)),
]


def test_frames_of_a_stream_have_a_line() -> None:
    """Threads find that they are wrong, and who asks for a frame is told where."""
    for queue in (0, 2):
        frames = hl.stream(lambda frame: frame, [IMAGE, IMAGE[:2]], queue=queue)
        with pytest.raises(hl.BoundsError) as caught:
            list(frames)
        assert caught.value.at is not None and caught.value.at.file == __file__


def user_entries(error: BaseException) -> list[str]:
    """The functions in a traceback that pytest did not call."""
    found = traceback.extract_tb(error.__traceback__)
    assert not [f for f in found if f.filename.startswith(PACKAGE)]
    return [f.name for f in found if f.filename == __file__]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_last_line_is_the_users(mistake: Callable[[], object]) -> None:
    with pytest.raises((hl.HalideError, AttributeError)) as caught:
        mistake()
    if isinstance(caught.value, hl.HalideError):
        assert user_entries(caught.value)[-1] == mistake.__name__


def test_all_frames_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, number in (("full", 1), ("FULL", 1), ("short", 0), ("", 0)):
        monkeypatch.setenv("PARHELION_TRACEBACK", value)
        with pytest.raises(hl.ScheduleError) as caught:
            plane().parallel(z)
        found = traceback.extract_tb(caught.value.__traceback__)
        ours = [f for f in found if f.filename.startswith(PACKAGE)]
        assert bool(ours) == bool(number)
        # What takes frames off is in none.
        assert not [f for f in ours if f.filename == tracebacks.__file__]


def test_what_the_package_calls_of_the_users_is_kept() -> None:
    with pytest.raises(hl.TypeMismatchError) as caught:
        wrong_axis(IMAGE)
    name = "test_what_the_package_calls_of_the_users_is_kept"
    assert user_entries(caught.value) == [name, "wrong_axis"]

    def schedule(pipeline: hl.Pipeline) -> None:
        pipeline.outputs()[0].parallel(z)

    with pytest.raises(hl.ScheduleError) as refused:
        hl.jit(lambda a: a + 1, schedule=schedule)(IMAGE)
    assert user_entries(refused.value)[-1] == "schedule"


def test_causes_lose_their_frames_too() -> None:
    with pytest.raises(hl.HalideError) as caught:
        hl.Buffer(object())
    seen: BaseException | None = caught.value
    while seen is not None:
        user_entries(seen)
        seen = seen.__cause__ or seen.__context__


def test_errors_of_the_package_itself_keep_all() -> None:
    def broken() -> None:
        raise InternalError("internal error: a test")

    with pytest.raises(InternalError) as caught:
        tracebacks.ending(broken)()
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][1:] == [
        "broken"
    ]
    assert tracebacks.is_full(KeyError()) and tracebacks.is_full(caught.value)


def test_errors_of_others_keep_all_but_one() -> None:
    def failing(image: hl.Array) -> hl.Array:
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        hl.jit(failing)(IMAGE)
    found = traceback.extract_tb(caught.value.__traceback__)
    assert found[-1].name == "failing"
    assert [f for f in found if f.filename.startswith(PACKAGE)]
    # A call with wrong arguments fails before the function begins.
    with pytest.raises(TypeError, match="missing 1 required positional") as missing:
        plane().parallel()  # type: ignore[call-arg]
    name = "test_errors_of_others_keep_all_but_one"
    assert user_entries(missing.value) == [name]


def test_functions_stay_what_they_are() -> None:
    assert "tail" in inspect.signature(hl.Func.vectorize).parameters
    assert hl.Func.parallel.__name__ == "parallel"
    assert "def gaussian" in inspect.getsource(hl.filters.gaussian)
    for function in (hl.sin, hl.filters.gaussian, hl.autoschedule):
        assert pickle.loads(pickle.dumps(function)) is function
    assert isinstance(inspect.getattr_static(hl.Array, "T"), property)


def test_of_a_program_of_its_own(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import parhelion as hl\n"
        "x, z = hl.vars('x z')\n"
        "f = hl.Func('f')\n"
        "f[x] = x\n"
        "f.parallel(z)\n"
    )
    for value, most in ((None, 1), ("full", 9)):
        given: dict[str, Any] = dict(os.environ)
        given |= {"PARHELION_TRACEBACK": value} if value else {}
        done = subprocess.run(
            [sys.executable, str(program)],
            capture_output=True,
            text=True,
            env=given,
            check=False,
        )
        entries = [one for one in done.stderr.splitlines() if one.startswith("  File")]
        assert done.returncode == 1 and 1 <= len(entries) <= most
        assert (len(entries) > 1) == (value == "full")
        assert "ScheduleError: f.parallel: f has no loop z" in done.stderr
        assert "   |   ^^^^^^^^^^^^" in done.stderr


def test_in_ipython(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = ipython(tmp_path, monkeypatch)
    shell.colors = "nocolor"
    shell.run_cell("import parhelion as hl\nx, z = hl.vars('x z')\nf = hl.Func('f')")
    shell.run_cell("f[x] = x")
    capsys.readouterr()
    for value, own in ((None, False), ("full", True)):
        if value:
            monkeypatch.setenv("PARHELION_TRACEBACK", value)
        result = shell.run_cell("f.parallel(z)")
        assert isinstance(result.error_in_exec, hl.ScheduleError)
        said = capsys.readouterr().out
        assert "f.parallel: f has no loop z" in said and "f.parallel(z)" in said
        assert ("loops.py" in said) == own
