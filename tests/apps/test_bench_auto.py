"""The comparison of automatic schedules: tables, limits, renaming, translation."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from apps import blur, unsharp
from apps.common import App
from benchmarks.auto import __main__ as command
from benchmarks.auto import (
    adams,
    library,
    page,
    plain,
    predictions,
    supervise,
    table,
    translate,
)
from benchmarks.auto.contenders import (
    Contender,
    Setting,
    apply,
    contenders,
    prepare,
    run_kept,
    scaled,
)
from benchmarks.auto.estimates import boxes, set_estimates
from benchmarks.auto.load import Others, used
from benchmarks.auto.renamed import Renamed
from benchmarks.auto.runtime import padded
from benchmarks.auto.steady import lesser, steady
from benchmarks.case import Case, Image, Output, Tolerance
from benchmarks.cases import ORDER, case

EXPERT = "halide expert tiled"


def small() -> Case:
    def inputs() -> dict[str, Image]:
        pixels = np.arange(42 * 66, dtype=np.uint16).reshape(42, 66)
        return {"input": Image(pixels)}

    return Case(
        name="small",
        size="64 x 40",
        algorithm=blur.algorithm,
        schedules={"root": blur.schedule_root},
        inputs=inputs,
        outputs=(Output(np.uint16, (64, 40)),),
        tolerance=Tolerance(0),
    )


def results(**times: float) -> dict[str, Any]:
    """Of an application "first" at one thread; keys have "_" for a space."""
    entries = {
        label.replace("_", " "): {"min": t, "same": True, "schedule": 0.5}
        for label, t in times.items()
    }
    return {"cases": {"first": {"threads": {"1": {"contenders": entries}}}}}


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {m.what: m.verdict for m in table.limits(found, ["first"])}


def test_limits_are_met_and_missed() -> None:
    times = {
        "halide_expert_tiled": 1.0,
        "parhelion_expert_tiled": 2.0,
        "halide_Mullapudi2016": 4.0,
        "halide_Adams2019": 1.2,
    }
    good = results(**times, parhelion_Mullapudi2016=3.9, parhelion_Parhelion=1.0)
    assert {v for w, v in verdicts(good).items() if "PyTorch" not in w} == {"ok"}
    bad = results(**times, parhelion_Mullapudi2016=4.1, parhelion_Parhelion=1.9)
    bad["cases"]["first"]["threads"]["1"]["contenders"]["parhelion Parhelion"] |= {
        "schedule": 2.5
    }
    missed = [w for w, v in verdicts(bad).items() if v.startswith("MISSED")]
    assert len(missed) == 6
    assert not any("seconds" in w and "Mullapudi2016" in w for w in missed)
    each = next(v for w, v in verdicts(bad).items() if "better expert" in w)
    assert each == "MISSED: first 1 thr 1.90"


def test_a_scheduler_that_is_not_there_is_not_measured() -> None:
    found = results(halide_expert_tiled=1.0, halide_Mullapudi2016=4.0)
    assert set(verdicts(found).values()) == {"not measured"}
    entries = found["cases"]["first"]["threads"]["1"]["contenders"]
    entries["parhelion Parhelion"] = {"absent": "parhelion has no such"}
    entries["halide Adams2019"] = {"absent": "no answer: time, 180 s"}
    row = next(table.rows(found, ["first"]))
    assert table.time_cells(row) == [
        "first",
        "1",
        f"1000.00 {EXPERT}",
        "4000.00 (4.00)",
        "no answer: time, 180 s",
        "not run",
        "not available",
    ]
    assert not table.wrong(found, ["first"])


def test_what_fails_or_differs_is_noted_and_ours_is_wrong() -> None:
    found = results(halide_expert_tiled=1.0, halide_Adams2019=1.0)
    entries = found["cases"]["first"]["threads"]["1"]["contenders"]
    entries["halide Adams2019"] |= {"same": False, "difference": 3.0, "differing": 0.5}
    (note,) = table.notes(found, ["first"])
    assert "differs" in note and "50.00%" in note
    assert not table.wrong(found, ["first"])
    found["cases"]["first"]["threads"]["1"]["others"] = 0.25
    (_, note) = table.notes(found, ["first"])
    assert note == "first, 1 thr: other processes used 25% of the computer meanwhile"
    entries["parhelion Parhelion"] = {"failed": "crashed"}
    assert table.wrong(found, ["first"])
    assert "first, 1 thr, parhelion Parhelion: failed: crashed" in plain.text(
        found, ["first"]
    )


def test_geometric_means_and_bars_are_relative_to_the_best() -> None:
    found = results(
        halide_expert_tiled=1.0, parhelion_expert_tiled=0.5, halide_Mullapudi2016=2.0
    )
    (mean,) = table.means(found, ["first"])["halide Mullapudi2016"]
    threads, ratio, applications = mean
    assert (threads, applications) == ("1", 1) and ratio == pytest.approx(4.0)
    row = next(table.rows(found, ["first"]))
    assert row.best_expert == ("parhelion expert tiled", 0.5)
    assert page.throughput(row) == {"expert": 1.0, "halide Mullapudi2016": 0.25}


def test_a_rival_is_told_beside_the_expert_and_our_schedulers() -> None:
    found = results(parhelion_expert_registers=1.0, parhelion_Parhelion=1.5)
    entries = found["cases"]["first"]["threads"]["1"]["contenders"]
    entries["PyTorch (oneDNN)"] = {"min": 2.0, "same": True}
    found["cases"]["vgg"] = found["cases"].pop("first")
    (row,) = table.rivals(found, ["vgg"])
    assert row == ["vgg", "1", "PyTorch (oneDNN)", "2000.00", "0.50", "", "0.75"]
    assert "PyTorch (oneDNN)" in plain.text(found, ["vgg"])
    aims = [m for m in table.limits(found, ["vgg"]) if "PyTorch" in m.what]
    assert [m.verdict for m in aims] == ["ok"]


def test_the_page_and_its_plot_are_drawn(tmp_path: Path) -> None:
    found = results(halide_expert_tiled=1.0, parhelion_Parhelion=0.5)
    found["machine"] = {"processor": "one"}
    others = {"renamed": results(halide_Mullapudi2016=1.0, parhelion_Parhelion=0.4)}
    page.write(found, ["first"], tmp_path / "auto.md", others)
    text = (tmp_path / "auto.md").read_text()
    assert "| first | 1 | 1000.00 halide expert tiled |" in text
    renamed = [line for line in text.splitlines() if line.startswith("| renamed |")]
    assert any("0.400 over 1 of 1 | ok" in line for line in renamed)
    assert "(auto.svg)" in text and (tmp_path / "auto.svg").exists()


def test_a_renamed_application_computes_the_same() -> None:
    image = np.random.default_rng(1).uniform(0.1, 1, (3, 40, 64)).astype(np.float32)
    plain = unsharp.algorithm(hl)
    unsharp.schedule_tiled(hl, plain)
    other = Renamed(hl)
    renamed = unsharp.algorithm(other)
    unsharp.schedule_tiled(other, renamed)
    assert renamed.output.name() != "unsharp"
    assert other.old[renamed.output.name()] == "unsharp"
    assert not {f.name() for f in plain.funcs.values()} & {
        f.name() for f in renamed.funcs.values()
    }
    np.testing.assert_array_equal(
        renamed.run({"input": image}, (64, 40, 3)),
        plain.run({"input": image}, (64, 40, 3)),
    )


def test_renaming_keeps_implicit_vars_and_is_the_same_for_the_same() -> None:
    other = Renamed(hl)
    assert other.Var("_0").name() == "_0"
    assert other.Var("x").name() == other.Var("x").name() != "x"
    assert other.RDom([(0, 3)], "r").x.name() != "r.x"
    assert other.Param(hl.Int(32), "p", 3).name() == other.name("p")


def test_estimates_are_the_sizes_of_the_arrays() -> None:
    assert boxes((3, 4), (-2, 0)) == [(-2, 3), (0, 4)]
    told: dict[str, Any] = {}

    class Told:
        def __init__(self, name: str) -> None:
            self.set_estimate = self.set_estimates = partial(told.__setitem__, name)

    chosen = case("bilateral_grid")
    app = App(Told("out"), {"input": Told("input")}, {}, {"r_sigma": Told("r_sigma")})
    set_estimates(chosen, app, {"input": Image(np.ones((5, 7)), (1, -2))})
    assert told == {
        "input": [(1, 7), (-2, 5)],
        "out": [(0, 1536), (0, 2560)],
        "r_sigma": chosen.values["r_sigma"],
    }


def test_the_values_of_all_params_are_known() -> None:
    for name in ORDER:
        chosen = case(name)
        assert set(chosen.algorithm(hl).params) == set(chosen.values)


def test_every_case_has_experts_schedulers_and_pinned_files() -> None:
    labels = [c.label for c in contenders(case("blur"), pinned=True)]
    assert labels[:2] == ["parhelion expert tiled", "halide expert tiled"]
    assert len(set(labels)) == len(labels) == 12
    assert "parhelion Parhelion pinned" in labels
    assert "halide Adams2019" in labels


def test_an_expert_is_prepared_under_other_names() -> None:
    chosen = small()
    who = contenders(chosen, pinned=False)[0]
    images = chosen.inputs()
    ready = prepare(who, chosen, images, Setting(threads=1, renamed=True))
    ready.run()
    expected = blur.with_numpy(images["input"].array)
    np.testing.assert_array_equal(ready.results[0], expected)
    assert ready.facts["compile"] > 0


@pytest.fixture
def shelves(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Empty places for schedules that are kept."""
    monkeypatch.setattr(library, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(library, "PRINTED", tmp_path / "printed")


@pytest.mark.parametrize("keep", [library.keep_searched, library.keep_printed])
def test_a_kept_schedule_is_run(
    keep: Callable[[str, str, int, str], None], shelves: None
) -> None:
    text = (
        "import parhelion as hl\n"
        "def schedule(pipeline):\n"
        "    pipeline.outputs()[0].vectorize(hl.Var('x'), 8)\n"
    )
    keep("Random", "blur", 2, text)
    app = blur.algorithm(hl)
    run_kept(hl, app, "Random", "blur", 2)
    assert "vectorized" in hl.Pipeline([app.output]).loop_nest()
    with pytest.raises(adams.NoAnswer, match="no schedule of Random is kept here"):
        run_kept(hl, app, "Random", "blur", 1)


def test_a_digest_tells_whether_a_schedule_is_the_same(shelves: None) -> None:
    library.keep_printed("Parhelion", "blur", 1, "first")
    library.keep_printed("Parhelion", "blur", 2, "second")
    library.keep_searched("Adams2019", "blur", 1, "third")
    assert library.is_as_kept("Parhelion", "blur", 1, "first")
    assert library.is_as_kept("Parhelion", "blur", 2, "second")
    assert not library.is_as_kept("Parhelion", "blur", 2, "first")
    assert not library.is_as_kept("Parhelion", "harris", 1, "first")
    assert not library.is_as_kept("Mullapudi2016", "blur", 1, "first")
    assert library.searched("Parhelion", "blur", 1) is None
    assert library.searched("Adams2019", "blur", 1) == "third"


@pytest.mark.parametrize("path", sorted(library.FOLDER.iterdir()), ids=lambda p: p.name)
def test_what_is_kept_can_be_read(path: Path) -> None:
    kept = json.loads(path.read_text())
    assert list(kept) == ["searched", "digests"]
    for schedules in kept["searched"].values():
        for text in schedules.values():
            compile(text, path.name, "exec")
    for scheduler in ("mullapudi2016", "parhelion"):
        wanted = [f"{name}_{n}t" for name in ORDER for n in (1, 2)]
        assert set(wanted) <= set(kept["digests"][scheduler])


SOURCE = """Func f = pipeline.get_func(2);
Func sum = pipeline.get_func(1);
Var x(f.get_schedule().dims()[0].var);
Var xi("xi");
RVar r_x(sum.update(0).get_schedule().dims()[1].var);
f
    .split(x, x, xi, 16, TailStrategy::ShiftInwards)
    .vectorize(xi)
    .reorder({xi, x});
sum.update(0)
    .unroll(r_x);
sum.update(1);
sum
    .store_in(MemoryType::Stack)
    .compute_at(f, x);
"""


def test_a_printed_schedule_is_translated() -> None:
    text = translate.to_python(SOURCE, ["in", "sum$4", "f$2"])
    assert text.splitlines()[4:] == [
        "    f = funcs['f']",
        "    sum = funcs['sum']",
        "    x = f.args()[0]",
        "    xi = hl.Var('xi')",
        "    r_x = sum.rvars(0)[1]",
        "    (",
        "        f",
        "        .split(x, x, xi, 16, hl.TailStrategy.ShiftInwards)",
        "        .vectorize(xi)",
        "        .reorder(xi, x)",
        "    )",
        "    (",
        "        sum.update(0)",
        "        .unroll(r_x)",
        "    )",
        "    (",
        "        sum",
        "        .store_in(hl.MemoryType.Stack)",
        "        .compute_at(f, x)",
        "    )",
    ]
    with pytest.raises(translate.NotUnderstood, match="goto"):
        translate.to_python("goto end;", [])


def test_funcs_of_one_name_are_told_apart_by_their_order() -> None:
    names = ["sum$12", "f", "sum$3", "sum$10"]
    assert translate.base_names(names) == ["sum#3", "f", "sum", "sum#2"]
    names = ["lambda_12", "lambda_9", "push_1"]
    assert translate.base_names(names) == ["lambda#2", "lambda", "push_1"]


CHILD = """
import json, os, sys
labels = sys.argv[1:sys.argv.index("--seconds")]
for label in labels:
    print(json.dumps({"preparing": label}), flush=True)
    if label == "bad":
        os.abort()
    print(json.dumps({"prepared": label, "same": True}), flush=True)
times = {label: {"min": 1.0} for label in labels}
print(json.dumps({"times": times, "others": 0.5}))
"""


def test_a_contender_that_brings_the_process_down_costs_no_other() -> None:
    labels = ["good", "bad", "last"]
    found, others = supervise.measure(["-c", CHILD], labels, 1, 1.0)
    assert others == 0.5
    assert found["bad"] == {"failed": "crashed, exit -6"}
    assert found["good"] == found["last"] == {"same": True, "min": 1.0}


def test_a_process_that_nobody_is_to_blame_for_fails() -> None:
    with pytest.raises(supervise.Failed, match="no such thing"):
        supervise.measure(["-c", "raise SystemExit('no such thing')"], ["a"], 1, 1.0)


def test_schedules_of_a_search_are_applied_under_halide() -> None:
    halide = pytest.importorskip("halide")
    text = (
        "# found in 0.50 s by a test\n"
        "import halide as hl\n"
        "def schedule(funcs):\n"
        "    funcs['blur_x'].compute_root()\n"
    )
    for module in (halide, Renamed(halide)):
        app = blur.algorithm(module)
        assert adams.apply(module, app, text) == {"search": 0.5}
        app.inputs["input"].set(halide.Buffer(np.ones((6, 6), np.uint16)))
        assert np.asarray(app.output.realize([4, 4])).max() == 1
    for said, why in (
        ("# no answer: time, 180 s\n", "no answer: time"),
        (None, "not searched"),
    ):
        with pytest.raises(adams.NoAnswer, match=why):
            adams.apply(halide, blur.algorithm(halide), said)


def test_a_larger_input_goes_on_at_its_edges() -> None:
    image = Image(np.arange(6).reshape(1, 2, 3), (-1, 0, 5))
    wide = padded({"a": image}, 2)["a"]
    assert wide.array.shape == (1, 6, 7) and wide.origin == (-3, -2, 5)
    assert wide.array[0, 0, 0] == 0 and wide.array[0, -1, -1] == 5
    np.testing.assert_array_equal(wide.array[0, 2:4, 2:5], image.array[0])


def test_all_fourteen_have_other_sizes() -> None:
    for name in ORDER:
        half, whole, double = (scaled(case(name), s) for s in (0.5, 1, 2))
        sizes = [np.prod(c.outputs[0].size) for c in (half, whole, double)]
        assert sizes[0] < sizes[1] < sizes[2]
        assert half.size != whole.size and half.at is not None
    with pytest.raises(ValueError, match="one size"):
        scaled(case("level_set"), 2)


@pytest.mark.parametrize("name", ["harris", "hist", "conv_layer", "matmul"])
def test_inputs_and_outputs_fit_at_half_the_size(name: str) -> None:
    chosen = scaled(case(name), 0.25)
    app = chosen.build(hl, next(iter(chosen.schedules)))
    chosen.bind(hl, app, chosen.inputs())
    made = chosen.outputs[0].new()
    app.output.realize(made.buffer(hl))
    assert made.array.any()


class Schedulers:
    """Parhelion with an automatic scheduler that just answers."""

    def __getattr__(self, name: str) -> Any:
        return getattr(hl, name)

    def AutoschedulerParams(self, name: str, extra: dict[str, str]) -> Any:
        return name, extra

    def Pipeline(self, outputs: list[Any]) -> Any:
        return self

    def apply_autoscheduler(self, target: Any, params: Any) -> Any:
        assert params == ("Parhelion", {"parallelism": "2"})
        return SimpleNamespace(predicted_seconds=0.25, to_python=lambda: "text")


def test_a_scheduler_is_asked_by_its_name_and_says_what_it_predicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = SimpleNamespace(autoschedulers=lambda: ["Parhelion"])
    monkeypatch.setitem(sys.modules, "parhelion.lang.autoscheduling", known)
    app = blur.algorithm(hl)
    found = apply(
        Schedulers(), Contender("parhelion", "scheduler", "Parhelion"), app, 2
    )
    assert found == {"predicted": 0.25, "python": "text"}
    with pytest.raises(adams.NoAnswer, match="no scheduler Mullapudi2016"):
        apply(
            Schedulers(), Contender("parhelion", "scheduler", "Mullapudi2016"), app, 2
        )


def test_what_others_use_is_known_where_the_kernel_tells() -> None:
    assert used("cpu  10 2 30 1000 5 0 7 0 0 0") == 42
    others = Others()
    sum(range(10**5))
    share = others.share()
    assert share is None or 0 <= share <= 1


def test_a_time_that_is_not_found_twice_is_taken_again() -> None:
    told: dict[str, list[float]] = {
        "calm": [1.0, 1.04],
        "spoiled": [2.0, 1.0, 1.5, 1.01],
        "wild": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    budgets = []

    def measure(runs: Mapping[str, Any], budget: float) -> dict[str, dict[str, float]]:
        budgets.append((sorted(runs), budget))
        found = {name: told[name].pop(0) for name in runs}
        return {n: {"min": t, "median": t + 1, "runs": 3} for n, t in found.items()}

    found = steady(dict.fromkeys(told, lambda: None), 6.0, measure)
    assert not any(told.values())
    assert budgets[2] == (["spoiled", "wild"], 2.0)
    assert budgets[-1] == (["wild"], 1.0) and len(budgets) == 5
    assert found["spoiled"] == {
        "min": 1.0,
        "median": pytest.approx(2.255),
        "runs": 12,
        "spread": pytest.approx(0.01),
    }
    assert found["wild"]["spread"] == 1.0
    assert steady({}, 1.0, measure) == {}


def test_a_row_that_is_measured_again_keeps_the_lesser_times() -> None:
    def entry(least: float, spread: float, digest: str) -> dict[str, Any]:
        times = {"min": least, "median": least + 1, "runs": 3, "spread": spread}
        return {**times, "digest": digest}

    old = {
        "slower": entry(2.0, 0.5, "a"),
        "faster": entry(1.0, 0.5, "a"),
        "other": entry(1.0, 0.0, "a"),
        "gone": entry(1.0, 0.0, "a"),
        "failed": {"failed": "crashed"},
    }
    new = {
        "slower": entry(1.0, 0.01, "a"),
        "faster": entry(1.25, 0.0, "a"),
        "other": entry(2.0, 0.0, "b"),
        "failed": entry(1.0, 0.0, "a"),
    }
    found = lesser({"contenders": old}, {"contenders": new, "took": 5.0})
    assert found["took"] == 5.0
    made = found["contenders"]
    assert {n: (e["min"], e["spread"]) for n, e in made.items()} == {
        "slower": (1.0, 0.01),
        "faster": (1.0, 0.25),
        "other": (2.0, 0.0),
        "gone": (1.0, 0.0),
        "failed": (1.0, 0.0),
    }
    assert made["faster"]["runs"] == 6 and made["faster"]["median"] == 2.0
    failed = {"failed": "no end", "took": 1.0}
    assert lesser({"contenders": old}, failed) == {"contenders": old}
    assert lesser({}, failed) == failed


def test_operations_become_the_seconds_that_fit_best() -> None:
    found = results(
        halide_expert_tiled=1.0, parhelion_Mullapudi2016=2.0, parhelion_Parhelion=1.0
    )
    cases = found["cases"]
    cases["second"] = results(parhelion_Mullapudi2016=8.0)["cases"]["first"]
    first, second = (
        cases[n]["threads"]["1"]["contenders"] for n in ("first", "second")
    )
    first[table.DEFAULT] |= {"predicted": 0.5, "cost": 0.5, "unit": "s"}
    first[table.PAPERS] |= {"cost": 100.0, "unit": "operations"}
    second[table.PAPERS] |= {"cost": 100.0, "unit": "operations"}
    every = list(table.rows(found, ["first", "second"]))
    assert predictions.operation_seconds(every) == {"1": pytest.approx(0.04)}
    made = list(predictions.predictions(every))
    assert [(p.case, p.label, round(p.ratio, 6)) for p in made] == [
        ("first", table.PAPERS, 2.0),
        ("first", table.DEFAULT, 0.5),
        ("second", table.PAPERS, 0.5),
    ]
    text = plain.text(found, ["first", "second"])
    assert "first        1        parhelion Parhelion                  500.00" in text
    assert "geometric mean 1.00 and differs from it by a factor of 2.00" in text


def test_kept_schedules_are_told_beside_the_schedulers() -> None:
    found = results(parhelion_Parhelion=1.0, parhelion_Parhelion_pinned=1.2)
    found["cases"]["first"]["threads"]["1"]["contenders"][table.DEFAULT]["as_kept"] = (
        True
    )
    (row,) = table.pinned(found, ["first"])
    assert row == (
        *("first", "1", "parhelion Parhelion"),
        *("1000.00", "1200.00", "1.200", "yes"),
    )
    told = [v for w, v in verdicts(found).items() if w.startswith("kept schedule")]
    assert told == ["MISSED: first 1 thr 1.20"]


def test_a_lean_run_takes_the_two_fastest_experts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "plain.json"
    found = results(parhelion_expert_rows=1.0, halide_expert_tiled=2.0)
    entries = found["cases"]["first"]["threads"]["1"]["contenders"]
    entries["parhelion expert tiled"] = {"min": 3.0, "same": True}
    found["cases"]["blur"] = found["cases"].pop("first")
    path.write_text(json.dumps(found))
    monkeypatch.setattr(table, "PLAIN", path)

    def labels(*options: str) -> list[str]:
        return command.labels_of(
            case("blur"), 1, command.arguments().parse_args(["--lean", *options])
        )

    assert labels() == [
        "halide expert tiled",
        "parhelion expert rows",
        table.HALIDES,
        table.PAPERS,
        table.DEFAULT,
    ]
    assert labels("--pinned") == [
        *(table.PAPERS, table.DEFAULT),
        *(f"{table.PAPERS} pinned", f"{table.DEFAULT} pinned"),
    ]
    monkeypatch.setattr(table, "PLAIN", tmp_path / "none.json")
    assert sum(" expert " in label for label in labels()) > 3
