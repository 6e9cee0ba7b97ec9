"""``parhelion forma run``, ``dag`` and ``emit``: programs on image files, as pictures,
as C."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from parhelion.cli.pictures import (
    Array,
    check_held,
    check_written,
    fitted,
    is_array,
    levels,
    read,
    size_of,
    write,
)
from parhelion.cli.problem import Problem, note

if TYPE_CHECKING:
    from parhelion.forma.program import Program
    from parhelion.forma.stages import Input

_file = click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
_scheduler = click.option(
    "--scheduler",
    default="Strips",
    show_default=True,
    metavar="NAME",
    help="How it is computed: by Strips, Forma or a scheduler of hl.autoschedule.",
)


@click.command()
@_file
@click.argument("files", nargs=-1, metavar="[INPUT…]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, metavar="OUTPUT"
)
@click.option(
    "-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter."
)
@_scheduler
def run(
    file: Path,
    files: tuple[str, ...],
    output: Path,
    params: tuple[str, ...],
    scheduler: str,
) -> None:
    """Run a program on image files.

    Inputs are PNG, JPEG, TIFF or .npy files, in the order of the program's inputs or as
    NAME=FILE. Levels of images are 0 to 255 for int16 and int, 0 to 127 for int8 and
    0 to 1 for float and double, which holds for results, too; .npy files are taken and
    written as they are. The fields of a struct are the colours. Several results are
    written to as many files, out_NAME.png of each one's name for out.png.
    """
    from parhelion import forma

    begin = time.perf_counter()
    check_written(output)
    program = forma.compile(file, scheduler=scheduler)
    arguments: dict[str, object] = {**_images(program, files, output)}
    arguments.update(_numbers(program, params))
    ready = time.perf_counter()
    results = program(**arguments)  # type: ignore[arg-type]
    computed = time.perf_counter()
    arrays = results if isinstance(results, tuple) else (results,)
    for path, name, array in _placed(program, output, arrays):
        pixels = array if is_array(path) else _planar(path, name, array)
        check_held(path, name, pixels)
        write(path, pixels)
        click.echo(
            f"{path}: {size_of(pixels)}, ready in {ready - begin:.2f} s, computed in "
            f"{1e3 * (computed - ready):.1f} ms"
        )


def _images(program: Program, files: tuple[str, ...], output: Path) -> dict[str, Array]:
    """The inputs, by their names."""
    inputs = {one.name: one for one in program.graph.inputs}
    places: dict[str, str] = {}
    rest = []
    for word in files:
        name, equals, path = word.partition("=")
        if equals and name in inputs:
            places[name] = path
        else:
            rest.append(word)
    free = [name for name in inputs if name not in places]
    if len(rest) != len(free):
        raise Problem(
            f"{program.name} has {_counted(len(inputs), 'input')}, and "
            f"{_counted(len(files), 'file')} are given".replace("1 file are", "1 is"),
            legal=list(inputs),
        )
    places |= dict(zip(free, rest, strict=True))
    for path in places.values():
        if Path(path).resolve() == output.resolve():
            raise Problem(f"{output} is an input; the output would take its place")
    return {name: _image(one, Path(places[name])) for name, one in inputs.items()}


def _image(stage: Input, path: Path) -> Array:
    """The pixels of a file as an input takes them."""
    import parhelion as hl
    from parhelion.forma.images import has_channels, scalars_of
    from parhelion.forma.reference import dtype_of
    from parhelion.forma.types import Scalar, Struct

    kind = stage.types[0]
    pixels = read(path)
    if is_array(path):
        return pixels
    channels = len(scalars_of(kind)) if has_channels(kind) else 0
    if isinstance(kind, Struct) and not channels:
        raise Problem(
            f"an image file has no structs of several types, as '{stage.name}' is",
            hint="give a structured array in a .npy file",
        )
    scalar = scalars_of(kind)[0]
    type = hl.UInt(8)
    if scalar.is_float or scalar is Scalar.INT8:
        type = scalar.pixel
    wanted = hl.ImageParam(type, stage.dimensions + (1 if channels else 0))
    if channels:
        wanted.dim(stage.dimensions).set_bounds(0, channels)
    pixels = fitted(pixels, wanted, stage.name, opacity=True)
    if channels:
        if len(pixels) != channels:
            raise Problem(
                f"{path} has {len(pixels)} colours, and '{stage.name}' {channels}"
            )
        pixels = np.moveaxis(pixels, 0, -1)
    return np.ascontiguousarray(pixels, dtype_of(scalar))


def _numbers(program: Program, words: tuple[str, ...]) -> dict[str, int | float]:
    """Parameters from words like ``gain=1.5``."""
    types = {one.name: one.type for one in program.graph.parameters}
    found: dict[str, int | float] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise Problem(f"--param {word}: write NAME=VALUE")
        if name not in types:
            raise Problem(f"there is no parameter '{name}'", legal=list(types))
        try:
            found[name] = float(text) if types[name].is_float else int(text, 0)
        except ValueError as error:
            raise Problem(
                f"{text!r} is no value for '{name}' of type {types[name]}"
            ) from error
    return found


def _placed(
    program: Program, output: Path, arrays: tuple[Array, ...]
) -> list[tuple[Path, str, Array]]:
    """Which result goes to which file, and their names: one alone to what is named."""
    names = [one.name for one in program.graph.outputs]
    if len(names) == 1:
        return [(output, names[0], arrays[0])]
    paths = [output.with_name(f"{output.stem}_{one}{output.suffix}") for one in names]
    return list(zip(paths, names, arrays, strict=True))


def _planar(path: Path, name: str, array: Array) -> Array:
    """A result as the planes of an image."""
    import parhelion as hl

    if array.dtype.names is not None:
        dtypes = {array.dtype[one] for one in array.dtype.names}
        if len(dtypes) > 1:
            raise Problem(
                f"an image file cannot hold '{name}', structs of several types",
                hint="write it to a .npy file",
            )
        array = np.stack([array[one] for one in array.dtype.names])
    elif array.ndim == 3 and array.shape[-1] <= 4:
        array = np.moveaxis(array, -1, 0)
    if array.dtype == np.int8:
        return levels(np.maximum(array, 0), hl.UInt(8))
    if array.dtype.kind != "i":
        return array
    outside = float(np.mean((array < 0) | (array > 255)))
    if outside > 0:
        note(
            f"{path}: {100 * outside:.0f} % of '{name}' is outside 0 to 255, and was "
            "clipped\n  hint: write it to a .npy file, which keeps all values"
        )
    return np.clip(array, 0, 255).astype(np.uint8)


@click.command()
@_file
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    help="An SVG file to draw both graphs to.",
)
def dag(file: Path, output: Path | None) -> None:
    """Show the stages of a program, before fusion and after it, and what is computed in
    lines of what."""
    from parhelion.forma.check import check_file
    from parhelion.forma.fuse import fuse
    from parhelion.forma.strips import strips
    from parhelion.views.forma_graph import picture, text

    graph = check_file(file)
    fusion = fuse(graph)
    click.echo(text(graph, fusion))
    click.echo("computed:")
    click.echo(
        "\n".join([f"  {line}" for line in str(strips(graph, fusion)).split("\n")])
    )
    if output is not None:
        output.write_text(picture(graph, fusion), encoding="utf-8")
        click.echo(f"{output}: {output.stat().st_size} bytes")


@click.command()
@_file
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="SOURCE",
    help="The file; the header is beside it. [default: the program's name and .c]",
)
@click.option("--name", help="The function's. [default: that of the file]")
@click.option("--textures", is_flag=True, help="Read through texture units (CUDA).")
def emit(file: Path, output: Path | None, name: str | None, textures: bool) -> None:
    """Write a program as C with OpenMP, and its header; as CUDA C for a SOURCE that
    ends with .cu."""
    from parhelion import forma

    source = output or Path(f"{file.stem}.c")
    if source.suffix == ".cu":
        forma.compile(file).compile_to_cuda(source, name, textures=textures)
    elif textures:
        raise Problem(
            f"{source} is a file of C, which has no textures",
            hint="write CUDA: -o NAME.cu",
        )
    else:
        forma.compile(file).compile_to_c(source, name)
    header = source.with_name(f"{name or source.stem}.h")
    for path in (source, header):
        click.echo(f"{path}: {path.stat().st_size} bytes")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


__all__ = ["dag", "emit", "run"]
