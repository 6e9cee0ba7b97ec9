"""Programs whose code is in the cache: another process neither reads nor lowers any."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion import forma
from parhelion.errors import FormaError, HalideError
from parhelion.forma import kept_programs
from parhelion.forma.program import Program
from parhelion.runtime import cache
from tests.forma.draw import draw
from tests.forma.listings import PYRAMID

SHIFT = """\
stencil f(vector#2 float X, float by) { return X@[-1,0] + by * X@[1,0]; }
parameter float by;
parameter M, N, K;
vector#2 float x[M,N];
vector#2 float y[K,N];
return f(x:clamped, by), y[0..K-2,0..N-1];
"""
ROOM = """\
stencil f(vector#2 int16 X) { return int16(X@[0,-1] + X@[0,1]); }
parameter M, N;
vector#2 int16 x[M,N];
a = x[2..M-3,0..N-1];
return f(f(a:mirror):wrap);
"""
RGB = """\
struct P { float r; float g; float b; }
stencil f(vector#2 P X) { return P(X.b, X@[1,0].g, X@[0,1].r); }
parameter M, N;
vector#2 P x[M,N];
return f(x:clamped);
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path))
    monkeypatch.delenv("PARHELION_DUMP", raising=False)
    return tmp_path


def is_ready(program: Program) -> bool:
    """Whether it was found: nothing of it is made yet."""
    return program._code is not None and program._made is None


def twice(text: str, **asked: Any) -> tuple[Program, Program]:
    """A program that was compiled, and the same that was found."""
    made, found = forma.compile(text, **asked), forma.compile(text, **asked)
    assert not is_ready(made) and is_ready(found)
    return made, found


def results(program: Program, *args: Any, **named: Any) -> list[Any]:
    found = program(*args, **named)
    return list(found) if isinstance(found, tuple) else [found]


def assert_same(made: Program, found: Program, *args: Any, **named: Any) -> None:
    pair = [results(one, *args, **named) for one in (made, found)]
    for a, b in zip(*pair, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.tobytes() == b.tobytes()


def words(text: str) -> list[str]:
    """The words of a text, without the numbers that tell apart what one process has
    under one name."""
    return re.sub(r"\$\d+", "", text).split()


@pytest.mark.parametrize("name", ["blur", "sampling", "canny", "exposure_fusion"])
def test_a_second_process_neither_reads_nor_lowers(name: str) -> None:
    """Nor does it load what parses, schedules and lowers."""
    script = f"""
import hashlib, json, sys
from apps.forma.programs import PROGRAMS
from parhelion import forma
one, size = PROGRAMS[{name!r}], (72, 64)
compiled = forma.compile(one.path)
found = compiled(**one.inputs(size), **one.parameters(size))
is_made = compiled._made is not None or compiled._graph is not None
loaded = [m for m in ("lark", "parhelion.lower.passes", "parhelion.codegen.llvm")
          if m in sys.modules]
several = found if isinstance(found, tuple) else (found,)
digest = hashlib.sha256(b"".join([a.tobytes() for a in several])).hexdigest()
print(json.dumps([digest, is_made, loaded]))
"""
    told = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        told.append(json.loads(done.stdout))
    (first, was_made, _), (second, is_made, loaded) = told
    assert first == second
    assert was_made and not is_made
    assert loaded == []


@pytest.mark.parametrize("scheduler", ["Strips", "Forma"])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed: int, scheduler: str) -> None:
    drawn = draw(seed)
    made, found = twice(drawn.text, scheduler=scheduler, strict_float=True)
    assert_same(made, found, **drawn.inputs, **drawn.parameters)


def test_it_says_what_it_takes() -> None:
    made, found = twice(SHIFT)
    assert repr(made) == repr(found)
    assert made.__signature__ == found.__signature__
    assert is_ready(found)


def test_what_it_is_made_of_is_made_when_asked_for() -> None:
    made, found = twice(PYRAMID)
    sizes = {"M": 64, "N": 64}
    assert made.sizes(**sizes) == found.sizes(**sizes)
    assert is_ready(found)  # the graph is enough for that
    assert list(made.funcs) == list(found.funcs)
    assert not is_ready(found)
    assert str(made.strips) == str(found.strips)
    assert len(made.fusion.groups) == len(found.fusion.groups)
    names = [
        words(" ".join([a.name() for a in one.compiled_arguments()]))
        for one in (made, found)
    ]
    assert names[0] == names[1]


def test_other_languages() -> None:
    made, found = twice(SHIFT)
    (body, header), (other, same) = made.c_text("f"), found.c_text("f")
    assert header == same and len(body.split()) == len(other.split())
    made, found = twice(PYRAMID)
    assert made.cuda_text("f") == found.cuda_text("f")


def test_reports() -> None:
    image = np.ones((40, 50), np.float32)
    made, found = twice(SHIFT)
    arguments = {"x": image, "y": image, "by": 2.0}
    reports = [str(one.report(**arguments)) for one in (made, found)]
    assert words(reports[0]) == words(reports[1])


IMAGE = np.arange(320, dtype=np.float32).reshape(16, 20)


@pytest.mark.parametrize(
    "given",
    [
        IMAGE[:, ::2],
        IMAGE[::-2],
        IMAGE[:, ::-1],
        np.asfortranarray(IMAGE),
        IMAGE[:1],
        IMAGE[:, :1],
        IMAGE[:1, :1],
        np.ascontiguousarray(IMAGE.T).T[2:, 3:],
    ],
)
def test_arrays_of_any_layout(given: Any) -> None:
    made, found = twice(SHIFT)
    other = np.ones((given.shape[0], 7), np.float32)
    assert_same(made, found, given, other, 0.5)
    assert is_ready(found)


def test_structs_come_in_either_form() -> None:
    made, found = twice(RGB)
    pixels = np.arange(360, dtype=np.float32).reshape(10, 12, 3)
    structs = np.zeros((10, 12), [("r", "f4"), ("g", "f4"), ("b", "f4")])
    for k, name in enumerate("rgb"):
        structs[name] = pixels[..., k]
    for given in (pixels, structs, pixels[:, ::2], pixels[:1, :1]):
        assert_same(made, found, given)
    assert is_ready(found)


def test_results_in_the_place_of_arguments() -> None:
    """That needs a copy, which the code itself does not make."""
    text = "stencil f(vector#2 int16 X) { return int16(X@[-1,0] + X@[1,0]); }"
    text += "parameter M, N; vector#2 int16 x[M,N]; return f(x:clamped);"
    made, found = twice(text)
    image = np.arange(200, dtype=np.int16).reshape(10, 20)
    wanted = made(image)
    for where in (image.copy(), np.zeros((20, 20), np.int16)[::2]):
        source = where if where.base is None else image
        np.testing.assert_array_equal(found(source, out=where), wanted)


def wrong_type() -> tuple[str, list[Any], dict[str, Any]]:
    return SHIFT, [IMAGE.astype(np.float64), IMAGE, 1.0], {}


def wrong_size() -> tuple[str, list[Any], dict[str, Any]]:
    return SHIFT, [IMAGE, IMAGE[:3], 1.0], {}


def no_number() -> tuple[str, list[Any], dict[str, Any]]:
    return SHIFT, [IMAGE, IMAGE, "1"], {}


def too_many() -> tuple[str, list[Any], dict[str, Any]]:
    return SHIFT, [IMAGE] * 9, {}


def too_small() -> tuple[str, list[Any], dict[str, Any]]:
    return ROOM, [np.zeros((5, 3), np.int16)], {}


def read_only() -> tuple[str, list[Any], dict[str, Any]]:
    out = np.zeros((9, 5), np.int16)
    out.flags.writeable = False
    return ROOM, [np.zeros((9, 9), np.int16)], {"out": out}


def broadcast() -> tuple[str, list[Any], dict[str, Any]]:
    """Only the compiled code's side finds this out."""
    out = np.lib.stride_tricks.as_strided(np.zeros(5, np.int16), (9, 5), (0, 2))
    return ROOM, [np.zeros((9, 9), np.int16)], {"out": out}


@pytest.mark.parametrize(
    "wrong",
    [
        *(wrong_type, wrong_size, no_number, too_many, too_small, read_only),
        broadcast,
    ],
)
def test_calls_fail_alike(
    wrong: Callable[[], tuple[str, list[Any], dict[str, Any]]],
) -> None:
    """With the same message, at the same line of the program."""
    text, args, named = wrong()
    told = []
    for program in twice(text):
        with pytest.raises(HalideError) as caught:
            program(*args, **named)
        told.append((type(caught.value), words(str(caught.value))))
    assert told[0] == told[1]
    assert any(["<forma>" in word for word in told[0][1]])


def test_the_file_is_that_of_who_asks(tmp_path: Path) -> None:
    """Two files of one text have one record; messages name the file that was read."""
    for name in ("one.forma", "two.forma"):
        (tmp_path / name).write_text(ROOM)
    forma.compile(tmp_path / "one.forma")
    found = forma.compile(tmp_path / "two.forma")
    assert is_ready(found) and found.name == "two"
    with pytest.raises(FormaError, match="two.forma"):
        found(np.zeros((5, 3), np.int16))
    assert found.graph.file.endswith("two.forma")


def test_what_is_asked_for_decides() -> None:
    """A record is of a text, a scheduler and a target."""
    forma.compile(ROOM)
    for asked in (
        {"scheduler": "Forma"},
        {"strict_float": True},
        {"target": hl.Target("host-no_asserts")},
    ):
        assert not is_ready(forma.compile(ROOM, **asked))
    assert not is_ready(forma.compile(ROOM + " "))
    assert is_ready(forma.compile(ROOM))


def test_another_version_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forma.compile(ROOM)
    monkeypatch.setattr(kept_programs, "_version", lambda: "another")
    assert not is_ready(forma.compile(ROOM))


def test_nothing_is_kept_where_code_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CACHE", "off")
    for _ in range(2):
        assert not is_ready(forma.compile(ROOM))


def test_what_is_printed_is_lowered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forma.compile(ROOM)
    monkeypatch.setenv("PARHELION_DUMP", "inline")
    assert not is_ready(forma.compile(ROOM))
    assert capsys.readouterr().err


def test_profiled_programs_are_not_found() -> None:
    for _ in range(2):
        assert not is_ready(forma.compile(ROOM, target=hl.Target("host-profile")))


def test_plain_programs_of_several_funcs_are_judged() -> None:
    """What has no schedule is looked at when its sizes are known."""
    text = "stencil f(vector#1 int X) { return X@[-1] + X@[1]; }"
    text += "parameter M; vector#1 int x[M]; return f(x:clamped);"
    twice(text, scheduler=None)


def record_of(folder: Path, text: str) -> Path:
    """The file of a program's record: the one that comes when it is found no more."""
    forma.compile(text)
    (path,) = [p for p in folder.glob("*.bin") if b'"interface"' in p.read_bytes()]
    return path


def contents(path: Path) -> Any:
    raw = cache.load(path.stem)
    assert raw is not None
    return json.loads(raw)


@pytest.mark.parametrize("at", [3, 40, 90, -1])
def test_a_damaged_record_is_none(folder: Path, at: int) -> None:
    path = record_of(folder, ROOM)
    whole = bytearray(path.read_bytes())
    whole[at] ^= 1
    path.write_bytes(whole)
    assert not is_ready(forma.compile(ROOM))
    assert is_ready(forma.compile(ROOM))


def test_a_record_that_is_cut_is_none(folder: Path) -> None:
    path = record_of(folder, ROOM)
    path.write_bytes(path.read_bytes()[:-7])
    assert not is_ready(forma.compile(ROOM))
    assert is_ready(forma.compile(ROOM))


def test_records_of_others_are_not_read(folder: Path) -> None:
    path = record_of(folder, ROOM)
    path.chmod(0o666)
    assert not is_ready(forma.compile(ROOM))


def changed(told: Any, *way: Any) -> None:
    *parents, last, value = way
    for one in parents:
        told = told[one]
    told[last] = value


@pytest.mark.parametrize(
    "way",
    [
        ("interface", None),
        ("interface", "nodes", 0, ["Call", 1]),
        ("interface", "nodes", 0, ["Var", 9]),
        ("interface", "inputs", 0, 2, [99, 99]),
        ("interface", "inputs", 0, ["x"]),
        ("interface", "outputs", 0, 1, "string"),
        ("interface", "parameters", 0, 1, 7),
        ("code", "code", "0" * 64),
        ("code", "places", [1, 0]),
        ("code", "places", [0]),
        ("code", "places", [0, 99, 1, 2]),
        ("code", "arguments", 0, 1, [0, 32, 1]),
        ("code", "arguments", 0, 2, [3, [1, None, None]]),
        ("code", "arguments", 0, 2, None),
        ("code", "inputs", 0),
        ("code", "small", [[7, 0, 2]]),
    ],
)
def test_what_others_wrote_is_none(folder: Path, way: Any) -> None:
    """A record that is whole and tells of no program, or of another one's code."""
    path = record_of(folder, ROOM)
    told = contents(path)
    changed(told, *way)
    cache.store(path.stem, json.dumps(told).encode())
    program = forma.compile(ROOM)
    assert not is_ready(program)
    image = np.arange(99, dtype=np.int16).reshape(9, 11)
    assert results(program, image)[0].shape == (9, 7)
    assert is_ready(forma.compile(ROOM))


def test_code_that_is_gone_is_made_again(folder: Path) -> None:
    path = record_of(folder, ROOM)
    cache.discard(contents(path)["code"]["code"])
    assert not is_ready(forma.compile(ROOM))
    assert is_ready(forma.compile(ROOM))


def test_misspelt_programs_have_no_record(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(FormaError):
            forma.compile("parameter M; vector#1 int x[M]; return y;")
    assert not [p for p in folder.glob("*.bin") if b'"interface"' in p.read_bytes()]


def test_calls_obey_time_limits() -> None:
    """A run that is too long is not begun again."""
    text = "stencil f(vector#2 float X) { return sin(cos(exp(X@[-1,0]) + X)); }"
    text += "parameter M, N; vector#2 float x[M,N]; y = x;"
    text += "for i = 1..40 z<i> = f(y:clamped); endfor return z<1>;"
    _, found = twice(text)
    image = np.ones((1500, 1500), np.float32)
    with pytest.raises(hl.TimeLimitError), hl.time_limit(0.001):
        found(image)
    assert is_ready(found)


def test_threads_share_a_found_program() -> None:
    from concurrent.futures import ThreadPoolExecutor

    made, found = twice(SHIFT)
    wanted = [a.tobytes() for a in results(made, IMAGE, IMAGE, 3.0)]

    def run(_: int) -> list[bytes]:
        return [a.tobytes() for a in results(found, IMAGE.copy(), IMAGE, 3.0)]

    with ThreadPoolExecutor(8) as pool:
        for one in pool.map(run, range(40)):
            assert one == wanted
