"""What Generators refuse, in this process, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.generator.filters import Soften, Statistics
from tests.generator.support import generator_of

x, y = hl.vars("x y")
HOST = hl.get_host_target()


def both(self: Any) -> None:
    self.output[x] = (x, x)
    self.output_0[x] = x


def one(**members: object) -> type[hl.Generator]:
    """A Generator "one" with an output of uint8 in one dimension, unless told
    otherwise."""

    def generate(self: Any) -> None:
        self.output[x] = hl.u8(x)

    body = dict(members)
    body.setdefault("output", hl.OutputBuffer(hl.UInt(8), 1))
    body.setdefault("generate", generate)
    made: Any = hl.generator("one")(type("One", (hl.Generator,), body))
    return made  # type: ignore[no-any-return]


def late_input(self: Any) -> None:
    self.output[x] = hl.u8(x)
    self.add_input("late", hl.InputScalar(int))


def assigns(self: Any) -> None:
    self.output = hl.Func("mine")


def assigns_param(self: Any) -> None:
    self.size = 3


def nothing(self: Any) -> None:
    return


def two_dimensions(self: Any) -> None:
    self.output[x, y] = hl.u8(x)


def floats(self: Any) -> None:
    self.output[x] = hl.f32(x)


def adds_output(self: Any) -> None:
    self.add_output("more", hl.InputScalar(int))


def adds_twice(self: Any) -> None:
    self.add_input("output", hl.InputScalar(int))


image2 = hl.InputBuffer(hl.UInt(8), 2)
gain = hl.InputScalar(hl.UInt(8))


def twice() -> None:
    made = one()()
    made.compile_to_callable()
    made.compile_to_callable()


CASES: list[tuple[Callable[[], object], type[hl.HalideError], str]] = [
    (
        lambda: hl.GeneratorParam([1]),
        hl.TypeMismatchError,
        "the default of a GeneratorParam is a bool, an int, a float, a string or a "
        "Type, not [1]",
    ),
    (
        lambda: Soften({"radius": "wide"}),
        hl.TypeMismatchError,
        "the GeneratorParam 'radius' is of type int; it cannot be 'wide'",
    ),
    (
        lambda: Soften({"fast": "maybe"}),
        hl.TypeMismatchError,
        "the GeneratorParam 'fast' is of type bool; it cannot be 'maybe'",
    ),
    (
        lambda: Soften({"turn": [3]}),
        hl.TypeMismatchError,
        "the GeneratorParam 'turn' is of type str; it cannot be [3]",
    ),
    (
        lambda: generator_of(Statistics)({"kind": "uint7"}),
        hl.TypeMismatchError,
        "'kind' takes a type, and 'uint7' is the name of none",
    ),
    (
        lambda: Soften({"width": 3}).compile_to_callable(),
        hl.DefinitionError,
        "the type of 'output' is neither declared nor given",
    ),
    (
        lambda: Soften({"width": 3, "output.type": "int8"}).compile_to_callable(),
        hl.DefinitionError,
        "the Generator 'soften' has no GeneratorParam 'width'",
    ),
    (
        lambda: Soften({"output.dim": 3, "output.type": "int8"}).compile_to_callable(),
        hl.DefinitionError,
        "the GeneratorParam 'output.dim' cannot be set: the class declares it",
    ),
    (
        lambda: Soften({"target": "host"}),
        hl.DefinitionError,
        "the target is no GeneratorParam that can be set",
    ),
    (
        lambda: Soften("fast"),  # type: ignore[arg-type]
        hl.TypeMismatchError,
        "generator_params is a dict from names to values, not 'fast'",
    ),
    (
        lambda: Soften({"turn": "x", "output.type": "int8"}).compile_to_callable(),
        ValueError,  # type: ignore[list-item]
        "turn=x: none or half",
    ),
    (
        hl.active_generator_context,
        hl.HalideError,
        "no GeneratorContext is active",
    ),
    (
        lambda: hl.GeneratorContext(3),  # type: ignore[arg-type]
        hl.TypeMismatchError,
        "a GeneratorContext is made of a Target, not 3",
    ),
    (
        lambda: hl.create_callable_from_generator(HOST, "none"),
        hl.HalideError,
        "there is no Generator 'none'",
    ),
    (
        lambda: hl.generator(name="soften")(type("Other", (), {"generate": nothing})),
        hl.DefinitionError,
        "there is a Generator 'soften' already, the class Soften of the module "
        "tests.generator.filters",
    ),
    (
        lambda: hl.generator(name="empty")(type("Empty", (), {})),
        hl.DefinitionError,
        "the class Empty has no method generate(self), which builds the pipeline",
    ),
    (
        lambda: hl.generator(Soften),  # type: ignore[arg-type]
        hl.TypeMismatchError,
        f"@hl.generator takes the name of the Generator, not {repr(Soften):.60}",
    ),
    (
        lambda: hl.alias(some={})(type("Plain", (), {})),
        hl.DefinitionError,
        "@hl.alias stands above @hl.generator, which makes a Generator first",
    ),
    (
        lambda: hl.alias(some=3)(Soften),  # type: ignore[arg-type]
        hl.TypeMismatchError,
        "the alias 'some' is a dict of GeneratorParams, not 3",
    ),
    (
        lambda: one(output=hl.InputScalar(int))().compile_to_callable(),
        hl.DefinitionError,
        "the Generator 'one' declares no output",
    ),
    (
        lambda: one(context=gain)().compile_to_callable(),
        hl.DefinitionError,
        "the Generator 'one' declares 'context', which is a method of Generators",
    ),
    (
        lambda: one(a__b=gain)().compile_to_callable(),
        hl.DefinitionError,
        "'a__b' cannot be the name of a GeneratorParam, an input or an output",
    ),
    (
        lambda: one(generate=late_input)().compile_to_callable(),
        hl.DefinitionError,
        "add_input is called outside the method configure()",
    ),
    (
        lambda: one(configure=adds_output)().compile_to_callable(),
        hl.TypeMismatchError,
        "add_output('more') takes an OutputBuffer or OutputScalar, not "
        "<parhelion.InputScalar of int32, dims: 0>",
    ),
    (
        lambda: one(configure=adds_twice)().compile_to_callable(),
        hl.DefinitionError,
        "add_input('output'): the Generator 'one' has a member of that name",
    ),
    (
        lambda: one(generate=nothing)().compile_to_callable(),
        hl.DefinitionError,
        "the Generator 'one' did not define its output 'output'",
    ),
    (
        lambda: one(generate=two_dimensions)().compile_to_callable(),
        hl.DefinitionError,
        "Func 'output' is declared with 1 dimensions, but defined with 2",
    ),
    (
        lambda: one(generate=floats)().compile_to_callable(),
        hl.TypeMismatchError,
        "Func 'output' is declared to hold uint8, but defined with a value of type "
        "float32",
    ),
    (
        lambda: one(generate=assigns)().compile_to_callable(),
        AttributeError,  # type: ignore[list-item]
        "'output' is an output of the Generator 'one' and cannot be assigned to",
    ),
    (
        lambda: one(
            size=hl.GeneratorParam(2), generate=assigns_param
        )().compile_to_callable(),
        AttributeError,  # type: ignore[list-item]
        "'size' is a GeneratorParam of the Generator 'one' and cannot be assigned to",
    ),
    (
        twice,
        hl.DefinitionError,
        "an instance of the Generator 'one' is used a second time",
    ),
    (
        lambda: image2[x, y],
        hl.DefinitionError,
        "an InputBuffer is a declaration, which has no value",
    ),
    (
        lambda: gain + 1,
        hl.DefinitionError,
        "an InputScalar is a declaration, which has no value",
    ),
    (
        lambda: hl.InputBuffer("byte", 2),  # type: ignore[arg-type]
        hl.TypeMismatchError,
        "'InputBuffer(…)' takes a type, and 'byte' is the name of none",
    ),
    (
        lambda: hl.InputBuffer(hl.UInt(8), -1),
        hl.TypeMismatchError,
        "InputBuffer has a number of dimensions, or None; not -1",
    ),
    (
        lambda: one(gain=gain, image=image2).call(3, 4, 5),
        hl.TypeMismatchError,
        "the Generator 'one' has 2 inputs; 3 are given",
    ),
    (
        lambda: one(gain=gain).call(3, gain=4),
        hl.TypeMismatchError,
        "the input 'gain' of the Generator 'one' is given twice",
    ),
    (
        lambda: one(gain=gain).call(lift=4),
        hl.TypeMismatchError,
        "the Generator 'one' has no input 'lift'",
    ),
    (
        lambda: one(gain=gain).call(),
        hl.TypeMismatchError,
        "the input 'gain' of the Generator 'one' is not given",
    ),
    (
        lambda: Soften({"radius": 3.7}),
        hl.TypeMismatchError,
        "the GeneratorParam 'radius' is of type int; it cannot be 3.7",
    ),
    (
        lambda: hl.InputBuffer(None, 2).type(),
        hl.DefinitionError,
        "this InputBuffer leaves its type open",
    ),
    (
        lambda: hl.OutputBuffer([bool, int], 2).type(),
        hl.DefinitionError,
        "this OutputBuffer declares 2 types: types() gives them",
    ),
    (
        lambda: hl.OutputBuffer(int, None).dimensions(),
        hl.DefinitionError,
        "this OutputBuffer leaves its number of dimensions open",
    ),
    (
        lambda: one(
            output=hl.OutputBuffer([int, int], 1),
            output_0=hl.OutputBuffer(int, 1),
            generate=both,
        )().compile_to_callable(),
        hl.DefinitionError,
        "two arguments of the Generator 'one' are called 'output_0': an output of "
        "several values has its name with _0, _1, … for them",
    ),
    (
        lambda: one(gain=gain).call("loud"),
        hl.TypeMismatchError,
        "the input 'gain' takes a Param or a number, not 'loud'",
    ),
    (
        lambda: one(gain=gain).call(hl.Param(hl.Int(16), "p")),
        hl.TypeMismatchError,
        "the input 'gain' is of type uint8, not int16",
    ),
    (
        lambda: one(image=image2).call(3),
        hl.TypeMismatchError,
        "the input 'image' takes an ImageParam or a Buffer, not 3",
    ),
    (
        lambda: one(image=image2).call(np.zeros((2, 2, 2), np.uint8)),
        hl.TypeMismatchError,
        "the input 'image' has 2 dimensions, not 3",
    ),
    (
        lambda: one(image=image2).call(np.zeros((2, 2), np.int16)),
        hl.TypeMismatchError,
        "the input 'image' is of type uint8, not int16",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[2][:40])
def test_messages(case: tuple[Callable[[], object], type[Exception], str]) -> None:
    run, kind, message = case
    with pytest.raises(kind) as caught:
        run()
    assert getattr(caught.value, "what", str(caught.value)) == message


def test_hints_tell_what_to_write() -> None:
    with pytest.raises(hl.HalideError) as caught:
        Soften({"lift": 3}).compile_to_callable()
    assert caught.value.hint == (
        "set the GeneratorParam 'output.type', as in output.type=uint8"
    )
    with pytest.raises(hl.HalideError) as caught:
        Soften({"lift": 3, "output.type": "uint8"}).compile_to_callable()
    assert list(caught.value.legal) == [
        *("fast", "strength", "turn", "radius", "output.type"),
        *("autoscheduler", "autoscheduler.NAME"),
    ]
