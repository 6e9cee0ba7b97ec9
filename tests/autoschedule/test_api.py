"""Automatic schedulers by name, and what they answer with."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.script import Script
from parhelion.ir.bindings import SET
from parhelion.lang import autoscheduling
from parhelion.schedule.reach import Reach
from parhelion.schedule.snapshot import Snapshot
from tests.autoschedule.test_script import blur, exec_on, nest, state
from tests.autoschedule.toy import TOY
from tests.fuzz.build import build
from tests.fuzz.draw import draw_case

x, y = hl.vars("x y")
target = hl.get_host_target()


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(autoscheduling, "_SCHEDULERS", dict(autoscheduling._SCHEDULERS))
    hl.register_autoscheduler("Toy", "tests.autoschedule.toy:TOY")
    hl.register_autoscheduler("Parhelion", "tests.autoschedule.toy:TOY")
    yield
    TOY.give = TOY.seen = None


def apply(out: hl.Func, **extra: Any) -> hl.AutoSchedulerResults:
    params = hl.AutoschedulerParams("Toy", extra)
    return hl.Pipeline([out]).apply_autoscheduler(target, params)


def box(of: dict[Any, Any]) -> object:
    (found,) = of.values()
    return found


def seen() -> tuple[object, object]:
    """The boxes of the one output and the one image that the scheduler was told."""
    assert TOY.seen is not None
    return box(dict(TOY.seen.outputs)), box(dict(TOY.seen.images))


# A whole run.


def test_apply_autoscheduler_schedules_and_the_result_is_right() -> None:
    (out,) = blur()
    image = hl.Buffer(np.arange(40 * 30, dtype=np.uint16).reshape(30, 40))
    out.set_estimates([(1, 32), (1, 24)])
    before = nest([out])
    result = apply(out, lanes=4)
    assert nest([out]) != before
    assert (result.target, result.scheduler_name) == (target, "Toy")
    assert result.autoscheduler_params.extra == {"lanes": "4"}
    assert result.featurization == b"" and result.seconds > 0
    assert seen() == (((1, 32), (1, 24)), None)
    text = result.to_python()
    assert text == result.schedule_source == result.python_schedule_source
    assert text.startswith("# Found by Toy (lanes=4).\nimport parhelion as hl\n")
    assert ".vectorize(x, 4)" in text
    # The same from the text, on a pipeline of its own.
    (again,) = blur()
    exec_on(text, [again])
    assert nest([again]) == nest([out])
    for f in (out, again):
        got = hl.Buffer(hl.UInt(16), [32, 24])
        got.set_min([1, 1])
        args = hl.Pipeline(f).infer_arguments()
        hl.Pipeline(f).compile_to_callable(args)(image, got)
        a = np.asarray(image).astype(np.int64)
        rows = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) // 3
        want = (rows[:-2] + rows[1:-1] + rows[2:]) // 3
        assert np.array_equal(np.asarray(got), want[:24, :32])


def test_undo_and_apply_once_more() -> None:
    (out,) = blur()
    before = nest([out])
    result = hl.autoschedule(out, [64, 32])
    scheduled = nest([out])
    result.undo()
    assert nest([out]) == before
    result.apply()
    assert nest([out]) == scheduled


def test_definitions_without_directives_are_meant_to_have_none() -> None:
    f = hl.Func("f")
    f[x] = x
    f[x] += 2
    hl.autoschedule(f, [64])
    nest([f])  # a warning would be an error


# Explaining.


def test_explain_is_a_table() -> None:
    (out,) = blur()
    explained = hl.autoschedule(out, [64, 32]).explain()
    assert re.sub(r"\$\d+", "", str(explained)) == (
        "Parhelion: 2 decisions\n"
        "cost: 2 ms\n"
        "\n"
        "all\n"
        "  decision  Func    chosen   cost  runner-up  its cost  gain\n"
        "  inline    blur_x  at root  2 ms  inline         5 ms  3 ms\n"
        "    because it is read 3 times\n"
        "\n"
        "decision  Func    chosen   cost  runner-up  its cost  gain\n"
        "order     blur_y  at root  2 ms  -\n"
        "\n"
        "note: the toy knows nothing of loops"
    )
    first, second = explained.decisions
    assert first.options[0] is first.chosen and first.gain == pytest.approx(3e-3)
    assert first.runner_up is first.options[1] and second.runner_up is None
    assert second.gain is None and list(explained) == [first, second]


def test_a_runner_up_is_a_schedule_too() -> None:
    (out,) = blur()
    result = hl.autoschedule(out, [64, 32])
    scheduled = nest([out])
    other = result.alternative(result.explain()[0])
    assert nest([out]) == scheduled, "it is not applied"
    assert other.predicted_seconds == other.cost == pytest.approx(5e-3)
    assert other.notes[-1].endswith(": inline in place of at root")
    other.apply()
    (by_hand,) = blur()
    by_hand.unroll(x, 2)
    assert nest([out]) == nest([by_hand])
    result.apply()
    assert nest([out]) == scheduled


def test_options_are_made_of_the_pipeline_as_it_was() -> None:
    """A script of the pipeline without the schedule, though wrappers are in place."""
    (out,) = blur()
    TOY.give = lambda script: script.add(
        script.add(script.order[0], -1, "in_"), -1, "compute_root"
    )
    result = hl.autoschedule(out, [64, 32])
    now = Snapshot([out._function])
    other = result.alternative(result.decisions[0])
    assert [plain.name for plain in other.script.order] == [
        f.name for f in result.script.order
    ]
    assert len(now.functions) == 3


def test_what_no_alternative_can_be() -> None:
    (out,) = blur()
    result = hl.autoschedule(out, [64, 32])
    choice, only = result.decisions
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: result.alternative(only), "the order of blur_y had no other option"),
        (
            lambda: result.alternative(choice, choice.chosen),
            "the option 'at root' of the inline of blur_x cannot be applied",
        ),
        (
            lambda: result.alternative(only, choice.runner_up),
            "'inline' is no option of the order of blur_y",
        ),
        (
            lambda: hl.autoschedule(blur()[0], [64, 32]).alternative(choice),
            "the decision is none of this schedule's",
        ),
    ]
    for program, message in cases:
        with pytest.raises(hl.HalideError) as caught:
            program()
        assert re.sub(r"\$\d+", "", caught.value.what) == message


def test_a_schedule_that_is_refused_is_a_bug_and_leaves_no_trace() -> None:
    (out,) = blur()
    before = nest([out])
    TOY.give = lambda script: script.add(script.order[0], 0, "reorder", x, x)
    with pytest.raises(hl.InternalError, match="the schedule of Toy is refused"):
        hl.autoschedule(out, [64, 32], scheduler="Toy")
    assert nest([out]) == before
    # One that only the whole pipeline shows to be illegal.
    TOY.give = lambda script: script.add(
        script.order[0], -1, "store_at", script.order[1], x
    )
    with pytest.raises(hl.InternalError, match="the schedule of Toy is refused"):
        hl.autoschedule(out, [64, 32], scheduler="Toy")
    assert nest([out]) == before


def test_a_scheduler_that_fails_leaves_no_trace() -> None:
    (out,) = blur()
    before = nest([out])

    def gives_and_fails(script: Script) -> None:
        script.apply()
        raise KeyError("lost")

    TOY.give = gives_and_fails
    with pytest.raises(KeyError, match="lost"):
        hl.autoschedule(out, [64, 32], scheduler="Toy")
    assert nest([out]) == before


# Real arguments in place of estimates.


def test_forms_of_autoschedule() -> None:
    (out,) = blur()
    image = np.zeros((90, 120), np.uint16)
    reach = Reach([out._function])
    reach.look()
    (symbol,) = reach.images
    buffer = hl.Buffer(hl.UInt(16), [50, 40])
    buffer.set_min([3, 5])
    whole, part = ((0, 99), (0, 69)), ((3, 52), (5, 44))
    known = ((0, 119), (0, 89))
    cases: list[tuple[Callable[[], object], object, object]] = [
        (lambda: hl.autoschedule(out, [100, 70]), whole, None),
        (lambda: hl.autoschedule([out], sizes=(100, 70)), whole, None),
        (lambda: hl.autoschedule(hl.Pipeline(out), [100, 70]), whole, None),
        (lambda: hl.autoschedule(out, image, [100, 70]), whole, known),
        (lambda: hl.autoschedule(out, image, sizes=[100, 70]), whole, known),
        (lambda: hl.autoschedule(out, image, buffer), part, known),
        (lambda: hl.autoschedule(out, image, [buffer]), part, known),
        (
            lambda: hl.autoschedule(out, buffer, inputs={"image": image}),
            part,
            known,
        ),
        (
            lambda: hl.autoschedule(out, [100, 70], inputs={symbol.name: image}),
            whole,
            known,
        ),
    ]
    for program, wanted, given in cases:
        before = Snapshot([out._function])
        program()
        assert seen() == (wanted, given)
        before.restore()
    assert SET.of(symbol) is None


def test_images_and_values_that_are_set_serve() -> None:
    image = hl.ImageParam(hl.Float(32), 2, "image")
    gain = hl.Param(hl.Float(32), "gain")
    width = hl.Param(hl.Int(32), "width", 3)
    f = hl.Func("f")
    f[x, y] = image[x + width, y] * gain
    image.set(np.zeros((20, 30), np.float32))
    image.set_estimates([(0, 999), (0, 999)])
    width.set_estimate(9)
    result = hl.autoschedule(f, [8, 8])
    assert TOY.seen is not None and result.sizes is not None
    assert TOY.seen == result.sizes.on({f._function: next(iter(TOY.seen.outputs))})
    assert seen()[1] == ((0, 29), (0, 19)), "the image will be there; estimates are old"
    assert {p.name.split("$")[0]: v for p, v in TOY.seen.params.items()} == {"width": 3}
    result.undo()
    hl.autoschedule(f, 0.5, [8, 8]).undo()
    assert sorted(TOY.seen.params.values()) == [0.5, 3]
    apply_estimates = hl.AutoschedulerParams("Toy")
    f.set_estimates([(0, 8), (0, 8)])
    hl.Pipeline(f).apply_autoscheduler(target, apply_estimates)
    assert seen()[1] == ((0, 998), (0, 998))
    assert list(TOY.seen.params.values()) == [9]


def test_several_outputs_and_several_values() -> None:
    f, g = hl.funcs("f g")
    f[x] = hl.Tuple(x, hl.f32(x))
    g[x] = x + 1
    hl.autoschedule([f, g], [64])
    assert TOY.seen is not None
    assert list(TOY.seen.outputs.values()) == [((0, 63),)] * 2
    one, two = hl.Buffer(hl.Int(32), [10]), hl.Buffer(hl.Float(32), [10])
    hl.autoschedule(f, [one, two]).undo()
    hl.autoschedule([f, g], one, two, hl.Buffer(hl.Int(32), [9]))
    assert list(TOY.seen.outputs.values()) == [((0, 9),), ((0, 8),)]


def test_measure_is_a_parameter_of_those_that_have_it() -> None:
    result = hl.autoschedule(blur()[0], [64, 32], measure=3, lanes=16)
    assert result.autoscheduler_params.extra == {"lanes": "16", "measure": "3"}


# The registry.


def test_load_plugin_is_there_for_scripts_of_halide() -> None:
    hl.register_autoscheduler("Mullapudi2016", "tests.autoschedule.toy:TOY")
    hl.load_plugin("autoschedule_mullapudi2016")
    hl.load_plugin("/usr/lib/libautoschedule_mullapudi2016.so")


def test_a_scheduler_is_loaded_when_it_is_asked_for() -> None:
    cases = {
        "tests.autoschedule.no_module:SCHEDULER": "there is no module"
        " 'tests.autoschedule.no_module'",
        "tests.no_package.toy:TOY": "there is no module 'tests.no_package'",
        "tests.autoschedule.toy:TOYS": "the module has no 'TOYS'",
        "tests.autoschedule.toy:PARAMETERS": "the object has no method schedule",
    }
    for where, what in cases.items():
        hl.register_autoscheduler("Nowhere", where)
        with pytest.raises(hl.HalideError) as caught:
            hl.autoschedule(blur()[0], [64, 32], scheduler="Nowhere")
        told = f"the autoscheduler 'Nowhere' is registered as {where!r}, but {what}"
        assert caught.value.what == told
        assert caught.value.at is not None and caught.value.at.file == __file__
    with pytest.raises(hl.HalideError, match="'module:attribute', not 'nowhere'"):
        hl.register_autoscheduler("Nowhere", "nowhere")


def test_params_are_text() -> None:
    params = hl.AutoschedulerParams("Toy", {"a": 1, "b": 2.5, "c": "x"})
    assert (params.name, params.extra) == ("Toy", {"a": "1", "b": "2.5", "c": "x"})
    assert hl.AutoschedulerParams().extra == {}
    # As in Halide, they can be assigned to.
    params = hl.AutoschedulerParams()
    params.name, params.extra = "Toy", {"lanes": 4}  # type: ignore[dict-item]
    (out,) = blur()
    out.set_estimates([(0, 8), (0, 8)])
    result = hl.Pipeline(out).apply_autoscheduler(target, params)
    assert result.autoscheduler_params.extra == {"lanes": "4"}


def test_every_random_pipeline_can_be_asked_for_a_schedule() -> None:
    """Sizes are found, scripts applied and taken back, whatever the Funcs are."""
    for seed in range(40):
        case = draw_case(random.Random(seed))
        outputs = build(case).outputs()
        before = state(outputs)
        result = hl.autoschedule(outputs, list(case.extents))
        compile(result.to_python(), "printed", "exec")
        nest(outputs)
        result.undo()
        assert state(outputs) == before
