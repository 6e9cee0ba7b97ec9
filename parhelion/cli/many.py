"""Many pictures through one pipeline: folders, patterns of names, and videos."""

from __future__ import annotations

import glob
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import click
import numpy as np

import parhelion as hl
from parhelion.cli.given import (
    Images,
    load_images,
    loaded,
    named_files,
    restore_opacity,
)
from parhelion.cli.pictures import (
    WRITTEN,
    check_held,
    size_of,
    write,
)
from parhelion.cli.problem import Problem, note
from parhelion.cli.programs import NamedPipeline
from parhelion.cli.region import covered, destination, pictures
from parhelion.cli.video import Frames, is_video, moves, writing
from parhelion.dataclass import dataclass

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

#: What is read from folders.
_READ = (*WRITTEN, ".jp2", ".bmp", ".gif", ".webp", ".ppm", ".pgm")
_WILD = "*?["


@dataclass(frozen=True)
class Source:
    """An input that stands for many pictures: the files of a folder or of a pattern, or
    the frames of a video."""

    word: str
    files: tuple[Path, ...] = ()
    video: Frames | None = None

    def __iter__(self) -> Iterator[tuple[str, Callable[[], tuple[Array, bool]]]]:
        """The pictures, each with a name, as functions that read them: pixels, and
        whether the last of four planes is opacity."""
        if self.video is not None:
            for k, frame in enumerate(self.video):
                yield f"frame_{k:05}", partial(_given, frame)
        for path in self.files:
            yield path.stem, partial(loaded, path)


def _given(frame: Array) -> tuple[Array, bool]:
    return frame, False


def source_of(word: str, output: Path) -> Source | None:
    """The many pictures that an input's word means, if it does. Raises Problem for a
    folder or pattern without any."""
    path = Path(word)
    if path.is_dir():
        files = [p for p in path.iterdir() if p.suffix.lower() in _READ]
        if not files:
            raise Problem(f"the folder {word!r} has no picture")
    elif any(c in word for c in _WILD) and not path.exists():
        files = [Path(p) for p in glob.glob(word, recursive=True)]
        files = [p for p in files if p.is_file()]
        if not files:
            raise Problem(f"no file is called as {word!r} says")
    elif moves(path) or (is_video(path) and is_many(output)):
        return Source(word, video=Frames(path))
    else:
        return None
    return Source(word, tuple(sorted(files)))


def is_many(output: Path) -> bool:
    """Whether an output is a folder or a video."""
    return is_video(output) or output.is_dir() or not output.suffix


def find_source(
    program: str, inputs: Collection[str], words: Sequence[str], output: str
) -> tuple[str, Source] | None:
    """Which input of a program is given many pictures.

    Raises Problem if several are, or if the output is a single file.
    """
    found = {
        name: source
        for name, word in named_files(program, inputs, words, output).items()
        if (source := source_of(word, Path(output))) is not None
    }
    if not found:
        if is_video(Path(output)):
            raise Problem(
                f"{output} is a video, which takes one, a folder or a pattern of names",
                hint="a single picture goes to a .png or .jpg file",
            )
        return None
    if len(found) > 1:
        raise Problem(f"only one input may be many pictures, not {', '.join(found)}")
    if not is_many(Path(output)):
        raise Problem(
            f"{output} is one file, and the input many pictures",
            hint="name a folder, or a video as out.mp4",
        )
    return next(iter(found.items()))


class Runs(Protocol):
    """What is run on one picture after the other. seconds: what all runs but the first
    took."""

    @property
    def name(self) -> str: ...

    @property
    def seconds(self) -> float: ...

    def run(self, name: str, pixels: Array, photo: bool) -> dict[str, Array]:
        """The outputs for one more picture, planar; `name` is the input's."""


class Batch:
    """A pipeline that is run on one picture after the other.

    others: the inputs that stay, loaded. prepare: schedules the pipeline for the first
    pictures, and returns the extents of its outputs; `fixed` says that they are for
    all.
    """

    def __init__(
        self,
        program: NamedPipeline,
        others: dict[str, tuple[Array, bool]],
        prepare: Callable[[Images], list[int]],
        extents_of: Callable[[Images], list[int]],
        fixed: bool,
    ) -> None:
        self.program, self.others = program, others
        self.name = program.name
        self._prepare, self._extents_of, self._fixed = prepare, extents_of, fixed
        self._parts: dict[object, tuple[list[int], list[int]]] = {}
        self.seconds = 0.0

    def run(self, name: str, pixels: Array, photo: bool) -> dict[str, Array]:
        """The outputs for one more picture."""
        images = load_images(self.program, {**self.others, name: (pixels, photo)})
        first = not self._parts
        extents = self._prepare(images) if first else self._extents_of(images)
        restore_opacity(self.program, images, extents)
        shapes = tuple([p.shape for p in images.pixels.values()])
        if shapes not in self._parts:
            part = [0] * len(extents), extents
            if not self._fixed:
                part = covered(self.program, images.pixels, extents)
            self._parts[shapes] = part
        out = destination(self.program, *self._parts[shapes])
        start = time.perf_counter()
        self.program.pipeline.realize(out)
        if not first:
            self.seconds += time.perf_counter() - start
        return pictures(self.program, out)


def run_many(batch: Runs, name: str, source: Source, output: Path) -> None:
    """Runs a program on many pictures, and writes all of them.

    What cannot be read is left out of a folder, and told of in the end, as a Problem.
    """
    begin = time.perf_counter()
    failed: list[str] = []
    count = 0
    size = ""
    with ExitStack() as stack:
        if is_video(output):
            fps = {} if source.video is None else {"fps": source.video.fps}
            writer = stack.enter_context(writing(output, **{"fps": 25.0, **fps}))
        else:
            writer = None
            output.mkdir(parents=True, exist_ok=True)
        length = len(source.files) if source.files else None
        bar: Any = stack.enter_context(
            click.progressbar(source, length=length, label="running", file=sys.stderr)
        )
        suffixes = {p.stem: p.suffix for p in source.files}
        for label, load in bar:
            try:
                made = batch.run(name, *load())
            except (Problem, hl.HalideError) as error:
                if source.video is not None or not count and length == 1:
                    raise
                failed.append(f"{label}: {str(error).splitlines()[0]}")
                continue
            count += 1
            size = size_of(next(iter(made.values())))
            if writer is not None:
                if len(made) > 1:
                    raise Problem(
                        f"a video takes one output; {batch.name} has"
                        f" {len(made)}: {', '.join(made)}",
                        hint="name a folder",
                    )
                writer.add(next(iter(made.values())))
                continue
            suffix = suffixes.get(label, ".png").lower()
            suffix = suffix if suffix in WRITTEN else ".png"
            for one, pixels in made.items():
                part = f"{label}_{one}" if len(made) > 1 else label
                path = output / f"{part}{suffix}"
                if path.resolve() in [p.resolve() for p in source.files]:
                    raise Problem(
                        f"{path} is an input; the output would take its place",
                        hint="name another folder",
                    )
                check_held(path, one, pixels)
                write(path, pixels)
    _tell(output, count, size, batch.seconds, time.perf_counter() - begin)
    if failed:
        shown = "\n  ".join(failed[:5])
        more = f"\n  and {len(failed) - 5} more" if len(failed) > 5 else ""
        raise Problem(
            f"{len(failed)} of {len(failed) + count} pictures failed:\n  {shown}{more}"
        )


def _tell(output: Path, count: int, size: str, seconds: float, elapsed: float) -> None:
    told = [
        f"1 picture, {size}" if count == 1 else f"{count} pictures, the last {size}"
    ]
    if count > 1:
        told.append(f"each computed in {1e3 * seconds / (count - 1):.1f} ms")
    click.echo(f"{output}: {', '.join(told)}; {elapsed:.1f} s in all")
    if not count:
        note("nothing was written")


__all__ = ["Batch", "Runs", "Source", "find_source", "run_many", "source_of"]
