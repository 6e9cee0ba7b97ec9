"""Generators in this process: what they declare, what they build, what they refuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.generator.filters import Outline, Soften, Statistics
from tests.generator.support import HEIGHT, WIDTH, image, interpreted

x, y = hl.vars("x y")
HOST = hl.get_host_target()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("soften", {"output.type": "uint8"}),
        ("soften", {"output.type": "float32", "strength": "2.5", "fast": "false"}),
        ("mirrored", {"output.type": hl.UInt(16), "radius": 3}),
        ("plain", {"output.type": "uint8", "turn": "half"}),
    ],
)
def test_callables_of_registered_generators(name: str, params: dict[str, Any]) -> None:
    source = image(HEIGHT, WIDTH)
    compiled = hl.create_callable_from_generator(HOST, name, params)
    extra = {"mirrored": {"turn": "half", "strength": 3.0}, "plain": {"fast": False}}
    (exact,) = interpreted(
        Soften,
        {**extra.get(name, {}), **params},
        {"image": source, "lift": 9},
        (WIDTH, HEIGHT),
    )
    for call in (
        lambda out: compiled(source, 9, out),
        lambda out: compiled(output=out, lift=9, image=source),
    ):
        found = np.zeros_like(exact)
        call(found)
        np.testing.assert_array_equal(found, exact)


def test_several_outputs_and_dynamic_inputs() -> None:
    source = image(3, HEIGHT, WIDTH)
    for params, rest in (
        ({"image.type": hl.UInt(8)}, []),
        ({"image.type": "uint8", "weighted": True, "kind": "float64"}, [0.5]),
    ):
        inputs = {"image": source, **dict(zip(["weight"], rest, strict=False))}
        exact = interpreted(Statistics, params, inputs, (WIDTH, HEIGHT), ())
        with hl.GeneratorContext(HOST):
            compiled = Statistics(params).compile_to_callable()
        found = [np.zeros_like(e) for e in exact]
        compiled(source, *rest, pixels_0=found[0], pixels_1=found[1], total=found[2])
        for one, other in zip(found, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


def test_calls_take_buffers_arrays_and_params() -> None:
    source = image(HEIGHT, WIDTH)
    lift = hl.Param(hl.UInt(8), "lift", 4)
    given = hl.ImageParam(hl.UInt(8), 2, "given")
    params = {"output.type": hl.UInt(8)}
    f = Soften.call(given, lift, generator_params=params)
    given.set(source)
    assert f.name().startswith("output") and f.dimensions() == 2
    (exact,) = interpreted(
        Soften, params, {"image": source, "lift": 4}, (WIDTH, HEIGHT)
    )
    np.testing.assert_array_equal(np.asarray(f.realize([WIDTH, HEIGHT])), exact)
    g = Soften.call(hl.Buffer(source), np.uint8(4), generator_params=params)
    np.testing.assert_array_equal(np.asarray(g.realize([WIDTH, HEIGHT])), exact)


def test_generators_of_generators_and_automatic_schedules() -> None:
    source = image(HEIGHT, WIDTH)
    (exact,) = interpreted(Outline, {}, {"image": source}, (WIDTH, HEIGHT))
    for params in (
        {},
        {"autoscheduler": "Mullapudi2016", "autoscheduler.parallelism": 2},
    ):
        compiled = hl.create_callable_from_generator(HOST, "outline", params)
        found = np.zeros_like(exact)
        compiled(source, found)
        np.testing.assert_array_equal(found, exact)


def test_what_a_generator_knows() -> None:
    told = hl.AutoschedulerParams("Parhelion", {"parallelism": 3})
    target = hl.Target("x86-64-linux-avx2")
    with hl.GeneratorContext(target, told) as context:
        assert hl.active_generator_context() is context
        with hl.GeneratorContext(HOST):
            assert hl.active_generator_context().target() == HOST
        made = Soften({"output.type": hl.UInt(8)})
    assert made.target() == target and made.using_autoscheduler()
    assert made.autoscheduler().name == "Parhelion"
    assert made.autoscheduler().extra == {"parallelism": "3"}
    assert made.context().target() == target
    assert made.natural_vector_size(hl.UInt(8)) == 32
    assert context.with_target(HOST).autoscheduler_params().name == "Parhelion"
    assert (made.fast, made.strength, made.turn, made.radius) == (True, 1.0, "none", 1)
    assert not Soften({"output.type": bool}).using_autoscheduler()


def test_declarations_tell_what_they_declare() -> None:
    """In the class, of members further up."""

    class Same(hl.Generator):
        image = hl.InputBuffer(hl.UInt(16), 2)
        lift = hl.InputScalar(image.type())
        output = hl.OutputBuffer(image.type(), image.dimensions())
        both = hl.OutputBuffer([*output.types(), lift.type()], output.dimensions())

        def generate(self) -> None:
            self.output[x, y] = self.image[x, y] + self.lift
            self.both[x, y] = (self.output[x, y], self.lift)

    assert Same.image.name() == "image"
    assert hl.InputBuffer(hl.UInt(8), 2).name() != ""
    assert hl.InputBuffer(bool, 1).type() == hl.Bool()
    assert hl.OutputScalar(float).dimensions() == 0
    assert not Same.output.defined()
    source = image(HEIGHT, WIDTH).astype(np.uint16)
    found = [np.zeros_like(source) for _ in range(3)]
    Same().compile_to_callable()(source, 5, *found)
    np.testing.assert_array_equal(found[0], source + 5)
    np.testing.assert_array_equal(found[1], found[0])


def test_errors_of_calls_have_the_declared_names() -> None:
    """However many Generators with the same names there are in the process."""

    class Twice(hl.Generator):
        source = hl.InputBuffer(hl.Int(32), 1)
        gain = hl.InputScalar(hl.UInt(8))
        result = hl.OutputBuffer(hl.Int(32), 1)

        def generate(self) -> None:
            self.gain.set_range(0, 9)
            self.result[x] = self.source[x] * self.gain

    good, result = np.zeros(4, np.int32), np.zeros(4, np.int32)
    for _ in range(3):
        call = Twice().compile_to_callable()
        for args, kind, message in (
            ((good[:2], 3, result), hl.HalideError, "'source'"),
            # Of a layout that needs other code.
            ((np.zeros(4, np.int32)[::2], 3, result), hl.HalideError, "'source'"),
            ((good.astype(np.uint8), 3, result), hl.TypeMismatchError, "'source'"),
            ((good, 3, result.astype(np.int8)), hl.TypeMismatchError, "'result'"),
            ((good, 300, result), hl.LiteralError, "'gain'"),
            ((good, 30, result), hl.BoundsError, "'gain'"),
        ):
            with pytest.raises(kind) as caught:
                call(*args)
            assert message in caught.value.what
            assert "$" not in caught.value.what


def test_numbers_that_are_given_are_in_range() -> None:
    def ranged(lo: Any, hi: Any) -> type[hl.Generator]:
        class Ranged(hl.Generator):
            gain = hl.InputScalar(hl.Int(32))
            result = hl.OutputBuffer(hl.Int(32), 1)

            def generate(self) -> None:
                self.gain.set_range(lo, hi)
                self.result[x] = x * self.gain

        return Ranged

    assert np.asarray(ranged(0, 5).call(5).realize([2]))[1] == 5
    assert np.asarray(ranged(0, hl.i32(3) + 2).call(5).realize([2]))[1] == 5
    for lo, hi, message in (
        (0, 4, "is 5, above its maximum 4"),
        (6, 9, "is 5, below its minimum 6"),
        (0, hl.i32(2) + 2, "is 5, above its maximum 4"),
    ):
        with pytest.raises(hl.BoundsError, match=message):
            ranged(lo, hi).call(5)
    with pytest.raises(hl.DefinitionError, match="is no constant"):
        ranged(0, hl.Param(hl.Int(32), "most", 9)).call(5)
    given = hl.Param(hl.Int(32), "given", 5)
    f = ranged(0, 4).call(given)
    with pytest.raises(hl.BoundsError, match="above its maximum 4"):
        f.realize([2])


def test_the_target_decides_about_floats() -> None:
    """Strict code rounds products; the default may not."""

    class Fused(hl.Generator):
        a = hl.InputBuffer(float, 1)
        out = hl.OutputBuffer(float, 1)

        def generate(self) -> None:
            self.out[x] = self.a[x] * self.a[x] - self.a[x + 1]

    a = np.array([1 + 2**-12, 1 + 2**-11, 0], np.float32)
    found = np.zeros(1, np.float32)
    with hl.GeneratorContext(hl.Target("host-strict_float")):
        Fused().compile_to_callable()(a[:2], found)
    assert found[0] == a[0] * a[0] - a[1] == 0


def test_parameters_of_other_kinds() -> None:
    """What loses nothing is taken."""
    made = Soften({"radius": 3.0, "strength": True, "turn": 5})
    assert (made.radius, made.strength, made.turn) == (3, 1.0, "5")
    assert type(made.radius) is int and type(made.strength) is float


def test_parameters_as_text() -> None:
    made = Soften({"fast": "False", "strength": "1e1", "radius": "0x10"})
    assert (made.fast, made.strength, made.radius) == (False, 10.0, 16)
    made = Statistics({"kind": "int16", "weighted": 1})
    assert made.kind is hl.Int(16) and made.weighted is True


def test_members_in_the_order_of_the_classes() -> None:
    class Base(hl.Generator):
        first = hl.InputBuffer(hl.UInt(8), 2)
        second = hl.InputScalar(hl.UInt(8))
        out = hl.OutputBuffer(hl.UInt(8), 2)

        def generate(self) -> None:
            self.out[x, y] = self.first[x, y] + self.second

    class Derived(Base):
        second = hl.InputScalar(hl.UInt(16))
        out = hl.OutputBuffer(hl.UInt(16), 2)

    source = image(4, 5)
    found = np.zeros((4, 5), np.uint16)
    Derived().compile_to_callable()(source, 1000, found)
    np.testing.assert_array_equal(found, source + np.uint16(1000))


def test_input_after_output_is_warned_of() -> None:
    class Late(hl.Generator):
        out = hl.OutputBuffer(int, 1)
        late = hl.InputScalar(int)

        def generate(self) -> None:
            self.out[x] = x + self.late

    class Known(Late):
        def allow_out_of_order_inputs_and_outputs(self) -> bool:
            return True

    with pytest.warns(UserWarning, match="declares the input 'late' after the output"):
        Late().compile_to_callable()
    found = np.zeros(3, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Known().compile_to_callable()(7, found)
    assert found.tolist() == [7, 8, 9]


# What is refused.


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
        lambda: Statistics({"kind": "uint7"}),
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
