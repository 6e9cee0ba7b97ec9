"""Tuning and specialising: the points, what is kept and skipped, gains. No timing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from apps import vgg
from benchmarks.auto import batch, specialise, supervise, tune, tuning_page
from benchmarks.auto.batch import Spec, run
from benchmarks.auto.gate import Gate
from benchmarks.auto.kept import Entry, Kept
from benchmarks.auto.made import Made, Maker, Makers, digest, make
from benchmarks.auto.points import (
    FULL,
    KINDS,
    POLYMAGE,
    REDUCED,
    REFERENCE,
    Point,
    spread,
)
from benchmarks.auto.series import SERIES, find
from benchmarks.auto.specialised import best_on_average, gains, seconds_of
from benchmarks.auto.supervise import Spoken
from benchmarks.auto.table import DEFAULT, PAPERS, Row
from benchmarks.auto.tuned_plot import throughput
from benchmarks.cases import ORDER
from parhelion.autoschedule.machine import machine
from parhelion.autoschedule.mullapudi.params import Limits, limits
from tests.support.machines import at_hand


def test_the_searches_have_as_many_points_as_in_the_paper() -> None:
    for points, count in ((REDUCED, 6), (FULL, 1152), (POLYMAGE, 147)):
        assert len(points) == count
        assert len({p.label for p in points}) == count
        for point in points:
            assert point.scheduler in ("Mullapudi2016", "PolyMage")
    assert {dict(p.parameters)["CACHE_SIZE"] for p in REDUCED} == {
        32 << 10,
        128 << 10,
        256 << 10,
    }
    assert {dict(p.parameters)["TILE_Y"] for p in POLYMAGE} == {
        8,
        16,
        32,
        64,
        128,
        256,
        512,
    }


def test_schedulers_understand_what_a_point_tells_them() -> None:
    found, _ = limits("Mullapudi2016", FULL[-1].told(2))
    assert found == Limits(16, 24, 512 << 10, 80)
    found, _ = limits("Mullapudi2016", REDUCED[0].told(3))
    assert (found.parallelism_threshold, found.cache_size) == (6, 32 << 10)


class Fake:
    """Makes and runs points without doing anything: two points have one schedule if
    they have one CACHE_SIZE. 0 is the reference's."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.ran: list[str] = []

    def make(self, points: Sequence[Point]) -> dict[Point, Made]:
        self.asked += [p.label for p in points]
        sizes = {p: dict(p.parameters).get("CACHE_SIZE", 0) for p in points}
        return {p: Made(0.5, f"cache({size})") for p, size in sizes.items()}

    def run(self, texts: Mapping[str, str]) -> list[Entry]:
        self.ran += texts
        entries: list[Entry] = []
        for label, text in texts.items():
            cache = int(text[6:-1])
            seconds = 2.0 if not cache else 65536 / cache
            beside = {"reference": 2.0, "same": True, "others": 0.25}
            entries.append({"label": label, "min": seconds, **beside})
        return entries


def swept(
    folder: Path, points: Sequence[Point], fake: Fake, done: list[int] | None = None
) -> Kept:
    known = Kept("blur", 1, folder)
    told = [] if done is None else done
    tune.sweep(known, points, fake.make, fake.run, told.append)
    return known


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = Fake()
    swept(tmp_path, REDUCED[:3], first)
    assert set(first.asked) == {p.label for p in (REFERENCE, *REDUCED[:3])}
    done: list[int] = []
    second = Fake()
    swept(tmp_path, REDUCED, second, done)
    assert set(second.asked) == {p.label for p in (REFERENCE, *REDUCED[3:])}
    assert done == [3]
    third = Fake()
    swept(tmp_path, REDUCED, third, done)
    assert third.asked == [] and third.ran == []
    lines = (tmp_path / "blur_1t.jsonl").read_text().splitlines()
    labels = [json.loads(line)["label"] for line in lines]
    assert len(labels) == 7
    assert set(labels) == {p.label for p in (REFERENCE, *REDUCED)}


def test_no_chunk_begins_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "CHUNK", 4)
    monkeypatch.setattr(tune, "BATCH", 2)
    clock = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    known, fake, done = Kept("blur", 1, tmp_path), Fake(), list[int]()
    tune.sweep(known, FULL, fake.make, fake.run, done.append, ends=15.0)
    # Four new schedules are enough to run them: chunk 1 has four, the others fewer.
    assert len(FULL) - len(known.missing(FULL)) == sum(done) == 12
    assert done == [4, 8]


def test_the_first_points_of_a_search_are_from_everywhere() -> None:
    for points in KINDS.values():
        assert sorted(spread(points), key=points.index) == list(points)
    for name in ("TILE_X", "TILE_Y", "LOAD_COST"):
        found = {dict(p.parameters)[name] for p in spread(POLYMAGE)[:21]}
        assert found == {dict(p.parameters)[name] for p in POLYMAGE}


def test_a_schedule_is_run_once_and_its_time_is_that_of_all_its_points(
    tmp_path: Path,
) -> None:
    fake = Fake()
    for k in range(0, 6, 2):
        known = swept(tmp_path, REDUCED[: k + 2], fake)
    # The reference runs beside every batch.
    ran = [label for label in fake.ran if label != REFERENCE.label]
    sizes = [dict(p.parameters)["CACHE_SIZE"] for p in REDUCED if p.label in ran]
    assert len(ran) == 3 and sizes == [32 << 10, 128 << 10, 256 << 10]
    assert known.seconds(REDUCED[1]) == known.seconds(REDUCED[0]) == 2.0
    best = known.best(REDUCED)
    assert best is not None and best[1] == 0.25
    assert dict(best[0].parameters)["CACHE_SIZE"] == 256 << 10
    tune.write_best(known, "reduced")
    text = (tmp_path / "blur_1t_reduced.py").read_text()
    assert text == f"cache({256 << 10})"
    row = tuning_page.tuned([("blur", 1, known)]).splitlines()[-1]
    assert "| reduced | 6 of 6 | 3 | 0 | 2000.00 | 8.00 | CACHE_SIZE" in row
    assert row.endswith("| 25 % |")


def test_a_point_with_the_reference_s_schedule_is_not_run(tmp_path: Path) -> None:
    fake = Fake()
    known = swept(tmp_path, [Point("Mullapudi2016", (("LOAD_COST", 10),))], fake)
    assert fake.ran == [REFERENCE.label]
    assert known.seconds(Point("Mullapudi2016", (("LOAD_COST", 10),))) == 2.0


def test_times_are_scaled_by_the_reference_s_beside_them(tmp_path: Path) -> None:
    known = Kept("blur", 1, tmp_path)
    right = {"same": True, "digest": "a"}
    known.add([{"label": REFERENCE.label, "failed": "crashed", "digest": "r"}])
    known.add([{"label": REDUCED[0].label, "min": 3.0, **right}])
    # Without the reference's: as it is.
    assert known.best(REDUCED) == (REDUCED[0], 3.0)
    assert known.reference is None
    fake = Fake()
    again = swept(tmp_path, REDUCED[1:2], fake)
    assert REFERENCE.label in fake.ran and again.reference == 2.0
    slower = {"min": 4.0, "same": True, "reference": 16.0, "digest": "c"}
    again.add([{"label": REDUCED[2].label, **slower}])
    assert again.best(REDUCED) == (REDUCED[2], 0.5)


def test_what_cannot_be_scheduled_is_kept_with_the_reason(tmp_path: Path) -> None:
    fake = Fake()
    known = Kept("blur", 1, tmp_path)

    def make(points: Sequence[Point]) -> dict[Point, Made]:
        made = fake.make(points)
        return made | {REDUCED[0]: Made(failed="ScheduleError: no")}

    tune.sweep(known, REDUCED[:2], make, fake.run, lambda n: None)
    entry = known.measured(REDUCED[0])
    assert entry is not None and entry["failed"] == "ScheduleError: no"
    assert known.seconds(REDUCED[0]) is None and known.seconds(REDUCED[1]) == 2.0


def test_the_reference_runs_in_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Spec] = []

    def run_batches(specs: Sequence[Spec], threads: int, seconds: float) -> list[Any]:
        asked.extend(specs)
        times = {n: {"min": 2.0} for n in specs[0].texts}
        return [(times, 0.5), *[supervise.Failed("gone")] * (len(specs) - 1)]

    monkeypatch.setattr(tune, "run_batches", run_batches)
    texts = {REFERENCE.label: "f(0)"} | {f"p{k}": f"f({k})" for k in range(20)}
    found = {e["label"]: e for e in tune.measured("blur", 1, 0.1, texts)}
    assert len(asked) == 2 and set(found) == set(texts)
    assert all(REFERENCE.label in spec.texts for spec in asked)
    assert found["p0"] == {"label": "p0", "min": 2.0, "others": 0.5, "reference": 2.0}
    assert found["p1"]["failed"] == "gone"


def test_a_line_that_was_cut_is_run_again(tmp_path: Path) -> None:
    known = Kept("blur", 1, tmp_path)
    known.add([{"label": "a"}, {"label": "b", "python": "{}"}])
    text = known.path.read_text()
    known.path.write_text(text[: text.index("{}") + 2])
    again = Kept("blur", 1, tmp_path)
    assert list(again.entries) == ["a"]
    again.add([{"label": "b"}])
    assert list(Kept("blur", 1, tmp_path).entries) == ["a", "b"]


def test_a_point_that_fails_or_is_wrong_is_never_the_best(tmp_path: Path) -> None:
    known = Kept("blur", 1, tmp_path)
    wrong = {"min": 0.1, "reference": 1.0, "same": False, "digest": "w"}
    known.add(
        [
            {"label": REDUCED[0].label, "failed": "no", "digest": "f"},
            {"label": REDUCED[1].label, **wrong},
            {"label": REDUCED[2].label, "digest": "f"},
        ]
    )
    assert known.best(REDUCED) is None
    entry = known.measured(REDUCED[2])
    assert entry is not None and entry["failed"] == "no"
    assert known.digests == ["f", "w"]


def test_a_schedule_that_brings_its_process_down_is_known_by_its_digest() -> None:
    said = Spoken()
    said.hear('{"preparing": "a"}')
    assert (said.busy, said.begun) == ("a", {})
    said.hear('{"preparing": "a", "digest": "d"}')
    assert (said.busy, said.begun) == ("a", {"digest": "d"})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """Makes Harris cases of a few pixels known by name."""
    from benchmarks.auto import batch, made
    from benchmarks.auto.series import _harris

    for module in (batch, made):
        monkeypatch.setattr(module, "find", lambda name: _harris(int(name)))
    return str


def test_a_batch_runs_what_schedulers_printed(
    small: Callable[[int], str], tmp_path: Path
) -> None:
    one = make(Maker(small(64), "Mullapudi2016", (("parallelism", "1"),)))
    wide = make(Maker(small(64), "Mullapudi2016", (("VECTOR_WIDTH", "4"),)))
    wrong = make(Maker(small(64), "Mullapudi2016", (("CACHE_SIZE", "none"),)))
    other = make(Maker(small(96), "Baseline"))
    assert "CACHE_SIZE" in wrong.failed and not wrong.python
    assert one.seconds > 0 and one.digest != wide.digest
    texts = {"a": one.python, "b": wide.python, "c": other.python}
    spec = Spec(small(64), texts | {"d": "def schedule(p): raise ValueError('no')"})
    with (tmp_path / "said").open("w") as out:
        run(spec, list(spec.texts), 1e-6, out, Gate(tmp_path / "gate"))
    heard = Spoken()
    for line in (tmp_path / "said").read_text().splitlines():
        heard.hear(line)
    assert heard.times is not None and set(heard.times) == {"a", "b", "c"}
    assert all(heard.entries[n]["same"] for n in "abc")
    assert heard.entries["d"]["failed"] == "ValueError: no"


def test_the_fastest_and_those_that_matter_are_timed_for_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, list[str], float]] = []

    def timing(kind: str, least: float) -> Callable[..., dict[str, dict[str, float]]]:
        def timed(runs: Mapping[str, object], budget: float) -> Any:
            asked.append((kind, sorted(runs), budget))
            return {n: {"min": float(n) * least} for n in runs}

        return timed

    monkeypatch.setattr(batch, "measure", timing("quick", 1.0))
    monkeypatch.setattr(batch, "steady", timing("steady", 0.5))
    runs = dict.fromkeys(["1", "1.05", "3", "5"], lambda: None)
    found = batch.timed(runs, ["5"], 0.25)
    assert asked == [
        ("quick", ["1", "1.05", "3", "5"], 1.0),
        ("steady", ["1", "1.05", "5"], 3.0),
    ]
    assert {n: t["min"] for n, t in found.items()} == {
        "1": 0.5,
        "1.05": 0.525,
        "3": 3.0,
        "5": 2.5,
    }
    asked.clear()
    batch.timed(runs, list(runs), 0.25)
    assert [kind for kind, *_ in asked] == ["steady"]


def test_who_is_alone_waits_for_those_who_are_together(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    events: list[str] = []

    def alone() -> None:
        with Gate(gate.path).alone():
            events.append("alone")

    with gate.together(), Gate(gate.path).together():
        waiting = threading.Thread(target=alone)
        waiting.start()
        waiting.join(0.05)
        events.append("together")
    waiting.join(30)
    assert events == ["together", "alone"]


def test_schedules_are_made_by_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "processor", at_hand)
    each = [Maker("blur", "Baseline"), Maker("blur", "Baseline", (("none", "1"),))]
    with Makers(1) as makers:
        found = makers.make(each)
    assert found[each[0]].python == make(each[0]).python
    assert "none" in found[each[1]].failed


def test_comments_make_no_other_schedule() -> None:
    assert digest("# One.\nf(1)\n") == digest("# Two.\nf(1)\n")
    assert digest("f(1)\n") != digest("f(2)\n")


def test_a_spec_comes_back_from_its_file(tmp_path: Path) -> None:
    spec = Spec("blur", {"a": "f(1)"}, ["a"])
    spec.write(tmp_path / "spec")
    assert Spec.read(tmp_path / "spec") == spec


def test_the_series_are_those_of_the_paper() -> None:
    assert len(SERIES["vgg"].cases) == 9
    weights = vgg.VGG16.shapes()
    for name, case in SERIES["vgg"].cases.items():
        channels, *_, outputs = weights[f"filter_{name}"]
        assert case.outputs[0].size[0] == outputs
        assert f" {channels} to {outputs} " in f" {case.size}"
    for series in SERIES.values():
        assert not series.fixed or series.fixed in series.cases
        for case in series.cases.values():
            assert find(case.name) is case
            assert case.algorithm(hl).output is not None
    assert find("blur").name == "blur"


def test_schedules_of_one_text_run_once_on_each_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Spec] = []

    class Known:
        """Three layers have one schedule, one has none."""

        def make(self, makers: Iterable[Maker]) -> dict[Maker, Made]:
            texts = {"vgg_layer@1_1": "f(1)", "vgg_layer@2_1": ""}
            found = {m: texts.get(m.made_for, "f(2)") for m in makers}
            return {m: Made(1.0, t, "" if t else "no") for m, t in found.items()}

    def run_batches(specs: Sequence[Spec], threads: int, seconds: float) -> list[Any]:
        asked.extend(specs)
        return [
            ({n: {"min": 1.0, "same": True} for n in spec.texts}, 0.1) for spec in specs
        ]

    monkeypatch.setattr(specialise, "run_batches", run_batches)
    series = SERIES["vgg"]
    known: Any = Known()
    found = specialise.measured(series, ["1_1", "3_1"], "Baseline", 1, 0.1, known)
    assert [spec.case for spec in asked] == ["vgg_layer@1_1", "vgg_layer@3_1"]
    assert [len(spec.texts) for spec in asked] == [2, 2]
    assert set(found["1_1"]) == set(series.cases)
    assert found["1_1"]["2_1"] == {"failed": "no"}
    assert found["1_1"]["3_1"]["min"] == found["1_1"]["3_2"]["min"] == 1.0
    assert found["1_1"]["3_1"]["digest"] == found["1_1"]["3_2"]["digest"]


def test_gains_are_of_the_schedule_that_is_best_on_average() -> None:
    def entry(seconds: float, text: str) -> Entry:
        return {"min": seconds, "same": True, "digest": text, "others": 0.5}

    found: dict[str, dict[str, Entry]] = {
        "1_1": {"1_1": entry(1.0, "a"), "1_2": entry(2.0, "b")},
        "1_2": {"1_2": entry(1.0, "b"), "1_1": entry(3.0, "a")},
        "2_1": {"2_1": entry(1.0, "b"), "1_1": {"failed": "too small"}},
    }
    for entries in found.values():
        entries["2_1"] = entries["1_2"] = entries.get("1_2", entry(1.0, "b"))
    assert seconds_of(found["1_1"], "2_1") == 2.0
    assert seconds_of(found["2_1"], "1_1") is None
    assert best_on_average(found) == "1_2"
    made = gains(SERIES["vgg"], found)
    assert [g.gain for g in made] == [2.0, 1.0, 1.0]
    text = tuning_page.specialised({("vgg", "1"): made})
    assert "others used up to 50 %" in text
    assert "largest 2.00" in text and "| 1000.00 | 2000.00 | 2.00 |" in text


def test_searches_stand_beside_the_experts_by_what_both_are_compared_with(
    tmp_path: Path,
) -> None:
    known = swept(tmp_path, REDUCED, Fake())
    assert throughput(known, None) == {"untuned": 0.125, "reduced": 1.0}
    times = {PAPERS: 1.0, DEFAULT: 0.25, "halide expert rows": 0.0625}
    row = Row("blur", "1", {n: {"min": t, "same": True} for n, t in times.items()})
    found = throughput(known, row)
    assert found == {"untuned": 0.0625, "reduced": 0.5, "expert": 1.0, "default": 0.25}
    row = Row("blur", "1", {PAPERS: {"min": 1.0, "same": True}})
    assert set(throughput(known, row)) == {"untuned", "reduced"}
    assert throughput(Kept("hist", 1, tmp_path), row) == {}


def test_what_was_not_run_is_named(tmp_path: Path) -> None:
    known = swept(tmp_path, (*REDUCED, *POLYMAGE[:3]), Fake())
    lines = tuning_page.lacking([("blur", 1, known)]).splitlines()
    rest = ", ".join(ORDER[1:])
    assert lines == [
        "- baseline, 1 thr: not run for all fourteen",
        "- baseline, 2 thr: not run for all fourteen",
        f"- reduced, 1 thr: not run for {rest}",
        "- reduced, 2 thr: not run for all fourteen",
        f"- polymage, 1 thr: not run for {rest}; partly for blur",
        "- polymage, 2 thr: not run for all fourteen",
        "- full, 1 thr: not run for all fourteen",
        "- full, 2 thr: not run for all fourteen",
    ]


def test_the_page_is_drawn_from_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning_page, "PLAIN", tmp_path / "plain.json")
    page = tmp_path / "page.md"
    tuning_page.write(page, tmp_path, tmp_path / "none.json")
    assert page.read_text().count("Not measured.") == 2
    both = {
        "500": {"min": 1.0, "same": True, "digest": "a"},
        "2000": {"min": 1.5, "same": True, "digest": "b"},
    }
    results = {"harris": {"1": {"scheduler": "Baseline", "cases": {"500": both}}}}
    (tmp_path / "some.json").write_text(json.dumps(results))
    fake = Fake()
    known = Kept("blur", 2, tmp_path)
    tune.sweep(known, REDUCED, fake.make, fake.run, lambda n: None)
    tuning_page.write(page, tmp_path, tmp_path / "some.json")
    text = page.read_text()
    assert "Not measured." not in text and "`Baseline`" in text
    assert "| blur | 2 | reduced |" in text and "| 1.50 |" in text
    assert "Harris" in (tmp_path / "page.svg").read_text()
    assert "(page-searches.svg)" in text
    assert "reduced tuning" in (tmp_path / "page-searches.svg").read_text()


def test_every_search_can_be_asked_for() -> None:
    for kind in KINDS:
        assert tune.arguments().parse_args([f"--{kind}"]).kinds == [kind]
