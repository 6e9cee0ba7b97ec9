"""``parhelion compile``: files for programs without Python."""

from __future__ import annotations

import os
from pathlib import Path

import click

import parhelion as hl
from parhelion.cli import options
from parhelion.cli.automatic import ensure_schedule
from parhelion.cli.problem import Problem
from parhelion.cli.programs import check_name, load

#: What each word for a kind of file means, and how the file's name ends.
_KINDS = {
    "object": (hl.OutputFileType.object, ".o"),
    "library": (hl.OutputFileType.static_library, ".a"),
    "header": (hl.OutputFileType.c_header, ".h"),
    "c": (hl.OutputFileType.c_source, ".c"),
    "assembly": (hl.OutputFileType.assembly, ".s"),
    "llvm": (hl.OutputFileType.llvm_assembly, ".ll"),
    "bitcode": (hl.OutputFileType.bitcode, ".bc"),
    "stmt": (hl.OutputFileType.stmt, ".stmt"),
    "html": (hl.OutputFileType.stmt_html, ".html"),
}


@click.command("compile")
@options.program
@click.option(
    "-o",
    "--output",
    metavar="PREFIX",
    help="What the files' names begin with; if it is a folder, they are in it. "
    "[default: the pipeline's name]",
)
@click.option(
    "-e",
    "--emit",
    default="library,header",
    show_default=True,
    metavar="KIND,…",
    help=f"Kinds of files: {', '.join(_KINDS)}.",
)
@click.option("--name", help="The function's name. [default: the pipeline's]")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a GeneratorParam.",
)
@options.ahead
def compile_command(
    program: str,
    output: str | None,
    emit: str,
    name: str | None,
    params: tuple[str, ...],
    target: str,
    schedule: str | None,
    size: str | None,
) -> None:
    """Compile a pipeline ahead of time, for programs in C, C++ and others."""
    kinds = [word.strip() for word in emit.split(",") if word.strip()]
    unknown = [k for k in kinds if k not in _KINDS]
    if unknown or not kinds:
        raise Problem(f"--emit {emit}: no such kind of file", legal=list(_KINDS))
    made = load(program, schedule, params, hl.Target(target))
    for word in params:
        if word not in made.chosen:
            raise Problem(f"--param {word}: {made.name} has no such GeneratorParam")
    function = name or made.name
    check_name(function, "--name")
    ensure_schedule(made, size)
    prefix = output or made.name
    if prefix.endswith(os.sep) or Path(prefix).is_dir():
        prefix = os.path.join(prefix, made.name)
    files: dict[hl.OutputFileType, str | os.PathLike[str]] = {
        _KINDS[k][0]: f"{prefix}{_KINDS[k][1]}" for k in kinds
    }
    Path(prefix).parent.mkdir(parents=True, exist_ok=True)
    made.module(function, hl.Target(target)).compile(files)
    for path in files.values():
        click.echo(f"{path}: {os.path.getsize(path)} bytes")


__all__ = ["compile_command"]
