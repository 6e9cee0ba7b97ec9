"""Bad calls of automatic schedulers: each with its message, whole."""

# ruff: noqa: E501  the messages stand as they are printed

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang import autoscheduling
from tests.autoschedule import toy

x, y, c = hl.vars("x y c")
target = hl.get_host_target()

Program = Callable[[], object]
CASES: list[tuple[Program, type[hl.HalideError], str]] = []


def bad(kind: type[hl.HalideError], message: str) -> Callable[[Program], Program]:
    """Registers a program that must fail with just this message; the place in it,
    and numbers that make names unique, are left out."""

    def register(program: Program) -> Program:
        CASES.append((program, kind, message))
        return program

    return register


def normal(message: str) -> str:
    message = re.sub(r"\n  --> .*:\d+", "", message)
    message = re.sub(r"\n   \|  .*", "", message)
    message = re.sub(r"made at .*:\d+", "made at …", message)
    return re.sub(r"\$\d+", "", message)


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(autoscheduling, "_SCHEDULERS", {})
    hl.register_autoscheduler("Toy", "tests.autoschedule.toy:TOY")
    hl.register_autoscheduler("Parhelion", "tests.autoschedule.toy:TOY")
    yield


def make() -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f, g = hl.funcs("f g")
    f[x, y, c] = image[x, y] + hl.u8(c)
    g[x, y, c] = f[x, y, c] * 2
    return g


def apply(g: hl.Func, name: str = "Toy", **extra: str | float) -> object:
    params = hl.AutoschedulerParams(name, extra)
    return hl.Pipeline([g]).apply_autoscheduler(target, params)


# Which scheduler.


@bad(
    hl.HalideError,
    """there is no autoscheduler 'Tog'
legal here:
  - Parhelion
  - Toy
hint: did you mean 'Toy'?""",
)
def a_slip_in_the_name() -> None:
    apply(make(), "Tog")


@bad(
    hl.HalideError,
    """there is no autoscheduler 'Adams2019'
legal here:
  - Parhelion
  - Toy
hint: Adams2019 is a plugin of Halide's, in C++; it does not exist here""",
)
def a_scheduler_of_halide() -> None:
    hl.autoschedule(make(), [8, 8, 3], scheduler="Adams2019")


@bad(
    hl.HalideError,
    """no autoscheduler is named
legal here:
  - Parhelion
  - Toy""",
)
def no_name() -> None:
    hl.Pipeline(make()).apply_autoscheduler(target, hl.AutoschedulerParams())


@bad(
    hl.HalideError,
    """there is no plugin 'libautoschedule_adams2019.so'
legal here:
  - autoschedule_parhelion
  - autoschedule_toy
hint: plugins of Halide's are libraries in C++, which do not fit here""",
)
def a_plugin_that_is_not_there() -> None:
    hl.load_plugin("libautoschedule_adams2019.so")


@bad(hl.TypeMismatchError, "load_plugin takes the name of a plugin, not 7")
def a_plugin_without_a_name() -> None:
    hl.load_plugin(7)  # type: ignore[arg-type]


# What it is told.


@bad(
    hl.ScheduleError,
    """Toy has no parameter 'lane'
legal here:
  - lanes: how many pixels are computed at once
  - share: a part of the work
  - threads: whether the rows run in parallel
  - mode: what is looked for
  - parallelism: how many threads there are
  - measure: how many candidates are run
hint: did you mean 'lanes'?""",
)
def a_slip_in_a_parameter() -> None:
    hl.autoschedule(make(), [8, 8, 3], lane=8)


@bad(
    hl.ScheduleError,
    """the parameter lanes of Toy is an integer, not '2.5'
hint: it is how many pixels are computed at once""",
)
def no_integer() -> None:
    hl.autoschedule(make(), [8, 8, 3], lanes=2.5)


@bad(
    hl.ScheduleError,
    """the parameter lanes of Toy is at least 1, not 0
hint: it is how many pixels are computed at once""",
)
def too_little() -> None:
    hl.autoschedule(make(), [8, 8, 3], lanes=0)


@bad(
    hl.ScheduleError,
    """the parameter share of Toy is at most 1, not 1.5
hint: it is a part of the work""",
)
def too_much() -> None:
    hl.autoschedule(make(), [8, 8, 3], share="1.5")


@bad(
    hl.ScheduleError,
    """the parameter share of Toy is a number, not 'nan'
hint: it is a part of the work""",
)
def no_number() -> None:
    hl.autoschedule(make(), [8, 8, 3], share="nan")


@bad(
    hl.ScheduleError,
    """the parameter threads of Toy is true or false, not 'maybe'
hint: it is whether the rows run in parallel""",
)
def no_truth() -> None:
    hl.autoschedule(make(), [8, 8, 3], threads="maybe")


@bad(
    hl.ScheduleError,
    """the parameter mode of Toy is one of 'fast', 'small', not 'good'
hint: it is what is looked for""",
)
def no_such_word() -> None:
    hl.autoschedule(make(), [8, 8, 3], mode="good")


@bad(
    hl.TypeMismatchError,
    "the value of the parameter lanes of an autoscheduler is a string or a number, not [8]",
)
def a_list_for_a_value() -> None:
    hl.AutoschedulerParams("Toy", {"lanes": [8]})  # type: ignore[dict-item]


@bad(
    hl.TypeMismatchError,
    "the name of a parameter of an autoscheduler is a string, not 3",
)
def a_number_for_a_name() -> None:
    hl.AutoschedulerParams("Toy", {3: "8"})  # type: ignore[dict-item]


@bad(
    hl.TypeMismatchError,
    "the parameters of an autoscheduler are a dict from their names to values, not ['lanes', 8]",
)
def a_list_for_the_parameters() -> None:
    hl.AutoschedulerParams("Toy", ["lanes", 8])  # type: ignore[arg-type]


@bad(hl.TypeMismatchError, "the name of an autoscheduler is a string, not 1")
def a_number_for_a_scheduler() -> None:
    hl.AutoschedulerParams(1)  # type: ignore[arg-type]


@bad(
    hl.TypeMismatchError,
    """apply_autoscheduler takes AutoschedulerParams, not 'Toy'
hint: write hl.AutoschedulerParams('Toy')""",
)
def a_name_for_the_parameters() -> None:
    hl.Pipeline(make()).apply_autoscheduler(target, "Toy")  # type: ignore[arg-type]


@bad(
    hl.TypeMismatchError,
    """the target of autoschedule is a Target, not 'host'
hint: hl.get_host_target() is this computer""",
)
def a_name_for_the_target_of_a_function() -> None:
    hl.autoschedule(make(), [8, 8, 3], target="host")  # type: ignore[arg-type]


@bad(
    hl.TypeMismatchError,
    """apply_autoscheduler takes a Target first, not 'host'
hint: hl.get_host_target() is this computer""",
)
def a_name_for_the_target() -> None:
    params = hl.AutoschedulerParams("Toy")
    hl.Pipeline(make()).apply_autoscheduler("host", params)  # type: ignore[arg-type]


# Sizes.


@bad(
    hl.ScheduleError,
    """the automatic scheduler does not know how large the output g is in x, y and c
it was made at …
hint: g.set_estimates([(0, 1536), (0, 2560), (0, 3)]) says what to expect; hl.autoschedule(g, [1536, 2560, 3]) takes sizes instead""",
)
def no_size_at_all() -> None:
    apply(make())


@bad(
    hl.ScheduleError,
    """the automatic scheduler does not know how large the output g is in y
it was made at …
hint: g.set_estimates([(0, 1536), (0, 2560), (0, 3)]) says what to expect; hl.autoschedule(g, [1536, 2560, 3]) takes sizes instead""",
)
def one_dimension_missing() -> None:
    g = make()
    g.set_estimate(x, 0, 100)
    g.bound(c, 0, 3)
    apply(g)


@bad(
    hl.ScheduleError,
    "the extent of y of the output g is 0; a schedule is made for at least 1",
)
def an_empty_output() -> None:
    g = make()
    g.set_estimates([(0, 100), (0, 0), (0, 3)])
    apply(g)


@bad(
    hl.ScheduleError,
    """the automatic scheduler does not know a value of the Param 'radius', on which the RDom that f walks over depends
it was made at …
hint: radius.set_estimate(8) says what to expect; set(…) and set_range(…, …) serve as well""",
)
def a_radius_without_a_value() -> None:
    radius = hl.Param(hl.Int(32), "radius")
    f = hl.Func("f")
    r = hl.RDom([(0, radius)])
    f[x] = 0
    f[x] += r
    f.set_estimate(x, 0, 100)
    apply(f)


@bad(
    hl.ScheduleError,
    """the automatic scheduler does not know a value of the Param 'scale', on which the place where f reads image depends
it was made at …
hint: scale.set_estimate(0.5) says what to expect; set(…) and set_range(…, …) serve as well""",
)
def a_scale_without_a_value() -> None:
    scale = hl.Param(hl.Float(32), "scale")
    image = hl.ImageParam(hl.UInt(8), 1, "image")
    f = hl.Func("f")
    f[x] = image[hl.i32(x * scale)]
    f.set_estimate(x, 0, 100)
    apply(f)


# Arguments.


@bad(
    hl.TypeMismatchError,
    """autoschedule takes values for image, and then the extents of the output or a buffer for it; 3 arguments are given after the outputs
hint: inputs={image: array, …} gives images and values by what they are for""",
)
def too_many_arguments() -> None:
    image = np.zeros((8, 8), np.uint8)
    hl.autoschedule(make(), image, image, image)


@bad(
    hl.TypeMismatchError,
    """autoschedule takes the extents of the output or a buffer for it; 2 arguments are given after the outputs
all ImageParams and Params have values
hint: inputs={image: array, …} gives images and values by what they are for""",
)
def arguments_that_are_set_already() -> None:
    image = np.zeros((8, 8), np.uint8)
    buffer = np.zeros((3, 8, 8), np.uint8)
    hl.autoschedule(make(), image, buffer, inputs={"image": image})


@bad(
    hl.TypeMismatchError,
    "Func 'g' has 3 dimensions; autoschedule is given 2 extents",
)
def too_few_extents() -> None:
    hl.autoschedule(make(), [8, 8])


@bad(hl.TypeMismatchError, "the extents of Func 'g' are at least 1 each, not [8, 8, 0]")
def no_extent() -> None:
    hl.autoschedule(make(), [8, 8, 0])


@bad(
    hl.TypeMismatchError,
    "the extent of dimension 0 of the output of Func 'g' must be an integer, not 70.0",
)
def an_extent_that_is_no_integer() -> None:
    hl.autoschedule(make(), [70.0, 50, 3])


@bad(
    hl.TypeMismatchError,
    """autoschedule is given a value for 'n', which may mean any of 2
legal here:
  - n, made at …
  - n, made at …
hint: inputs= takes ImageParams and Params themselves, too""",
)
def a_name_of_two() -> None:
    f, _ = hl.Func("f"), hl.Param(hl.Int(32), "n")
    m, n = hl.Param(hl.Int(32), "n"), hl.Param(hl.Int(32), "n")
    f[x] = x * m + n
    hl.autoschedule(f, [8], inputs={"n": 2})


@bad(
    hl.TypeMismatchError,
    """autoschedule is given a value for 'gain', which the pipeline does not use
legal here:
  - image""",
)
def a_value_for_nothing() -> None:
    hl.autoschedule(make(), [8, 8, 3], inputs={"gain": 2})


@bad(
    hl.TypeMismatchError,
    "image 'image' is given as a Buffer or an array, not 'photo.png'",
)
def a_file_for_an_image() -> None:
    hl.autoschedule(make(), "photo.png", [8, 8, 3])


@bad(
    hl.TypeMismatchError,
    "image 'image' is of type uint8; the buffer given is float32",
)
def an_image_of_another_type() -> None:
    hl.autoschedule(make(), np.zeros((8, 8), np.float32), [8, 8, 3])


@bad(
    hl.TypeMismatchError,
    "inputs is a dict from ImageParams and Params, or their names, to images and values, not 5",
)
def no_dict_of_inputs() -> None:
    hl.autoschedule(make(), [8, 8, 3], inputs=5)  # type: ignore[arg-type]


@bad(
    hl.TypeMismatchError,
    "autoschedule takes a Func, several or a Pipeline first, not 5",
)
def no_output() -> None:
    hl.autoschedule(5, [8])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("program", "kind", "message"), CASES, ids=lambda v: getattr(v, "__name__", None)
)
def test_message(program: Program, kind: type[hl.HalideError], message: str) -> None:
    with pytest.raises(kind) as caught:
        program()
    assert type(caught.value) is kind
    assert normal(str(caught.value)) == message
    assert caught.value.at is not None
    # The toy is not of the package: what it asks for itself is its own line.
    assert caught.value.at.file in (__file__, toy.__file__)


def test_a_func_of_two_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    """The directive is nobody's: who gave it is said, and what to do."""
    real = "parhelion.autoschedule.search.scheduler:PARHELION"
    monkeypatch.setattr(autoscheduling, "_SCHEDULERS", {"Parhelion": real})
    shared, f, g = hl.funcs("shared f g")
    shared[x, y] = hl.sqrt(x * y)
    f[x, y] = sum([shared[x + i, y + j] for i in range(3) for j in range(3)], 0.0)
    g[x, y] = shared[x + 1, y]
    found = hl.autoschedule(f, [256, 256])
    assert "shared.compute_at(f, " in found.to_python()
    with pytest.raises(hl.ScheduleError) as caught:
        g.realize([4, 4])
    assert normal(caught.value.what).endswith(": f is not part of the pipeline")
    assert caught.value.at is not None
    assert caught.value.at.text() == "found = hl.autoschedule(f, [256, 256])"
    assert normal(caught.value.hint) == (
        "the scheduler Parhelion gave this for a pipeline with f, which shares shared "
        "with that of g: schedule their outputs in one Pipeline, give shared a legal "
        "place, take the schedule back with undo() of the scheduler's result, or define "
        "shared anew for g"
    )
    found.undo()
    g.realize([4, 4])
