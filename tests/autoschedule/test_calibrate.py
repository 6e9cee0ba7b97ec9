"""The cost model's fit to a computer: what is kept, found again, refused and said.

What is measured differs from run to run; the tests say what the times are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from parhelion.autoschedule import calibrate
from parhelion.autoschedule.machine import calibration, fit
from parhelion.autoschedule.machine.families import ZEN3
from parhelion.autoschedule.machine.families.emerald_rapids import USUAL
from parhelion.autoschedule.machine.fit import MOST, SCALED, STEP, TIMES, Fit
from parhelion.autoschedule.machine.kernels import Bench, kernels
from parhelion.autoschedule.machine.machine import Machine, host
from parhelion.errors import InternalError

HERE = Machine(2, 64, 32, 48 << 10, 2 << 20, 32 << 20)
SLOW_MEMORY = {**USUAL, "far_byte": USUAL["far_byte"] * STEP**2}


class Stopwatch:
    """In the place of `measure`: says what it is told, and counts."""

    def __init__(self, times: Mapping[str, float]) -> None:
        self.times, self.count = times, 0

    def __call__(self, machine: Machine | None = None) -> Fit:
        self.count += 1
        return Fit.of(self.times)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Stopwatch:
    """An empty cache folder, on a computer with slow memory."""
    made = Stopwatch(SLOW_MEMORY)
    monkeypatch.setattr(calibration, "measure", made)
    monkeypatch.setattr(calibration, "_FOUND", {})
    monkeypatch.delenv("HL_MACHINE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return made


@pytest.fixture
def forget(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What another process knows: nothing but the disk."""
    return lambda: monkeypatch.setattr(calibration, "_FOUND", {})


def only_file(folder: Path) -> Path:
    (found,) = (folder / "parhelion").iterdir()
    return found


# From times to costs.


def test_usual_times_leave_the_costs_as_they_are() -> None:
    assert Fit.of(USUAL).scaled(HERE) == HERE


@pytest.mark.parametrize("name", USUAL)
def test_what_differs_by_noise_is_the_same(name: str) -> None:
    for by in (0.2, 0.72, 1.4, 2.2):
        found = Fit.of({**USUAL, name: USUAL[name] * by}).scaled(HERE)
        # How fast the last level is, is asked beside the second alone.
        assert replace(found, l2=HERE.l2) == HERE


@pytest.mark.parametrize("name", USUAL)
def test_each_kernel_scales_its_costs_and_no_others(name: str) -> None:
    made = Fit.of({**USUAL, name: USUAL[name] * 4}).scaled(HERE)
    for field in fields(Machine):
        if field.name in ("l2", "family"):
            continue
        before, after = getattr(HERE, field.name), getattr(made, field.name)
        by = STEP**2 if field.name in SCALED[name] else 1
        assert after == pytest.approx(before * by)


def test_every_cost_is_a_time_but_two() -> None:
    scaled = [c for constants in SCALED.values() for c in constants]
    costs = {f.name for f in fields(Machine) if f.type == "float"}
    # A function's is a number of operations, and what is not hidden a share.
    assert set(TIMES) == costs - {"function", "unhidden"}
    assert len(scaled) == len(set(scaled)) and set(scaled) <= set(TIMES)
    assert SCALED.keys() == USUAL.keys()


@pytest.mark.parametrize(
    ("times", "pace"), [(0.1, 0.125), (0.5, 0.5), (0.6, 0.7071), (0.75, 1), (1.9, 2)]
)
def test_another_clock_scales_all_alike(times: float, pace: float) -> None:
    """So that no decision depends on it."""
    found = Fit.of({n: t * times for n, t in USUAL.items()})
    assert set(found.factors.values()) == {1.0}
    assert found.pace == pytest.approx(pace, rel=1e-3)
    scaled = found.scaled(HERE)
    for name in TIMES:
        expected = getattr(HERE, name) * pace
        assert getattr(scaled, name) == pytest.approx(expected, rel=1e-3)
    assert (scaled.l2, scaled.function) == (HERE.l2, HERE.function)


def test_what_is_slow_counts_beside_the_pace() -> None:
    core = {n: t * 0.5 for n, t in USUAL.items()}
    found = Fit.of({**core, "lane": USUAL["lane"] * 2, "far_write": 0.0149})
    assert {n: f for n, f in found.factors.items() if f != 1} == {"lane": STEP**2}
    assert found.scaled(HERE).lane == pytest.approx(HERE.lane * 2)


def test_a_family_has_usual_times_of_its_own() -> None:
    assert {n for n in USUAL if ZEN3.usual[n] != USUAL[n]} == {
        "lane",
        "far_byte",
        "far_write",
        "streamed",
    }
    machine = replace(HERE, family=ZEN3)
    assert Fit.of(ZEN3.usual, ZEN3).scaled(machine) == machine


@pytest.mark.parametrize(
    ("last_byte", "changes", "counted"),
    [
        (0.03, {}, 2),
        (0.06, {}, 1),
        (0.03, {"family": ZEN3}, 1),
        (0.03, {"threads": 3}, 1),
        (0.03, {"shared": 16 << 20}, 1),
    ],
)
def test_a_fast_last_level_counts_for_a_second_one(
    last_byte: float, changes: dict[str, Any], counted: int
) -> None:
    """Where a byte of it takes no more than thrice the time, each thread has room, and
    it has been compared."""
    machine = replace(HERE, **changes)
    found = Fit.of({**USUAL, "last_byte": last_byte})
    assert found.scaled(machine).l2 == machine.l2 * counted


def test_what_cannot_be_is_clamped_and_said() -> None:
    times = {**USUAL, "load": USUAL["load"] * 1e6, "row": USUAL["row"] * 1e-6}
    found = Fit.of(times)
    assert found.clamped == ("load", "row")
    assert found.factors["load"] == pytest.approx(STEP**MOST, rel=1e-3)
    # What is faster is not believed at all.
    assert found.factors["row"] == 1
    shown = calibrate.table(HERE, found).splitlines()
    marked = [line.split()[0] for line in shown[2:-1] if "!" in line]
    assert marked == ["load", "row"]


# The kernels themselves.


def test_there_is_a_kernel_for_each_time() -> None:
    assert [k.name for k in kernels(32, 32 << 10, 1 << 20)] == list(USUAL)


@pytest.mark.parametrize("vector_bytes", [16, host().vector_bytes])
def test_all_kernels_run(vector_bytes: int) -> None:
    bench = Bench(vector_bytes, 32 << 10, 256 << 10)
    for kernel in bench.kernels:
        assert bench.run(replace(kernel, rounds=1)) > 0


def test_a_chain_goes_through_all_lines() -> None:
    bench = Bench(16, 32 << 10, 256 << 10)
    chain = bench.arrays["chase"].view("int64")[::8]
    seen, at = set(), 0
    while at not in seen:
        seen.add(at)
        at = int(chain[at // 64])
    assert len(seen) == len(chain)


def test_measuring_times_what_seems_slow_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A neighbour that goes away before the last pass leaves no trace; what is slow
    every time stays."""

    class Told:
        def __init__(self, *sizes: int) -> None:
            self.kernels = kernels(*sizes)
            self.runs = dict.fromkeys(USUAL, 0)

        def run(self, kernel: object) -> float:
            name = kernel.name  # type: ignore[attr-defined]
            self.runs[name] += 1
            made.append(self)
            busy = self.runs[name] <= (calibration._PASSES - 1) * calibration._TURNS
            by = {"store": 9.0 if busy else 1.0, "lane": STEP**2}.get(name, 1.0)
            return USUAL[name] * by

    made: list[Told] = []
    monkeypatch.setattr(calibration, "Bench", Told)
    monkeypatch.setattr(calibration, "_PAUSE", 0)
    found = calibration.measure(HERE)
    assert {k for k, f in found.factors.items() if f != 1} == {"lane"}
    runs = made[0].runs
    assert runs["load"] == calibration._TURNS
    assert runs["lane"] == runs["store"] == calibration._PASSES * calibration._TURNS


# What is kept.


def test_the_first_schedule_measures_and_all_others_read(
    measured: Stopwatch, forget: Callable[[], None], tmp_path: Path
) -> None:
    first = calibration.known(1)
    again = calibration.known(4)
    forget()
    later = calibration.known(1)
    assert measured.count == 1
    assert first == later
    assert first.machine.far_byte == pytest.approx(host().far_byte * STEP**2, rel=1e-3)
    assert (again.machine.threads, again.machine.far_byte) == (
        4,
        first.machine.far_byte,
    )
    path = only_file(tmp_path)
    assert first.source == f"costs measured on this computer, kept in {path}"
    assert not first.trouble


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no JSON"),
        ("\x00\xff{", "it is no JSON"),
        ("[" * 5000, "it is no JSON"),
        (" " * 70000, "it is too long"),
        ("[1, 2]", "it is of another format"),
        ('{"format": 0}', "it is of another format"),
    ],
)
def test_a_garbled_file_is_measured_anew(
    text: str,
    why: str,
    measured: Stopwatch,
    forget: Callable[[], None],
    tmp_path: Path,
) -> None:
    good = calibration.known()
    path = only_file(tmp_path)
    kept = path.read_text()
    path.write_text(text, encoding="latin-1")
    forget()
    found = calibration.known()
    assert found.machine == good.machine
    assert found.trouble == (
        f"the measurements of this computer in {path} could not be used ({why});"
        " they were made anew"
    )
    assert measured.count == 2
    assert path.read_text() == kept
    forget()
    assert calibration.known() == good


def test_a_fifo_is_not_waited_for(
    measured: Stopwatch,
    forget: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """Nobody writes into it."""
    good = calibration.known()
    path = only_file(tmp_path)
    path.unlink()
    os.mkfifo(path)
    forget()
    found = calibration.known()
    assert found.machine == good.machine
    assert found.trouble == (
        f"the measurements of this computer in {path} could not be used (it is no"
        " regular file); they were made anew"
    )
    assert path.is_file()
    named = tmp_path / "named"
    os.mkfifo(named)
    monkeypatch.setenv("HL_MACHINE", str(named))
    assert "which cannot be used (it is no regular file)" in calibration.known().trouble


@pytest.mark.parametrize(
    ("part", "value", "why"),
    [
        ("processor", "another", "it is of another computer"),
        ("vector_bytes", 8, "it is of another computer"),
        ("caches", [1, 2, 3], "it is of another computer"),
        ("factors", {"load": 1.0}, "it is incomplete"),
        ("factors", {**USUAL, "load": "1"}, "'1' is no time"),
        ("factors", {**USUAL, "load": True}, "True is no time"),
        ("factors", {**USUAL, "load": 0}, "0 is no time"),
        ("factors", {**USUAL, "load": float("nan")}, "nan is no time"),
        ("factors", {**USUAL, "load": -1.0}, "-1.0 is no time"),
        ("factors", dict.fromkeys(USUAL, 100.0), "a factor is out of range"),
        ("pace", "fast", "its pace is out of range"),
        ("pace", 100.0, "its pace is out of range"),
        ("measured", None, "it is incomplete"),
        ("clamped", ["nothing"], "it is incomplete"),
        ("clamped", [["load"]], "it is incomplete"),
    ],
)
def test_what_is_kept_is_checked(
    part: str, value: object, why: str, measured: Stopwatch, tmp_path: Path
) -> None:
    calibration.known()
    path = only_file(tmp_path)
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, part: value}))
    with pytest.raises(ValueError, match="^" + why + "$"):
        fit.read(path, host())


def test_another_computer_has_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {fit.place(HERE), fit.place(replace(HERE, threads=7))}
    assert len(places) == 1
    places.add(fit.place(replace(HERE, vector_bytes=32)))
    places.add(fit.place(replace(HERE, l2=1 << 20)))
    monkeypatch.setattr(fit, "FORMAT", fit.FORMAT + 1)
    places.add(fit.place(HERE))
    monkeypatch.setattr(fit, "processor", lambda: "another")
    places.add(fit.place(HERE))
    assert len(places) == 5


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """Where no folder can be made, whoever one is: below a file."""
    path = tmp_path / "file"
    path.write_text("")
    return path


def test_where_nothing_can_be_kept_nothing_is_measured(
    measured: Stopwatch, unwritable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(unwritable))
    found = calibration.known()
    assert found.machine == host()
    assert found.source == "costs set by hand"
    assert found.trouble == (
        "measurements of this computer cannot be read or kept (Not a directory:"
        f" {unwritable}/parhelion/{fit.place(host()).name}), so that the costs are"
        " those set by hand (HL_MACHINE=default asks for them)"
    )
    assert measured.count == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read(measured: Stopwatch, tmp_path: Path) -> None:
    (tmp_path / "parhelion").mkdir(mode=0o500)
    found = calibration.known()
    assert found.machine == host()
    assert "Permission denied" in found.trouble
    assert measured.count == 0


def test_where_kernels_do_not_compile(
    measured: Stopwatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(machine: Machine) -> Fit:
        raise InternalError("internal error: LLVM refuses the generated code")

    monkeypatch.setattr(calibration, "measure", refuse)
    found = calibration.known()
    assert found.machine == host()
    assert "LLVM refuses the generated code), so that the costs are" in found.trouble


def test_a_file_is_whole_or_not_there(
    measured: Stopwatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is interrupted leaves what was there, and nothing beside it."""
    path = tmp_path / "kept.json"
    fit.write(path, HERE, Fit.of(USUAL), over=True)
    before = path.read_text()

    def interrupt(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(OSError, match="No space left"):
        fit.write(path, HERE, Fit.of(SLOW_MEMORY), over=True)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_who_comes_second_takes_what_the_first_kept(
    measured: Stopwatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that both find nothing end with the same costs."""

    def beaten(machine: Machine) -> Fit:
        fit.write(fit.place(machine), machine, Fit.of(USUAL), over=False)
        return Fit.of(SLOW_MEMORY)

    monkeypatch.setattr(calibration, "measure", beaten)
    assert calibration.known().machine == host()


# The environment variable.


def test_the_hand_set_costs_can_be_asked_for(
    measured: Stopwatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HL_MACHINE", "default")
    found = calibration.known(3)
    assert found.machine == host(3)
    assert found.source == "costs set by hand, as HL_MACHINE=default says"
    assert not found.trouble
    assert measured.count == 0
    assert not list(tmp_path.iterdir())


def test_a_file_can_be_named(
    measured: Stopwatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That of another computer, too."""
    path = tmp_path / "another.json"
    fit.write(path, replace(HERE, vector_bytes=8), Fit.of(SLOW_MEMORY), over=True)
    monkeypatch.setenv("HL_MACHINE", str(path))
    found = calibration.known()
    assert found.machine == Fit.of(SLOW_MEMORY).scaled(host())
    assert found.source == f"costs measured, kept in {path}"
    assert measured.count == 0


def test_a_file_that_is_named_and_no_good(
    measured: Stopwatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HL_MACHINE", str(tmp_path / "nothing"))
    found = calibration.known()
    assert found.machine == host()
    assert found.trouble == (
        f"HL_MACHINE names {tmp_path}/nothing, which cannot be used (No such file or"
        f" directory: {tmp_path}/nothing), so that the costs are those set by hand"
    )
    assert measured.count == 0


# What the scheduler makes of it.


def blurred() -> hl.Func:
    x, y = hl.vars("x y")
    image = hl.ImageParam(hl.UInt(16), 2, "image")
    rows, out = hl.funcs("rows out")
    rows[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) // 3
    out[x, y] = (rows[x, y] + rows[x, y + 1] + rows[x, y + 2]) // 3
    return out


def test_a_result_says_what_costs_it_goes_by(
    measured: Stopwatch, tmp_path: Path
) -> None:
    result = hl.autoschedule(blurred(), [1536, 2560], measure=2)
    told = f"costs measured on this computer, kept in {only_file(tmp_path)}"
    assert result.machine == told
    assert f"machine: {told}" in str(result.explain())


def test_the_costs_are_those_of_the_model(
    measured: Stopwatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = hl.autoschedule(blurred(), [1536, 2560]).predicted_seconds
    monkeypatch.setenv("HL_MACHINE", "default")
    usual = hl.autoschedule(blurred(), [1536, 2560]).predicted_seconds
    assert slow is not None and usual is not None
    assert slow > 1.2 * usual


def test_trouble_is_a_note(
    measured: Stopwatch, unwritable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(unwritable))
    (note,) = hl.autoschedule(blurred(), [64, 64]).notes
    assert note == calibration.known().trouble


def test_importing_measures_nothing(tmp_path: Path) -> None:
    program = (
        "import sys, parhelion;"
        "assert 'parhelion.autoschedule.machine.kernels' not in sys.modules"
    )
    given = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    del given["HL_MACHINE"]
    subprocess.run([sys.executable, "-c", program], env=given, check=True)
    assert not list(tmp_path.iterdir())


# The command.


def test_the_command(
    measured: Stopwatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calibrate.main(["--show"]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert calibrate.main(["--dry-run"]) == 0
    assert not list(tmp_path.iterdir())
    capsys.readouterr()
    assert calibrate.main([]) == 0
    first = capsys.readouterr().out
    far = host().far_byte
    assert f"far_byte {far:g} -> {far * STEP**2:.3g}" in first
    assert first.rstrip().endswith(str(only_file(tmp_path)))
    assert calibrate.main(["--show"]) == 0
    assert measured.count == 2
    assert capsys.readouterr().out == first


def test_the_command_replaces_what_is_kept(measured: Stopwatch, tmp_path: Path) -> None:
    calibration.known()
    measured.times = USUAL
    calibrate.main([])
    assert calibration.known().machine == host()


def test_the_command_takes_a_path(
    measured: Stopwatch, tmp_path: Path, unwritable: Path
) -> None:
    path = tmp_path / "deep" / "mine.json"
    assert calibrate.main(["--path", str(path)]) == 0
    assert fit.read(path, host()).factors == Fit.of(SLOW_MEMORY).factors
    assert calibrate.main(["--path", str(unwritable / "no")]) == 1
