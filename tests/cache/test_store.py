"""The persistent cache on the disk: what is kept, how long, and what may go wrong."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parhelion.runtime import cache, environment
from tests.cache.programs import BLUR, ROOT, child, outcome

Put = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.bin"))


def test_what_is_stored_is_found(folder: Path) -> None:
    assert cache.load("a") is None
    cache.store("a", b"first")
    cache.store("b", b"")
    assert cache.load("a") == b"first"
    assert cache.load("b") == b""
    cache.store("a", b"second")
    assert cache.load("a") == b"second"
    told = cache.usage()
    assert (told.folder, told.files) == (folder, 2)
    assert told.bytes == sum([f.stat().st_size for f in files(folder)])
    cache.discard("a")
    assert cache.load("a") is None
    assert cache.clear() == 1
    assert cache.usage().files == 0


@pytest.mark.parametrize("word", ["0", "off", "OFF", "false"])
def test_it_can_be_off(
    word: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PARHELION_CACHE", word)
    monkeypatch.chdir(tmp_path)
    cache.store("a", b"x")
    assert cache.load("a") is None
    assert cache.usage().folder is None
    assert list(tmp_path.iterdir()) == []


def test_the_folder_may_be_in_the_users_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PARHELION_CACHE", "~/kept")
    cache.store("a", b"x")
    assert cache.usage().folder == tmp_path / "kept"
    assert len(files(tmp_path / "kept")) == 1


@pytest.mark.parametrize("given", ["-1", "100MB", "1.5", "²", "1_0"])
def test_a_bound_that_is_no_number(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_warned", set())
    monkeypatch.setenv("PARHELION_CACHE_MB", given)
    with pytest.warns(UserWarning, match="is no whole number of megabytes") as told:
        assert cache.limit() == cache.limit() == 512 << 20
    assert len(told) == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("given", "most"), [("", 512), ("0", 0), (" 7 ", 7)])
def test_a_bound(given: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARHELION_CACHE_MB", given)
    assert cache.limit() == most << 20


def test_every_byte_counts(folder: Path) -> None:
    """A file of which any byte is wrong, or any part is missing, is as good as none."""
    contents = bytes(range(40))
    cache.store("a", contents)
    (path,) = files(folder)
    whole = path.read_bytes()
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        assert cache.load("a") is None
        assert not path.exists()
        path.write_bytes(whole[:i])
        assert cache.load("a") is None
    path.write_bytes(whole + b"\0")
    assert cache.load("a") is None
    path.write_bytes(whole)
    assert cache.load("a") == contents


def test_what_was_used_least_recently_goes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARHELION_CACHE_MB", "1")
    size = 100 << 10
    for i in range(9):
        cache.store(f"n{i}", bytes(size))
        os.utime(folder / f"n{i}.bin", (i, i))
    assert cache.load("n0") is not None  # and so it is the youngest
    cache.store("n9", bytes(size))
    cache.store("n10", bytes(size))
    assert cache.usage().bytes <= 0.8 * (1 << 20) + size
    kept = {f.stem for f in files(folder)}
    assert {"n0", "n9", "n10"} <= kept
    assert not {"n1", "n2"} & kept
    # What is larger than all of it is not kept at all.
    cache.store("huge", bytes(2 << 20))
    assert cache.load("huge") is None


def test_what_a_dead_process_left_is_cleared(folder: Path) -> None:
    cache.store("a", b"x")
    (folder / ".new-rest").write_bytes(b"half")
    assert cache.clear() == 2


def test_a_folder_that_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PARHELION_CACHE", str(tmp_path / "file" / "kept"))
    monkeypatch.setattr(environment, "_warned", set())
    with pytest.warns(UserWarning, match="would be inside of a file; nothing is read"):
        cache.store("a", b"x")
    assert cache.load("a") is None
    assert cache.usage().files == 0
    assert outcome(BLUR, tmp_path / "file" / "kept")[1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o500)
    try:
        cache.store("a", b"x")
        assert cache.load("a") is None
    finally:
        folder.chmod(0o700)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """No file may grow beyond 4 KB: writing fails in the middle of each."""
    source = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" + BLUR
    )
    exact, _ = outcome(BLUR, "0")
    for _ in range(2):
        assert outcome(source, tmp_path) == (exact, True)
    assert list(tmp_path.iterdir()) == []


def test_the_second_process_compiles_nothing(tmp_path: Path) -> None:
    exact, compiled = outcome(BLUR, "0")
    assert compiled
    assert outcome(BLUR, tmp_path) == (exact, True)
    assert outcome(BLUR, tmp_path) == (exact, False)
    assert outcome(BLUR, "off") == (exact, True)


@pytest.mark.parametrize("damage", ["truncated", "garbled", "empty"])
def test_damaged_files_are_compiled_again(damage: str, tmp_path: Path) -> None:
    exact, _ = outcome(BLUR, tmp_path)
    for path in files(tmp_path):
        whole = path.read_bytes()
        if damage == "truncated":
            path.write_bytes(whole[: len(whole) // 2])
        elif damage == "empty":
            path.write_bytes(b"")
        else:
            # All of the machine code.
            path.write_bytes(whole[:300] + bytes(b ^ 0x55 for b in whole[300:]))
    assert outcome(BLUR, tmp_path) == (exact, True)
    assert outcome(BLUR, tmp_path) == (exact, False)


def test_sixteen_processes_at_once(tmp_path: Path) -> None:
    exact, _ = outcome(BLUR, "0")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PARHELION_CACHE": str(tmp_path),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", BLUR],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(16)
    ]
    for one in running:
        told, _ = one.communicate(timeout=300)
        assert one.returncode == 0
        assert told.split()[0] == exact
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".new-")]
    assert outcome(BLUR, tmp_path) == (exact, False)


def test_passes_are_printed_whatever_is_kept(tmp_path: Path) -> None:
    runs = [child(BLUR, tmp_path)]
    runs += [child(BLUR, tmp_path, PARHELION_DUMP="flatten_storage") for _ in range(2)]
    told = [run.stdout + run.stderr for run in runs]
    assert "flatten_storage" not in told[0]
    assert told[1].count("flatten_storage") == told[2].count("flatten_storage") > 0


def test_code_that_warns_is_compiled_each_time(tmp_path: Path) -> None:
    """What it warns of is warned of again."""
    file = tmp_path / "warned.py"
    file.write_text(
        """
import parhelion as hl
x, y = hl.Var("x"), hl.Var("y")
f, g = hl.Func("f"), hl.Func("g")
f[x, y] = x + y
g[x, y] = f[x, y] * 2
f.reorder(y, x)
g.realize([16, 16])
"""
    )
    source = f"import runpy; runpy.run_path({str(file)!r})"
    kept = tmp_path / "kept"
    first, second = (child(source, kept).stderr for _ in range(2))
    assert "Warning" in first
    assert first == second


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_link(path: Path) -> None:
    path.symlink_to(path.with_name("target"))
    path.with_name("target").write_bytes(b"mine")


def put_folder(path: Path) -> None:
    path.mkdir()


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("put", [put_fifo, put_link, put_folder, put_socket])
def test_what_is_no_file_in_a_files_place(put: Put, folder: Path) -> None:
    """It is not read (a FIFO would be waited for), and a file takes its place."""
    cache.store("b", b"other")
    put(folder / "a.bin")
    assert cache.load("a") is None
    cache.store("a", b"contents")
    assert cache.load("a") == b"contents"
    if put is put_link:
        assert (folder / "target").read_bytes() == b"mine"
    put_fifo(folder / "c.bin")
    assert cache.usage().files == 3
    assert cache.clear() == 3


@pytest.mark.parametrize("put", [put_fifo, put_link, put_folder])
def test_what_is_no_file_in_the_tallys_place(put: Put, folder: Path) -> None:
    folder.mkdir()
    put(folder / "tally")
    for i in range(3):
        cache.store(f"n{i}", b"contents")
        assert cache.load(f"n{i}") == b"contents"


def test_another_names_file_is_not_taken(folder: Path) -> None:
    cache.store("a", b"contents")
    os.replace(folder / "a.bin", folder / "b.bin")
    assert cache.load("b") is None
    assert not (folder / "b.bin").exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_may_write(
    mode: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store("a", b"contents")
    folder.chmod(mode)
    monkeypatch.setattr(environment, "_warned", set())
    with pytest.warns(UserWarning) as told:
        assert cache.load("a") is None
        cache.store("b", b"contents")
    assert [str(one.message) for one in told] == [
        f"the folder {str(folder)!r}, where compiled code would be kept, may be written"
        f" by others (its mode is {mode:o}); nothing is read from it or stored there. "
        "PARHELION_CACHE names another folder, or is off"
    ]
    folder.chmod(0o700)
    assert cache.load("a") == b"contents"
    assert len(files(folder)) == 1


def test_a_folder_of_another_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.store("a", b"contents")
    monkeypatch.setattr(environment, "_warned", set())
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    told = f"belongs to the user {me}, and this one is {me + 1}; nothing is read"
    with pytest.warns(UserWarning, match=told):
        assert cache.load("a") is None


@pytest.mark.parametrize("below", ["", "code"])
def test_a_file_in_the_place_of_the_folder(
    below: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cost every compilation again, and nothing said so."""
    file = tmp_path / "file"
    file.write_text("kept")
    where = file / below
    monkeypatch.setenv("PARHELION_CACHE", str(where))
    monkeypatch.setattr(environment, "_warned", set())
    with pytest.warns(UserWarning) as told:
        cache.store("a", b"contents")
        assert cache.load("a") is None
    why = "would be inside of a file" if below else "is no folder, but a file"
    assert [str(one.message) for one in told] == [
        f"the folder {str(where)!r}, where compiled code would be kept, {why}; nothing"
        " is read from it or stored there. PARHELION_CACHE names another folder, or is"
        " off"
    ]
    assert file.read_text() == "kept"


def test_files_that_others_may_write(folder: Path) -> None:
    cache.store("a", b"contents")
    (folder / "a.bin").chmod(0o666)
    assert cache.load("a") is None
    cache.store("a", b"contents")
    assert cache.load("a") == b"contents"


def test_storing_does_not_look_through_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    scan = os.scandir

    def noted(at: str) -> Any:
        looks.append(at)
        return scan(at)

    monkeypatch.setattr(os, "scandir", noted)
    for i in range(300):
        cache.store(f"n{i}", bytes(5000))
    assert len(looks) == 1
    # What was stored elsewhere counts, and the bound holds.
    monkeypatch.setenv("PARHELION_CACHE_MB", "1")
    for i in range(300, 600):
        cache.store(f"n{i}", bytes(5000))
    assert cache.usage().bytes <= 1 << 20
    assert cache.load("n599") is not None
    assert len(looks) < 30


def test_contents_that_are_no_program_are_compiled_again(tmp_path: Path) -> None:
    """Though their digest holds."""
    exact, _ = outcome(BLUR, tmp_path)
    spoil = """
import os, sys
from pathlib import Path
from parhelion.runtime import cache
for path in Path(os.environ["PARHELION_CACHE"]).glob("*.bin"):
    cache.store(path.stem, {contents})
"""
    for contents in ("b''", "b'x' * 7", "bytes(16)", "b'{}' * 40", "bytes(4000)"):
        assert child(spoil.format(contents=contents), tmp_path).returncode == 0
        assert outcome(BLUR, tmp_path) == (exact, True)
        assert outcome(BLUR, tmp_path) == (exact, False)


MANY_READS = """
import numpy as np
import parhelion as hl
x, f = hl.Var("x"), hl.Func("f")
b = hl.Buffer(np.arange(100, dtype=np.float32))
f[x] = sum([b[hl.clamp(128 * x + k, 0, 99)] for k in range(128)], hl.f32(0))
assert np.asarray(f.realize([3])).tolist() == [7722, 12672, 12672]
"""


def test_deep_regions_are_kept(tmp_path: Path) -> None:
    """That of an image which is read in many places is as deep as there are places."""
    for _ in range(2):
        told = child(MANY_READS, tmp_path)
        assert told.returncode == 0, told.stderr
    assert files(tmp_path)
