"""What `hl.stream` is given: which image is the video, its axes, and other inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from parhelion.errors import DefinitionError, TypeMismatchError, UnsetParamError, here
from parhelion.ir.bindings import SET
from parhelion.ir.function import Function
from parhelion.ir.names import by_call, shown_names
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import checked_value
from parhelion.lang.pipeline import Pipeline

#: Names of dimensions, innermost first, in ``axes=``.
LETTERS = "xyczw"
#: What imageio, PyAV and OpenCV give.
_USUAL = {1: "x", 2: "yx", 3: "yxc"}


class Values:
    """The values of a pipeline's inputs but its video: those given by name, which may
    change between frames, and else those that are set."""

    def __init__(self, given: Mapping[str, object], symbols: Sequence[Any]) -> None:
        own = {s.name: s for s in symbols}
        self.by_name = {call: own[name] for call, name in by_call(own).items()}
        self.shown = shown_names(own)
        self.own: dict[BufferSym | ParamSym, object] = {}
        self.set(given)

    def set(self, given: Mapping[str, object]) -> None:
        """Changes some. Raises TypeMismatchError for names that there are not, and
        values that do not fit."""
        found: dict[BufferSym | ParamSym, object] = {}
        for name, value in given.items():
            symbol = self.by_name.get(name)
            if symbol is None:
                raise TypeMismatchError(
                    f"{name!r} is no input of the pipeline",
                    at=here(),
                    legal=sorted(self.shown.values()),
                )
            if isinstance(symbol, ParamSym):
                found[symbol] = checked_value(value, symbol.type, name)
            else:
                found[symbol] = value if isinstance(value, Buffer) else Buffer(value)
        self.own |= found

    def of(self, symbol: BufferSym | ParamSym) -> object:
        """What an input stands for now. Raises UnsetParamError if nothing."""
        value = self.own.get(symbol)
        value = SET.of(symbol) if value is None else value
        if value is None:
            raise UnsetParamError(
                f"{symbol.name!r} has no value",
                at=here(),
                hint=f"give hl.stream(…, {self.shown[symbol.name]}=…), or set it",
            )
        return value


def video_of(pipeline: Pipeline, image: ImageParam | str | None) -> BufferSym:
    """The ImageParam that frames are given for: the one named, or the only one that has
    no image. Raises DefinitionError if that is not one."""
    pipeline._ready()
    found = [s for s in pipeline._runner.reach.images if not s.embedded]
    if image is not None:
        name = image.name() if isinstance(image, ImageParam) else image
        own = {s.name: s for s in found}
        called = by_call(own).get(name)
        if called is not None:
            return own[called]
        raise DefinitionError(
            f"the pipeline reads no ImageParam {name!r}",
            at=here(),
            legal=[s.name for s in found],
        )
    free = found if len(found) == 1 else [s for s in found if SET.of(s) is None]
    if len(free) != 1:
        names = ", ".join(sorted([s.name for s in found])) or "none"
        raise DefinitionError(
            "a stream gives its frames to one ImageParam, and which one is not known:"
            f" of {names}, {len(free)} have no image",
            at=here(),
            hint="image= says which one it is",
        )
    return free[0]


def time_of(f: Function, time: str) -> int:
    """The dimension of an output that is called `time`. Raises DefinitionError if there
    is none."""
    for d, v in enumerate(f.args):
        if v.name == time:
            return d
    raise DefinitionError(
        f"Func {f.label!r} has no dimension {time!r}",
        at=f.site or here(),
        legal=[v.name for v in f.args],
        hint="time= is the name of the Var that counts frames",
    )


def letters(rank: int, axes: str | None) -> str:
    """The axes of a frame, outermost first: as given, or as is usual."""
    usual = _USUAL.get(rank)
    if axes is None and usual is not None:
        return usual
    named = LETTERS[:rank]
    if axes is None or sorted(axes) != sorted(named):
        raise TypeMismatchError(
            f"axes= names the {rank} axes of a frame, outermost first, and not"
            f" {axes!r}",
            at=here(),
            hint=f"{named!r} are the dimensions of the image, innermost first",
        )
    return axes


def places(axes: str, dims: Sequence[int]) -> list[int]:
    """The dimension of each axis. dims: those of the image without time."""
    return [dims[LETTERS.index(a)] for a in axes]


def output_shape(
    f: Function, rank: int, axes: str, frame: Sequence[int], shape: Sequence[int] | None
) -> tuple[str, tuple[int, ...]]:
    """The axes and the shape of an output's frames, of `rank` axes."""
    named = LETTERS[:rank]
    if set(named) <= set(axes):
        own = "".join([a for a in axes if a in named])
    else:
        own = letters(rank, None)
    if shape is not None:
        if len(shape) != rank:
            raise TypeMismatchError(
                f"shape= has {len(shape)} numbers, and a frame of Func {f.label!r}"
                f" has {rank} axes, {own}",
                at=here(),
            )
        return own, tuple([int(n) for n in shape])
    if not set(named) <= set(axes):
        raise TypeMismatchError(
            f"Func {f.label!r} has more dimensions than the frames, {axes}: its size"
            " is not known",
            at=here(),
            hint=f"shape= gives it, in the order {own}",
        )
    return own, tuple([frame[axes.index(a)] for a in own])


__all__ = ["Values", "letters", "output_shape", "places", "time_of", "video_of"]
