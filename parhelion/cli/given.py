"""What the command line gives to a pipeline: images, and values of its Params."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import parhelion as hl
from parhelion.cli.pictures import Array, fitted, read
from parhelion.cli.problem import Problem
from parhelion.cli.programs import Program

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False}


def given_params(program: Program, given: Sequence[str]) -> None:
    """Sets Params from words like ``levels=8``."""
    for word in given:
        name, equals, text = word.partition("=")
        if not equals:
            raise Problem(f"--param {word}: write NAME=VALUE")
        param = program.params.get(name)
        if param is None:
            raise Problem(
                f"{program.name} has no Param {name!r}", legal=list(program.params)
            )
        param.set(_value(text, param.type(), name))


def _value(text: str, t: hl.Type, name: str) -> int | float | bool:
    try:
        if t.is_bool():
            return _WORDS[text.lower()] if text.lower() in _WORDS else bool(int(text))
        return float(text) if t.is_float() else int(text, 0)
    except ValueError as error:
        raise Problem(f"{text!r} is no value for {name!r} of type {t}") from error


def given_images(program: Program, files: Sequence[str]) -> dict[str, Array]:
    """The inputs' pixels: files in the order of the inputs, or NAME=FILE."""
    found: dict[str, Array] = {}
    free = list(program.inputs)
    for word in files:
        name, equals, file = word.partition("=")
        if not (equals and name in program.inputs):
            if not free:
                raise Problem(
                    f"{program.name} has {len(program.inputs)} inputs; "
                    f"{len(files)} files are given",
                    legal=list(program.inputs),
                )
            name, file = free[0], word
        free.remove(name)
        found[name] = fitted(read(Path(file)), program.inputs[name], name)
    if free:
        raise Problem(
            f"{program.name} needs an image for {', '.join(map(repr, free))}",
            hint="files are given in the order of the inputs, or as NAME=FILE",
        )
    for name, pixels in found.items():
        program.inputs[name].set(hl.Buffer(pixels))
    return found


__all__ = ["given_images", "given_params"]
