"""Files that show what the compiler made: the lowered program as text and as a page."""

from __future__ import annotations

import enum
import os
from pathlib import Path

from parhelion.errors import (
    MissingFolderError,
    TypeMismatchError,
    UnwritableFileError,
    here,
)
from parhelion.ir.build import add, int32, sub
from parhelion.ir.deep import run_deep
from parhelion.ir.pipeline import ArgKind, Lowered
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import text
from parhelion.schedule.order import realization_order
from parhelion.simplify.simplifier import simplify


class StmtOutputFormat(enum.Enum):
    """Whether `compile_to_lowered_stmt` writes text or a page of HTML."""

    Text = "text"
    HTML = "html"


def file_name(given: object) -> str:
    """The name of a file to be written. Raises TypeMismatchError for what is none."""
    if not isinstance(given, str | os.PathLike):
        raise TypeMismatchError(
            f"the name of a file is a string or a path, not {given!r:.60}", at=here()
        )
    return os.fspath(given)


def write(filename: str | os.PathLike[str], content: str | bytes) -> None:
    """Writes a file. Raises MissingFolderError if there is no folder for it, and
    UnwritableFileError if it cannot be written for another reason."""
    path = Path(file_name(filename))
    try:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    except FileNotFoundError:
        raise MissingFolderError(
            f"{str(path)!r} cannot be written: there is no folder {str(path.parent)!r}",
            at=here(),
            hint="Path(name).parent.mkdir(parents=True) makes it",
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from None


def make_folder(folder: Path) -> None:
    """Makes a folder for files, with those around it, unless it is there. Raises
    UnwritableFileError if that is not possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UnwritableFileError(
            f"{str(folder)!r} is no folder, but a file",
            at=here(),
            hint="name a folder for the files",
        ) from None
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> UnwritableFileError:
    if path.is_dir():
        return UnwritableFileError(
            f"{str(path)!r} cannot be written: it is a folder",
            at=here(),
            hint="name a file in it",
        )
    why = (error.strerror or str(error)).lower()
    return UnwritableFileError(f"{str(path)!r} cannot be written: {why}", at=here())


def write_lowered(
    lowered: Lowered, filename: str | os.PathLike[str], fmt: StmtOutputFormat
) -> None:
    """Writes a lowered program. Raises TypeMismatchError for another format."""
    if not isinstance(fmt, StmtOutputFormat):
        raise TypeMismatchError(
            f"the format of a lowered program is a StmtOutputFormat, not {fmt!r:.60}",
            at=here(),
            legal=[f"StmtOutputFormat.{kind.name}" for kind in StmtOutputFormat],
        )
    html = fmt is StmtOutputFormat.HTML
    write(filename, lowered_page(lowered) if html else lowered_text(lowered))


def lowered_page(lowered: Lowered) -> str:
    """A lowered program as a page of HTML."""
    from parhelion.ir.html import lowered_html

    return lowered_html(lowered, _estimates(lowered))


def lowered_text(lowered: Lowered) -> str:
    """The arguments, one a line, what was estimated of regions (for the automatic
    scheduler), and the program."""
    lines = [f"func {lowered.name}("]
    for a in lowered.args:
        what = f"{a.symbol.type}"
        if a.kind is not ArgKind.SCALAR:
            what = f"{a.kind.value} buffer of {what}"
        lines.append(f"  {a.name}: {what},")
    body = run_deep(lambda: text(lowered.body)).rstrip("\n")
    lines += [f"  {line}" for line in _estimates(lowered)]
    lines += [") {", *[f"  {line}" for line in body.split("\n")], "}", ""]
    return "\n".join(lines)


def _estimates(lowered: Lowered) -> list[str]:
    """What `set_estimate` and `set_coverage` said of Funcs and images: no code follows
    from it."""
    found = []
    for f in reversed(realization_order(lowered.outputs)):
        for b in f.schedule.estimates:
            if b.min is not None and b.extent is not None:
                found.append((f"{f.name}.{b.var.name}", b.min, b.extent))
    for a in lowered.args:
        if isinstance(a.symbol, BufferSym):
            for i, d in enumerate(a.symbol.dims):
                if d.estimate_min is not None and d.estimate_extent is not None:
                    name = f"{a.name}.dim({i})"
                    found.append((name, d.estimate_min, d.estimate_extent))
    one = int32(1)
    said = [
        f"estimate {f.name} is read to {100 * c.fraction:g}%"
        for f in reversed(realization_order(lowered.outputs))
        if (c := f.schedule.coverage) is not None
    ]
    return said + [
        f"estimate {name} in [{text(lo)}, {text(simplify(sub(add(lo, n), one)))}]"
        for name, lo, n in found
    ]
