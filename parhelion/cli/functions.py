"""Functions under `hl.jit` on the command line: FILE:NAME for what has no pipeline
before it is given arrays."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.cli.given import WORDS, loaded, named_files
from parhelion.cli.pictures import Array, fitted
from parhelion.cli.problem import Problem, running
from parhelion.cli.programs import (
    NamedPipeline,
    choose,
    imported,
    program_of,
    rivals_of,
    split,
)
from parhelion.dataclass import dataclass
from parhelion.whole.declared import MISSING, Declared

#: Channels of pictures; what has more in its last axis is no picture.
_MOST_CHANNELS = 4


@dataclass
class NamedFunction:
    """A function under `hl.jit` out of a file.

    images: the names of the arguments that files must be for; others: of those that
    files may be for, by their names. values: what `-p` gave to
    others. rivals: the file's table AGAINST. arrays: the images, in NumPy's order,
    once they are read. seconds: what all runs in `run` but the first took.
    """

    name: str
    path: Path
    function: hl.Jitted[Any]
    images: tuple[str, ...]
    others: tuple[str, ...]
    values: Mapping[str, object]
    rivals: Mapping[str, Any]
    arrays: dict[str, Array] = field(default_factory=dict)
    seconds: float = 0.0
    _runs: int = 0

    def inputs(self, words: Sequence[str]) -> list[str]:
        """The arguments that words are files for: the others must be named in them."""
        named = {word.partition("=")[0] for word in words if "=" in word}
        return [*self.images, *[n for n in self.others if n in named]]

    def give(self, files: Sequence[str], output: str | None = None) -> None:
        """Reads the images from files; see `named_files`."""
        inputs = self.inputs(files)
        for name, word in named_files(self.name, inputs, files, output).items():
            self.take(name, *loaded(Path(word)))

    def take(self, name: str, pixels: Array, photo: bool) -> None:
        """Gives an argument the pixels of a file; `photo`: planar, maybe with
        opacity."""
        (declared,) = [d for d in self.function._declared if d.name == name]
        axes = None if declared.axes is None else len(declared.axes)
        self.arrays[name] = _natural(pixels, axes, name) if photo else pixels

    def call(self) -> dict[str, Array]:
        """The results by name, in NumPy's order."""
        with running(self.path):
            found = self.function(**self.arrays, **self.values)
        if not isinstance(found, tuple):
            return {self.name: np.asarray(found)}
        return {f"{self.name}_{i}": np.asarray(one) for i, one in enumerate(found)}

    def autoschedule(self) -> AutoSchedulerResults:
        """The automatic scheduler's answer for the images that are given."""
        with running(self.path):
            return self.function.autoschedule(**self.arrays, **self.values)

    def pipeline(self) -> NamedPipeline:
        """The pipeline that calls with these images run, with its schedule."""
        with running(self.path):
            found = self.function.pipeline(**self.arrays, **self.values)
        return NamedPipeline(self.name, found, found.outputs()[0], {}, {})

    def run(self, name: str, pixels: Array, photo: bool) -> dict[str, Array]:
        """The results for one more picture, planar: see `many.Runs`."""
        self.take(name, pixels, photo)
        start = time.perf_counter()
        found = self.call()
        if self._runs:
            self.seconds += time.perf_counter() - start
        self._runs += 1
        return {n: planar(one) for n, one in found.items()}


def load_either(
    place: str,
    schedule: str | None = None,
    params: Sequence[str] = (),
    told: Mapping[str, object] | None = None,
) -> NamedPipeline | NamedFunction:
    """What FILE or FILE:NAME means: a pipeline, as `programs.load` says, or a function
    under `hl.jit`, with the values that words NAME=VALUE give to its arguments.

    told: options that say something of a pipeline's size or schedule, by their names.
    Raises Problem as `load` does, for words that fit no argument, and for options that
    a function has no use for, as its arrays and its own schedule decide.
    """
    path, wanted = split(place)
    module = imported(path)
    name, found = choose(module, path, wanted)
    if not isinstance(found, hl.Jitted):
        return program_of(module, path, wanted, schedule, params)
    for option, value in {**(told or {}), "--schedule": schedule}.items():
        if value is not None:
            raise Problem(
                f"{option} {value}: {name} is a function of arrays, whose sizes and"
                " schedule follow from what it is given",
                hint="hl.jit(schedule=…) gives it another schedule",
            )
    values = _values(name, found._declared, params)
    images = tuple([d.name for d in found._declared if _is_image(d, values)])
    others = [d.name for d in found._declared if d.default is None]
    rivals = rivals_of(module)
    return NamedFunction(name, path, found, images, tuple(others), values, rivals)


def _is_image(declared: Declared, values: Mapping[str, object]) -> bool:
    """Whether a file is for an argument: one that must be given, and is no number."""
    known = declared.name in values or declared.default is not MISSING
    return not known and not declared.static and declared.number is None


def _values(
    name: str, declared: Sequence[Declared], words: Sequence[str]
) -> dict[str, object]:
    """The values that words NAME=VALUE give to arguments."""
    by_name = {d.name: d for d in declared if d.axes is None}
    found: dict[str, object] = {}
    for word in words:
        known, equals, text = word.partition("=")
        if not equals:
            raise Problem(f"--param {word}: write NAME=VALUE")
        if known not in by_name:
            raise Problem(
                f"{name} has no argument {known!r} for a value", legal=list(by_name)
            )
        found[known] = _value(text, by_name[known])
    missing = [
        d.name
        for d in declared
        if d.default is MISSING and d.name not in found and (d.static or d.number)
    ]
    for one in missing:
        raise Problem(
            f"the argument {one!r} of {name} has no value", hint=f"say -p {one}=VALUE"
        )
    return found


def _value(text: str, declared: Declared) -> object:
    """A word as a value of the class of an argument's default; without one, as the
    number or the Bool that it is, or as it stands."""
    default = None if declared.default is MISSING else declared.default
    kind = float if declared.number is float else type(default)
    if kind is str:
        return text
    word = WORDS.get(text.lower())
    if kind is bool and word is None:
        raise Problem(f"{text!r} is no value for {declared.name!r}", legal=list(WORDS))
    if word is not None and kind in (bool, type(None)):
        return word
    for parse in _PARSERS.get(kind, (_integer, float)):
        try:
            return parse(text)
        except ValueError:
            continue
    if default is None:
        return text
    raise Problem(f"{text!r} is no value for {declared.name!r}, which is {default!r}")


def _integer(text: str) -> int:
    return int(text, 0)


#: How the words for arguments are read whose defaults are numbers.
_PARSERS: dict[type, tuple[Callable[[str], float], ...]] = {
    int: (_integer,),
    float: (float,),
}


def _natural(pixels: Array, axes: int | None, name: str) -> Array:
    """A photograph, planar, as an array of shape (H, W) or (H, W, C), without opacity.

    axes: how many the argument has, None if it takes any number: of two, colours
    become grey; of three, grey becomes three equal channels.
    """
    rank = pixels.ndim if axes is None else axes
    if axes is None and pixels.ndim == 3 and len(pixels) == 2:
        rank = 2  # grey, and its opacity
    param = hl.ImageParam(hl.Type.from_numpy(pixels.dtype), rank, name)
    planes = fitted(pixels, param, name, opacity=True)
    if planes.ndim != 3:
        return np.ascontiguousarray(planes)
    return np.ascontiguousarray(np.moveaxis(planes, 0, 2))


def planar(pixels: Array) -> Array:
    """A result as image files take it: channels first, if its last axis are such."""
    if pixels.ndim == 3 and pixels.shape[2] <= _MOST_CHANNELS:
        return np.moveaxis(pixels, 2, 0)
    return pixels


__all__ = ["NamedFunction", "load_either", "planar"]
