"""`Module`: a pipeline lowered for a computer, to be written to files.

``pipeline.compile_to_module(arguments, "blur")`` keeps the algorithm and its schedule
as they are at that moment. A Module does not run; `Module.compile` writes what the
compiler makes of it.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

from parhelion.errors import DefinitionError, HalideError, TypeMismatchError, here
from parhelion.ir.bindings import SET
from parhelion.ir.pipeline import ArgKind, Lowered
from parhelion.ir.pipeline import Argument as IRArgument
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.loop_dump import file_name, lowered_page, lowered_text, write
from parhelion.lang.machines import machine_of
from parhelion.lang.target_api import (
    Target,
    TargetArch,
    TargetFeature,
    check_target,
    get_host_target,
)
from parhelion.runtime.program import compiling

# Code generation is loaded when files are written, not by `import parhelion`.
if TYPE_CHECKING:
    from parhelion.aot.objects import ObjectModules


class OutputFileType(enum.Enum):
    """The kinds of file, by Halide's names; `Module.compile` writes most of them."""

    assembly = 0
    bitcode = 1
    c_header = 2
    c_source = 3
    compiler_log = 4
    cpp_stub = 5
    featurization = 6
    function_info_header = 7
    hlpipe = 8
    llvm_assembly = 9
    object = 10
    python_extension = 11
    pytorch_wrapper = 12
    registration = 13
    schedule = 14
    static_library = 15
    stmt = 16
    conceptual_stmt = 17
    stmt_html = 18
    conceptual_stmt_html = 19
    device_code = 20


#: What can be written.
_WRITTEN = (
    OutputFileType.assembly,
    OutputFileType.bitcode,
    OutputFileType.c_header,
    OutputFileType.c_source,
    OutputFileType.conceptual_stmt,
    OutputFileType.conceptual_stmt_html,
    OutputFileType.llvm_assembly,
    OutputFileType.object,
    OutputFileType.python_extension,
    OutputFileType.static_library,
    OutputFileType.stmt,
    OutputFileType.stmt_html,
)


class Module:
    """A lowered pipeline, which can be written to files: `Pipeline.compile_to_module`
    makes it.

    Raises HalideError if it is called: there are no empty Modules.

    >>> f = hl.Func("f")
    >>> f[x] = x + 1
    >>> module = f.compile_to_module([], "plus_one")
    >>> module.compile({hl.OutputFileType.c_header: "plus_one.h"})
    """

    __slots__ = ("_c_text", "_lowered", "_made", "_target")
    _c_text: Callable[[], str]
    _lowered: Lowered
    _target: Target
    _made: ObjectModules | None

    def __init__(self, name: str, target: Target) -> None:
        raise HalideError(
            "an empty Module cannot be made, as Modules are not linked together yet",
            at=here(),
            hint="pipeline.compile_to_module(arguments, name) makes one of a pipeline",
        )

    def __reduce__(self) -> NoReturn:
        raise TypeMismatchError(
            "a Module does not pickle, as it is code for a linker",
            at=here(),
            hint="pickle the Pipeline, or write the Module to files: compile(files)",
        )

    @classmethod
    def _of(cls, lowered: Lowered, target: Target, c_text: Callable[[], str]) -> Module:
        """Returns a Module; `c_text` makes its C text, which is lowered separately."""
        made = object.__new__(cls)
        made._lowered, made._target, made._made = lowered, target, None
        made._c_text = c_text
        return made

    def name(self) -> str:
        """Returns the name of the function that it holds."""
        return self._lowered.name

    def target(self) -> Target:
        """Returns the target of its code."""
        return self._target

    def buffers(self) -> list[Buffer]:
        """Returns the Buffers whose pixels are part of the algorithm."""
        return [SET.of(a.symbol) for a in self._lowered.args if a.embedded]

    def submodules(self) -> list[Module]:
        """Returns []: Modules cannot be appended yet."""
        return []

    def append(self, part: object) -> NoReturn:
        """Raises HalideError: Modules cannot be appended yet."""
        raise HalideError("Module.append is not available yet", at=here())

    def compile(self, outputs: Mapping[OutputFileType, str | os.PathLike[str]]) -> None:
        """Writes one or more files: ``{hl.OutputFileType.object: "blur.o"}``.

        They are object files, static libraries, headers, assembly, LLVM assembly and
        bitcode; C (`Pipeline.c_text`) and the C of a Python module around the object;
        and as text or as a page of HTML, the lowered program and the loops that the
        schedule makes (conceptual).

        Raises TypeMismatchError for what is no OutputFileType, and HalideError for
        other kinds of file, for a Func that only Python can compute, and for C of a
        pipeline that was changed meanwhile. Nothing is written then.
        """
        for kind in outputs:
            if not isinstance(kind, OutputFileType):
                raise TypeMismatchError(
                    f"a file to be written has an OutputFileType, not {kind!r:.60}",
                    at=here(),
                    hint='{hl.OutputFileType.object: "blur.o"}',
                )
            if kind not in _WRITTEN:
                raise HalideError(
                    f"Module.compile: files of the type {kind.name} are not "
                    "available yet",
                    at=here(),
                    legal=[f"OutputFileType.{k.name}" for k in _WRITTEN],
                )
            file_name(outputs[kind])
        contents = [(self._content(kind), path) for kind, path in outputs.items()]
        for content, path in contents:
            write(path, content)

    def _content(self, kind: OutputFileType) -> str | bytes:
        from parhelion.aot.archive import Member, archive
        from parhelion.aot.extension import extension_text
        from parhelion.aot.header import header_text

        if kind is OutputFileType.stmt:
            return str(self)
        if kind is OutputFileType.stmt_html:
            with compiling():
                return lowered_page(self._lowered)
        if kind is OutputFileType.conceptual_stmt:
            with compiling():
                return lowered_text(self._nests())
        if kind is OutputFileType.conceptual_stmt_html:
            with compiling():
                return lowered_page(self._nests())
        if kind is OutputFileType.c_source:
            return self._c_text()
        program = self._program()
        if kind is OutputFileType.c_header:
            target = str(self._target)
            return header_text(program.interface, target, devices=program.on_devices)
        if kind is OutputFileType.python_extension:
            text = (program.interface, str(self._target))
            return extension_text(self._symbol(), [text])
        if kind is OutputFileType.assembly:
            return program.assembly()
        if kind is OutputFileType.llvm_assembly:
            return program.llvm()
        if kind is OutputFileType.bitcode:
            return program.bitcode()
        code = program.object_code()
        if kind is OutputFileType.object:
            return code
        return archive([Member(f"{self._symbol()}.o", code, program.exports)])

    def _nests(self) -> Lowered:
        return replace(self._lowered, body=self._lowered.nests)

    def _symbol(self) -> str:
        return c_name(self.name())

    def _program(self) -> ObjectModules:
        """Its code, made once."""
        from parhelion.aot.objects import ObjectModules, Wishes

        if self._made is None:
            target = self._target
            wishes = Wishes(
                user_context=target.has_feature(TargetFeature.UserContext),
                runtime=not target.has_feature(TargetFeature.NoRuntime),
                asserts=not target.has_feature(TargetFeature.NoAsserts),
            )
            with compiling():
                self._made = ObjectModules(
                    self._lowered,
                    self._symbol(),
                    machine_of(target),
                    str(target),
                    wishes,
                )
        return self._made

    def __str__(self) -> str:
        """The lowered program."""
        with compiling():
            return lowered_text(self._lowered)

    def __repr__(self) -> str:
        return f"<parhelion.Module {self.name()!r}>"


def compile_standalone_runtime(
    outputs: str | os.PathLike[str] | Mapping[OutputFileType, str | os.PathLike[str]],
    target: Target,
) -> dict[OutputFileType, str]:
    """Writes the run time alone, for pipelines compiled with the feature no_runtime.

    `outputs` is the path of an object file, or the paths of an object file and a static
    library by their OutputFileType. Returns the paths written, by their OutputFileType.
    Raises HalideError for other kinds of file, and for a target without a run time.

    >>> written = hl.compile_standalone_runtime("run.o", hl.Target("x86-64-linux"))
    >>> written[hl.OutputFileType.object]
    'run.o'
    """
    from parhelion.aot.archive import Member, archive
    from parhelion.aot.objects import runtime_object

    if not isinstance(outputs, Mapping):
        outputs = {OutputFileType.object: outputs}
    kinds = (OutputFileType.object, OutputFileType.static_library)
    for kind in outputs:
        if kind not in kinds:
            raise HalideError(
                f"the run time has no file of the type {getattr(kind, 'name', kind)!r}",
                at=here(),
                legal=[f"OutputFileType.{k.name}" for k in kinds],
            )
    machine = machine_of(known_target(target))
    code, names = runtime_object(machine)
    written: dict[OutputFileType, str] = {}
    for kind, path in outputs.items():
        library = archive([Member("parhelion_runtime.o", code, names)])
        write(path, code if kind is OutputFileType.object else library)
        written[kind] = os.fspath(path)
    return written


def c_name(name: str) -> str:
    """A Func's name in C: ``f_1`` for the second one called ``f``."""
    return name.replace("$", "_")


def c_file(lowered: Lowered, name: str, target: Target | None) -> str:
    """Returns the C text of a program without vectors, with the features of
    `target`. Raises HalideError for one with kernels."""
    from parhelion.aot.c_source import c_source
    from parhelion.aot.objects import without_asserts

    context = target is not None and target.has_feature(TargetFeature.UserContext)
    if target is not None and target.has_feature(TargetFeature.NoAsserts):
        lowered = replace(lowered, body=without_asserts(lowered.body))
    return c_source(lowered, c_name(name), context)


def known_target(target: Target | None) -> Target:
    """The target of a Module: this computer, unless told otherwise."""
    if target is None:
        return get_host_target()
    check_target(target)
    return get_host_target() if target.arch is TargetArch.ArchUnknown else target


def named(name: object, target: Target | None) -> tuple[str, Target | None]:
    """Returns the name of a function and its target, from arguments in either order.

    As in some overloads of Halide's, the target may stand in the name's place. Raises
    TypeMismatchError for other things.
    """
    if isinstance(name, Target):
        if target is not None:
            raise TypeMismatchError(
                f"two targets are given, {name} and {target}", at=here()
            )
        return "", name
    if not isinstance(name, str):
        raise TypeMismatchError(
            f"the name of a function is a string, not {name!r:.60}", at=here()
        )
    if target is not None:
        known_target(target)
    return name, target


def with_arguments(
    lowered: Lowered,
    given: Sequence[BufferSym | ParamSym],
    name: str,
    names: Mapping[BufferSym | ParamSym, str] = MappingProxyType({}),
) -> Lowered:
    """`lowered` as a function of the given symbols in this order, the Buffers that it
    reads, and the outputs. names: what some of these are called instead. Raises
    DefinitionError if it needs others."""
    by_symbol = {a.symbol: a for a in lowered.args}
    for i, s in enumerate(given):
        if s in given[:i]:
            raise DefinitionError(f"{s.name!r} is an argument twice", at=here())
    for a in lowered.args:
        passed = a.kind is ArgKind.OUTPUT or a.embedded
        if a.symbol not in given and not passed:
            raise DefinitionError(
                f"{name!r} needs {a.name!r}, which is not among the arguments",
                at=here(),
                hint="infer_arguments() lists what is needed",
            )
    asked = [by_symbol[s] if s in by_symbol else _unused(s) for s in given]
    rest = [a for a in lowered.args if a.symbol not in given]
    args = [replace(a, name=names.get(a.symbol, a.name)) for a in (*asked, *rest)]
    assumed = lowered.assumptions.also(given)
    return replace(lowered, args=tuple(args), assumptions=assumed)


def needed(lowered: Lowered) -> list[BufferSym | ParamSym]:
    """What a program must be given, in the order of its first use."""
    return [
        a.symbol
        for a in lowered.args
        if a.kind is not ArgKind.OUTPUT and not a.embedded
    ]


def _unused(symbol: BufferSym | ParamSym) -> IRArgument:
    """An argument that nothing reads."""
    kind = ArgKind.SCALAR if isinstance(symbol, ParamSym) else ArgKind.INPUT
    return IRArgument(symbol.name, kind, symbol)
