"""``parhelion bench --against``: other functions of the same pictures, measured beside
the pipeline, one run of each in turn."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from parhelion.cli.problem import Problem, running
from parhelion.cli.programs import NamedPipeline
from parhelion.dataclass import dataclass

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: Modules that an expression may name.
_MODULES = ("cv2", "np", "scipy.ndimage", "skimage")


@dataclass(frozen=True)
class Rival:
    """Another way to compute the output, as a function without arguments."""

    name: str
    run: Callable[[], Any]


def rival_of(program: NamedPipeline, against: str, threads: int) -> Rival:
    """The rival of a pipeline, which gets its images in OpenCV's order; see `rival`."""
    arrays: dict[str, Any] = {
        name: as_opencv(np.asarray(p.get())) for name, p in program.inputs.items()
    }
    values = {name: p.get() for name, p in program.params.items()}
    return rival(program.name, arrays, values, program.rivals, against, threads)


def rival(
    name: str,
    arrays: Mapping[str, Any],
    values: Mapping[str, Any],
    rivals: Mapping[str, Callable[..., Any]],
    against: str,
    threads: int,
) -> Rival:
    """The rival of a name in `rivals`, the file's table AGAINST, or of an expression.

    It gets the inputs as arrays of OpenCV's order, (H, W) or (H, W, C), by their names,
    and the values of Params. Raises Problem if there is none for the program `name`.
    """
    if "cv2" in against or against in rivals:
        _limit(threads)
    if against in rivals:
        function = rivals[against]
        given = {**arrays, **values}
        names = _wanted(function, given)
        return Rival(against, lambda: function(**{n: given[n] for n in names}))
    if "(" not in against:
        first = next(iter(arrays), "image")
        module, table = ("cv2", "'cv2'")
        if against.isidentifier():
            module, table = against, repr(against)
        raise Problem(
            f"{name} has no rival {against!r}",
            legal=list(rivals),
            hint=f'give an expression, as --against "{module}.GaussianBlur({first},'
            f' (5, 5), 1.5)", or a table in the file: AGAINST = {{{table}: function}}',
        )
    scope = {**_modules(against), **arrays, **values}
    code = compile(against, "--against", "eval")
    return Rival(against, lambda: eval(code, scope))


def as_opencv(pixels: Array) -> Array:
    """A planar image with its channels last, dense."""
    if pixels.ndim == 3:
        pixels = np.moveaxis(pixels, 0, 2)
    return np.ascontiguousarray(pixels)


def _wanted(function: Callable[..., Any], given: Mapping[str, Any]) -> list[str]:
    import inspect

    names = list(inspect.signature(function).parameters)
    unknown = [n for n in names if n not in given]
    if unknown:
        raise Problem(
            f"the rival takes {', '.join(map(repr, unknown))}, which the pipeline has"
            " not",
            legal=list(given),
        )
    return names


def _limit(threads: int) -> None:
    """Gives OpenCV as many threads as the pipeline has."""
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError as error:
        raise Problem(
            "OpenCV is not installed", hint="pip install opencv-python-headless"
        ) from error
    cv2.setNumThreads(threads)


def _modules(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"np": np}
    for name in _MODULES:
        top = name.partition(".")[0]
        if f"{top}." in text and top != "np":
            try:
                importlib.import_module(name)
            except ImportError as error:
                raise Problem(f"{name} is not installed: {error}") from error
            found[top] = importlib.import_module(top)
    return found


def first(one: Rival) -> Array:
    """What a rival computes. Raises Problem for whatever it raises."""
    from pathlib import Path

    with running(Path(one.name)):
        return np.asarray(one.run())


def seconds(run: Callable[[], Any]) -> float:
    """How long one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def difference(ours: Array, theirs: Array) -> str:
    """How far two results are from each other, in words."""
    if theirs.shape != ours.shape:
        return f"results of shapes {ours.shape} and {theirs.shape} are not compared"
    apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
    if not apart.size or not apart.max():
        return "the results are equal"
    return (
        f"the results differ by {apart.max():g} at most, {apart.mean():.3g} on average,"
        f" at {100 * np.mean(apart > 0):.1f} % of the values"
    )


__all__ = ["Rival", "as_opencv", "difference", "first", "rival", "rival_of", "seconds"]
