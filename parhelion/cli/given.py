"""What the command line gives to a pipeline: images, and values of its Params."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import parhelion as hl
from parhelion.cli.pictures import Array, fitted, is_array, read
from parhelion.cli.problem import Problem
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import needed
from parhelion.dataclass import dataclass

#: Words for the values of Bools.
WORDS = {
    "true": True,
    "yes": True,
    "on": True,
    "false": False,
    "no": False,
    "off": False,
}


def given_params(program: NamedPipeline, given: Sequence[str]) -> None:
    """Sets Params from words like ``levels=8``."""
    for word in given:
        if word in program.chosen:
            continue
        name, equals, text = word.partition("=")
        if not equals:
            raise Problem(f"--param {word}: write NAME=VALUE")
        param = program.params.get(name)
        if param is None:
            raise Problem(
                f"{program.name} has no Param {name!r}", legal=list(program.params)
            )
        param.set(_value(text, param.type(), name))


def check_params(program: NamedPipeline) -> None:
    """Raises Problem if a Param has no value yet."""
    for name in params_without_value(program):
        raise Problem(f"the Param {name!r} has no value", hint=f"say -p {name}=VALUE")


def params_without_value(program: NamedPipeline) -> list[str]:
    """The names of the Params that nothing gave a value."""
    return [name for name, p in program.params.items() if p.get() is None]


def _check_other(
    inputs: Collection[str], files: Sequence[str], output: str | None
) -> None:
    """Raises Problem if the output would take an input's place."""
    if output is None:
        return
    for word in files:
        name, equals, file = word.partition("=")
        path = Path(file if equals and name in inputs else word)
        if path.resolve() == Path(output).resolve():
            raise Problem(f"{output} is an input; the output would take its place")


def _value(text: str, t: hl.Type, name: str) -> int | float | bool:
    try:
        if t.is_bool():
            return WORDS[text.lower()] if text.lower() in WORDS else bool(int(text))
        return float(text) if t.is_float() else int(text, 0)
    except ValueError as error:
        raise Problem(f"{text!r} is no value for {name!r} of type {t}") from error


@dataclass
class Images:
    """The inputs' pixels by name. transparent: those of photographs with opacity that
    was left out, with it."""

    pixels: dict[str, Array] = field(default_factory=dict)
    transparent: dict[str, Array] = field(default_factory=dict)


def named_files(
    program: str,
    inputs: Collection[str],
    files: Sequence[str],
    output: str | None = None,
) -> dict[str, str]:
    """Which file is for which input of a program: those that are given as NAME=FILE,
    and then the others, in the order of the inputs that are left. output: the file to
    be written."""
    _check_other(inputs, files, output)
    places: dict[str, str] = {}
    rest: list[str] = []
    for word in files:
        name, equals, file = word.partition("=")
        if not (equals and name in inputs):
            rest.append(word)
            continue
        if name in places:
            raise Problem(f"{word}: the image for {name!r} is {places[name]} already")
        places[name] = file
    free = [name for name in inputs if name not in places]
    if len(rest) > len(free):
        raise Problem(
            f"{program} has {len(inputs)} inputs; {len(files)} files are given",
            legal=list(inputs),
        )
    places |= dict(zip(free, rest, strict=False))
    free = free[len(rest) :]
    if free:
        raise Problem(
            f"{program} needs an image for {', '.join(map(repr, free))}",
            hint="files are given in the order of the inputs, or as NAME=FILE"
            + (f"; the last one, {output}, is the output" if output else ""),
        )
    return places


def given_images(
    program: NamedPipeline, files: Sequence[str], output: str | None = None
) -> Images:
    """The inputs' images, from files: see `named_files`."""
    places = named_files(program.name, program.inputs, files, output)
    return load_images(program, {n: loaded(Path(p)) for n, p in places.items()})


def loaded(path: Path) -> tuple[Array, bool]:
    """The pixels of a file, and whether it is a photograph, whose last plane may be
    opacity."""
    return read(path), not is_array(path)


def load_images(
    program: NamedPipeline, given: Mapping[str, tuple[Array, bool]]
) -> Images:
    """Gives each input its pixels, of its type; see `loaded`."""
    images = Images()
    for name, param in program.inputs.items():
        pixels, photo = given[name]
        images.pixels[name] = fitted(pixels, param, name, opacity=photo)
        param.set(hl.Buffer(images.pixels[name]))
        if photo and param.dimensions() == 3 == len(images.pixels[name]):
            if pixels.ndim == 3 and len(pixels) == 4:
                images.transparent[name] = fitted(pixels, param, name)
    return images


def restore_opacity(
    program: NamedPipeline, images: Images, extents: Sequence[int]
) -> None:
    """Gives inputs their opacity back, as a fourth plane, where outputs of these
    extents use it. Call it when the pipeline is scheduled, as `region.covered`."""
    if not images.transparent:
        return
    asked = needed(program, images.pixels, [0] * len(extents), extents)
    for name, pixels in images.transparent.items():
        if asked[name].dim(2).max() == len(pixels) - 1:
            images.pixels[name] = pixels
            program.inputs[name].set(hl.Buffer(pixels))


__all__ = [
    "WORDS",
    "Images",
    "check_params",
    "given_images",
    "given_params",
    "load_images",
    "loaded",
    "named_files",
    "params_without_value",
    "restore_opacity",
]
