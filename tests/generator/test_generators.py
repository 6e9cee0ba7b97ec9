"""Generators in this process: what they declare and what they build."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.generator.filters import Outline, Soften, Statistics
from tests.generator.support import HEIGHT, WIDTH, generator_of, image, interpreted

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
    extra: dict[str, dict[str, object]]
    extra = {"mirrored": {"turn": "half", "strength": 3.0}, "plain": {"fast": False}}
    (exact,) = interpreted(
        Soften,
        {**extra.get(name, {}), **params},
        {"image": source, "lift": 9},
        (WIDTH, HEIGHT),
    )
    calls: list[Callable[[object], object]] = [
        lambda out: compiled(source, 9, out),
        lambda out: compiled(output=out, lift=9, image=source),
    ]
    for call in calls:
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
        statistics = generator_of(Statistics)
        exact = interpreted(statistics, params, inputs, (WIDTH, HEIGHT), ())
        with hl.GeneratorContext(HOST):
            compiled = statistics(params).compile_to_callable()
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
    other: Any = generator_of(Statistics)({"kind": "int16", "weighted": 1})
    assert other.kind is hl.Int(16) and other.weighted is True


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
