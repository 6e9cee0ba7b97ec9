"""`build_extension`: pipelines as a Python module that needs no compiler to run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from parhelion.errors import DefinitionError, HalideError, TypeMismatchError, here
from parhelion.lang.generator import Generator
from parhelion.lang.generator_context import GeneratorContext
from parhelion.lang.loop_dump import make_folder, write
from parhelion.lang.module import Module
from parhelion.lang.target_api import Target, get_host_target

Source = Module | type[Generator]


def build_extension(
    sources: Source | Sequence[Source],
    directory: str | os.PathLike[str],
    name: str = "",
    target: Target | None = None,
    generator_params: Mapping[str, object] | None = None,
) -> Path:
    """Compiles pipelines to a Python module, and returns the path of its file.

    ``DIRECTORY/NAME.abi3.so`` has a function for each pipeline, and ``NAME.pyi`` beside
    it has their types. The functions take arrays (NumPy's, or others with a buffer or
    DLPack) and numbers, by position or by name, and compute into the arrays that are
    given for the outputs. Python 3.11 and later import the module, without this
    package.

    sources: Generators, whose functions are called by their registered names, or
        Modules (`Pipeline.compile_to_module`).
    name: the module's; by default that of its only function.
    target: what Generators are built for, by default this computer; it must be of this
        computer's kind.
    generator_params: those of the Generator.

    Raises HalideError if there is no C compiler (``CC``, else ``cc``) or no Python.h,
    and for another target; UnwritableFileError if there can be no folder `directory`;
    DefinitionError if there are no functions, two of one name,
    several without a `name`, or parameters for more than one Generator;
    TypeMismatchError for other sources.

    >>> f = hl.Func()
    >>> f[x] = x * x
    >>> hl.build_extension(f.compile_to_module([], "squares"), "modules").name
    'squares.abi3.so'
    """
    # Only here: what runs other programs takes long to import.
    from parhelion.aot.linking import c_compiler, python_headers

    given = list(sources) if isinstance(sources, list | tuple) else [sources]
    if not given:
        raise DefinitionError("an extension of no functions is asked for", at=here())
    # Before anything is compiled: they may be missing.
    c_compiler(), python_headers()
    if generator_params and len(given) > 1:
        raise DefinitionError(
            "generator_params are for one Generator; "
            f"{len(given)} functions are to be built",
            at=here(),
            hint="hl.alias registers a Generator with its parameters",
        )
    wanted = get_host_target() if target is None else target
    modules = [_module(one, wanted, generator_params or {}) for one in given]
    names = [m._symbol() for m in modules]
    for one in names:
        if names.count(one) > 1:
            raise DefinitionError(f"two functions are called {one!r}", at=here())
    if not name and len(modules) > 1:
        raise DefinitionError(
            f"a module of {len(modules)} functions needs a name", at=here()
        )
    return write_extension(modules, Path(directory), name or names[0])


def _module(source: object, target: Target, params: Mapping[str, object]) -> Module:
    if isinstance(source, type) and issubclass(source, Generator):
        with GeneratorContext(target):
            built = source(params)._built()
        name = source._registered_name or source.__name__
        return built.module(name.rpartition(".")[2], target)
    if not isinstance(source, Module):
        raise TypeMismatchError(
            f"an extension is built of Generators and Modules, not {source!r:.60}",
            at=here(),
            hint="pipeline.compile_to_module(arguments, name) makes a Module",
        )
    if params:
        raise DefinitionError(
            "generator_params are for a Generator, not for a Module", at=here()
        )
    return source


def write_extension(modules: Sequence[Module], folder: Path, name: str) -> Path:
    """Writes an extension module of Modules, as `build_extension` does."""
    from parhelion.aot.extension import check_module_name, extension_text, stub_text
    from parhelion.aot.linking import link_extension

    check_module_name(name)
    host = get_host_target()
    for one in modules:
        wanted = one.target()
        if (wanted.arch, wanted.os, wanted.bits) != (host.arch, host.os, host.bits):
            raise HalideError(
                f"an extension for {wanted} cannot be linked here",
                at=here(),
                hint="write object files and the python_extension for that computer's "
                "compiler",
            )
    make_folder(folder)
    programs = [m._program() for m in modules]
    texts = [
        (p.interface, str(m.target())) for p, m in zip(programs, modules, strict=True)
    ]
    source = extension_text(name, texts)
    made = link_extension(folder, name, source, [p.object_code() for p in programs])
    write(folder / f"{name}.pyi", stub_text([p.interface for p in programs]))
    return made


__all__ = ["build_extension", "write_extension"]
