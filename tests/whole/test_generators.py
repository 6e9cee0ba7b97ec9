"""Generators of functions under `hl.jit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import parhelion as hl
from tests.generator.test_extension import linked, loaded

PHOTO = np.random.default_rng(5).integers(0, 256, (24, 40, 3), np.uint8)


@hl.jit
def sharpen(
    image: Annotated[hl.Array, "yxc"], amount: float = 1.5, step: str = "x"
) -> hl.Array:
    """Sharpens along an axis."""
    wide = image.astype("float32")
    blur = (wide.shift(1, step) + wide + wide.shift(-1, step)) / 3
    return hl.clip(wide + amount * (wide - blur), 0, 255).astype(image.dtype)


@hl.jit
def shares(image: hl.Array, other: hl.Array, gain: int) -> tuple[hl.Array, ...]:
    return image[::2] + gain * other[1::2], (image * 1.0).mean()


def test_it_computes_what_calls_compute() -> None:
    made = sharpen.generator(np.empty((240, 400, 3), np.uint8), name="sharpen_one")
    assert made.__doc__ == "Sharpens along an axis."
    run = hl.create_callable_from_generator(hl.get_host_target(), "sharpen_one")
    for amount in (1.5, 0.25):
        result = np.zeros_like(PHOTO)
        # As in an extension, dimensions are those of the Funcs: x, y and c.
        run(PHOTO.transpose(2, 0, 1), amount, result.transpose(2, 0, 1))
        assert np.array_equal(result, sharpen(PHOTO, amount))


def test_what_is_no_data_is_part_of_it() -> None:
    made = sharpen.generator(PHOTO, step="y", name="sharpen_down")
    result = np.zeros_like(PHOTO)
    made().compile_to_callable()(
        image=PHOTO.transpose(2, 0, 1),
        amount=2.0,
        sharpen_down=result.transpose(2, 0, 1),
    )
    assert np.array_equal(result, sharpen(PHOTO, 2.0, "y"))


@pytest.mark.parametrize("scheduler", ["", "Mullapudi2016"])
def test_several_results_have_numbers(scheduler: str) -> None:
    a, b = np.arange(60, dtype=np.int16).reshape(6, 10), np.ones((6, 10), np.int16)
    name = f"shares{scheduler}"
    made = shares.generator(a, b, 3, name=name)
    params = {"autoscheduler": scheduler} if scheduler else {}
    sums, mean = np.zeros((3, 10), np.int16), np.zeros((), np.float32)
    results = {f"{name}_0": sums, f"{name}_1": mean}
    made(params).compile_to_callable()(image=a, other=b, gain=3, **results)
    expected = shares(a, b, 3)
    assert np.array_equal(sums, expected[0])
    assert mean == expected[1]


@linked
def test_it_becomes_a_python_module(tmp_path: Path) -> None:
    made = sharpen.generator(PHOTO, name="sharpen_built")
    hl.build_extension(made, tmp_path)
    module: Any = loaded(tmp_path / "sharpen_built.abi3.so")
    result = np.zeros_like(PHOTO)
    module.sharpen_built(PHOTO.transpose(2, 0, 1), 1.5, result.transpose(2, 0, 1))
    assert np.array_equal(result, sharpen(PHOTO))


def test_a_schedule_of_its_own_is_used() -> None:
    told: list[hl.Pipeline] = []
    scheduled = hl.jit(lambda image: image + image.shift(1, 0), schedule=told.append)
    made = scheduled.generator(np.zeros((4, 4)), name="scheduled_twice")
    made().compile_to_callable()
    assert len(told) == 1


def test_names_that_it_cannot_have() -> None:
    with pytest.raises(hl.DefinitionError, match="'<lambda>' cannot be the name"):
        hl.jit(lambda image: image).generator(PHOTO)
    with pytest.raises(hl.TypeMismatchError, match="'image' is an argument"):
        hl.jit(lambda image: image).generator(PHOTO, name="image")
    with pytest.raises(hl.TypeMismatchError, match=r"the argument 'image' .*missing"):
        sharpen.generator(name="nothing")
    taken = hl.jit(lambda target: target + 1).generator(PHOTO, name="taken_name")
    with pytest.raises(hl.DefinitionError, match="'target', which is a method"):
        taken().compile_to_callable()
