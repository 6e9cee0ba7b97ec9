"""Tuning and specialising: the points, what is kept and skipped, gains. No timing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parhelion as hl
from apps import vgg
from benchmarks.auto import tune, tuning_page
from benchmarks.auto.batch import Maker, Spec, digest, run
from benchmarks.auto.kept import Entry, Kept
from benchmarks.auto.points import FULL, KINDS, POLYMAGE, REDUCED, REFERENCE, Point
from benchmarks.auto.series import SERIES, find
from benchmarks.auto.specialised import best_on_average, gains, seconds_of
from benchmarks.auto.supervise import Spoken
from parhelion.autoschedule.mullapudi_params import Limits, limits


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
    """Runs points without running anything: two points of a kind have one schedule."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.run: list[str] = []

    def __call__(self, points: list[Point], known: list[str]) -> list[Entry]:
        seen = set(known)
        entries: list[dict[str, Any]] = []
        for point in (REFERENCE, *points):
            self.asked.append(point.label)
            cache = dict(point.parameters).get("CACHE_SIZE", 0)
            entry: dict[str, Any] = {"label": point.label, "digest": str(cache)}
            if str(cache) not in seen:
                seen.add(str(cache))
                self.run.append(point.label)
                seconds = 2.0 if not cache else 65536 / cache
                entry |= {"min": seconds, "reference": 2.0, "same": True}
                entry["others"] = 0.25
                entry["python"] = f"# {cache}"
            entries.append(entry)
        return entries


def test_a_search_goes_on_where_it_stopped(tmp_path: Path) -> None:
    first = Fake()
    tune.sweep(Kept("blur", 1, tmp_path), REDUCED[:3], first, lambda n: None)
    assert first.asked == [p.label for p in (REFERENCE, *REDUCED[:3])]
    done: list[int] = []
    second = Fake()
    tune.sweep(Kept("blur", 1, tmp_path), REDUCED, second, done.append)
    assert second.asked == [p.label for p in (REFERENCE, *REDUCED[3:])]
    assert done == [3]
    third = Fake()
    tune.sweep(Kept("blur", 1, tmp_path), REDUCED, third, done.append)
    assert third.asked == []
    lines = (tmp_path / "blur_1t.jsonl").read_text().splitlines()
    assert [json.loads(line)["label"] for line in lines] == [
        p.label for p in (REFERENCE, *REDUCED)
    ]


def test_a_schedule_is_run_once_and_its_time_is_that_of_all_its_points(
    tmp_path: Path,
) -> None:
    fake = Fake()
    known = Kept("blur", 1, tmp_path)
    for k in range(0, 6, 2):
        tune.sweep(known, REDUCED[: k + 2], fake, lambda n: None)
    # The reference runs beside every batch.
    assert [n for n in fake.run if n != REFERENCE.label] == [
        REDUCED[k].label for k in (0, 2, 4)
    ]
    assert known.seconds(REDUCED[1]) == known.seconds(REDUCED[0]) == 2.0
    best = known.best(REDUCED)
    assert best == (REDUCED[4], 0.25)
    tune.write_best(known, "reduced")
    assert (tmp_path / "blur_1t_reduced.py").read_text() == f"# {256 << 10}"
    row = tuning_page.tuned([("blur", 1, known)]).splitlines()[-1]
    assert "| reduced | 6 of 6 | 3 | 0 | 2000.00 | 8.00 | CACHE_SIZE" in row
    assert row.endswith("| 25 % |")


def test_times_are_scaled_by_the_reference_s_beside_them(tmp_path: Path) -> None:
    known = Kept("blur", 1, tmp_path)
    right = {"same": True, "digest": "a"}
    known.add([{"label": REFERENCE.label, "failed": "crashed", "digest": "r"}])
    known.add([{"label": REDUCED[0].label, "min": 3.0, **right}])
    # Without the reference's: as it is.
    assert known.best(REDUCED) == (REDUCED[0], 3.0)
    assert known.reference is None
    slower = {"min": 4.0, "reference": 8.0, "same": True, "digest": "b"}
    tune.sweep(
        known,
        REDUCED[1:2],
        lambda points, digests: [
            {"label": REFERENCE.label, "min": 8.0, "same": True, "digest": "r"},
            {"label": points[0].label, **slower},
        ],
        lambda n: None,
    )
    again = Kept("blur", 1, tmp_path)
    assert again.reference == 8.0
    again.add([{"label": REDUCED[2].label, **slower, "reference": 16.0, "digest": "c"}])
    assert again.best(REDUCED) == (REDUCED[2], 2.0)


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


def said_by(spec: Spec, tmp_path: Path) -> dict[str, dict[str, Any]]:
    with (tmp_path / "said").open("w") as out:
        run(spec, list(spec.makers), 1e-6, out)
    heard = Spoken()
    for line in (tmp_path / "said").read_text().splitlines():
        heard.hear(line)
    assert heard.times is not None
    for label, times in heard.times.items():
        heard.entries[label] |= times
    return heard.entries


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], str]:
    """Makes Harris cases of a few pixels known by name."""
    from benchmarks.auto import batch
    from benchmarks.auto.series import _harris

    monkeypatch.setattr(batch, "find", lambda name: _harris(int(name)))
    return str


def test_a_batch_runs_what_is_new(small: Callable[[int], str], tmp_path: Path) -> None:
    one = Maker(small(64), "Mullapudi2016", {"parallelism": "1"})
    told = {"parallelism": "1", "LOAD_COST": "10"}
    two = Maker(small(64), "Mullapudi2016", told)
    wide = Maker(small(64), "Mullapudi2016", {"VECTOR_WIDTH": "4"})
    wrong = Maker(small(64), "Mullapudi2016", {"CACHE_SIZE": "none"})
    other = Maker(small(96), "Baseline", {"parallelism": "1"})
    makers = {"a": one, "b": two, "c": wide, "d": wrong, "e": other}
    found = said_by(Spec(small(64), makers), tmp_path)
    assert found["a"]["same"] and found["a"]["min"] > 0
    assert found["a"]["digest"] == digest(found["a"]["python"])
    assert found["b"]["digest"] == found["a"]["digest"] and "min" not in found["b"]
    assert found["c"]["same"] and found["c"]["digest"] != found["a"]["digest"]
    assert "CACHE_SIZE" in found["d"]["failed"]
    assert found["e"]["same"]
    again = said_by(Spec(small(64), {"c": wide}, [found["c"]["digest"]]), tmp_path)
    assert "min" not in again["c"]


def test_comments_make_no_other_schedule() -> None:
    assert digest("# One.\nf(1)\n") == digest("# Two.\nf(1)\n")
    assert digest("f(1)\n") != digest("f(2)\n")


def test_a_spec_comes_back_from_its_file(tmp_path: Path) -> None:
    spec = Spec("blur", {"a": Maker("blur", "PolyMage", {"TILE_X": "8"})}, ["d"])
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


def test_gains_are_of_the_schedule_that_is_best_on_average() -> None:
    def entry(seconds: float, text: str) -> Entry:
        return {"min": seconds, "same": True, "digest": text, "others": 0.5}

    found: dict[str, dict[str, Entry]] = {
        "1_1": {"1_1": entry(1.0, "a"), "1_2": entry(2.0, "b"), "2_1": {"digest": "b"}},
        "1_2": {"1_2": entry(1.0, "b"), "1_1": entry(3.0, "a"), "2_1": {"digest": "b"}},
        "2_1": {"2_1": entry(1.0, "b"), "1_1": {"failed": "too small"}},
    }
    found["2_1"]["1_2"] = {"digest": "b"}
    assert seconds_of(found["1_1"], "2_1") == 2.0
    assert seconds_of(found["2_1"], "1_1") is None
    assert best_on_average(found) == "1_2"
    made = gains(SERIES["vgg"], found)
    assert [g.gain for g in made] == [2.0, 1.0, 1.0]
    text = tuning_page.specialised({("vgg", "1"): made})
    assert "others used up to 50 %" in text
    assert "largest 2.00" in text and "| 1000.00 | 2000.00 | 2.00 |" in text


def test_the_page_is_drawn_from_what_is_kept(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.md"
    tuning_page.write(page, tmp_path, tmp_path / "none.json")
    assert page.read_text().count("Not measured.") == 2
    both = {
        "500": {"min": 1.0, "same": True, "digest": "a"},
        "2000": {"min": 1.5, "same": True, "digest": "b"},
    }
    results = {"harris": {"1": {"scheduler": "Baseline", "cases": {"500": both}}}}
    (tmp_path / "some.json").write_text(json.dumps(results))
    tune.sweep(Kept("blur", 2, tmp_path), REDUCED, Fake(), lambda n: None)
    tuning_page.write(page, tmp_path, tmp_path / "some.json")
    text = page.read_text()
    assert "Not measured." not in text and "`Baseline`" in text
    assert "| blur | 2 | reduced |" in text and "| 1.50 |" in text
    assert "Harris" in (tmp_path / "page.svg").read_text()


def test_every_search_can_be_asked_for() -> None:
    for kind in KINDS:
        assert tune.arguments().parse_args([f"--{kind}"]).kind == kind
