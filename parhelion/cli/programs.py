"""Pipelines in files: what FILE or FILE:NAME on the command line means.

NAME is a Func, Pipeline or Generator of the file (that by its registered name, too), a
function under `hl.jit` (`functions.py`), or a function that makes a pipeline: of no
arguments, or of the module, as those of the applications (``algorithm(hl)``). It may
also give an object with `output`, `inputs` and `params`, as applications do. A function
``schedule`` of the file is used where no schedule of its table ``SCHEDULES`` is asked
for: one of two arguments gets the module and what the maker gave, one of a single
argument the Pipeline, if that has no schedule.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import parhelion as hl
from parhelion.cli.problem import Problem, running
from parhelion.dataclass import dataclass
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.ir.symbols import ParamSym
from parhelion.lang.generator import Built, find_generator, registered_generators
from parhelion.lang.generator_io import declarations
from parhelion.schedule.order import realization_order
from parhelion.schedule.recomputing import unscheduled

#: Names that are looked for when a file has several pipelines and none is named.
_USUAL = ("algorithm", "pipeline", "output")


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline out of a file. inputs, params: its images and scalars by name, in the
    order in which its function takes them. rivals: other functions of the inputs, as
    arrays, that the file's table AGAINST has for `bench`. chosen: which of the words
    NAME=VALUE were for the Generator that built it."""

    name: str
    pipeline: hl.Pipeline
    output: hl.Func
    inputs: Mapping[str, hl.ImageParam]
    params: Mapping[str, hl.Param]
    built: Built | None = None
    chosen: frozenset[str] = frozenset()
    rivals: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def module(self, name: str, target: hl.Target) -> hl.Module:
        """The pipeline as a compiled function."""
        if self.built is not None:
            return self.built.module(name, target)
        arguments: list[hl.ImageParam | hl.Param] = [*self.inputs.values()]
        arguments += self.params.values()
        return self.pipeline.compile_to_module(arguments, name, target)


def load(
    place: str,
    schedule: str | None = None,
    params: Sequence[str] = (),
    target: hl.Target | None = None,
) -> NamedPipeline:
    """The pipeline that FILE or FILE:NAME means. schedule: a name in the file's table
    of schedules. params: words NAME=VALUE, of which a Generator takes those that it
    knows. target: what a Generator builds for; this computer if it is None.

    Raises Problem if there is none, or several of which none has a usual name.
    """
    path, wanted = split(place)
    return program_of(imported(path), path, wanted, schedule, params, target)


def program_of(
    module: ModuleType,
    path: Path,
    wanted: str,
    schedule: str | None = None,
    params: Sequence[str] = (),
    target: hl.Target | None = None,
) -> NamedPipeline:
    """The pipeline of a name in a file that is imported; see `load`."""
    name, maker = choose(module, path, wanted)
    if isinstance(maker, hl.Jitted):
        raise Problem(
            f"{path}:{name} is a function of arrays, which is compiled for what it is"
            " given: run, bench, schedule and show take it, with images",
            hint=f"the file may make a Generator of it, for images of one kind:"
            f" {name}.generator(np.empty((1080, 1920, 3), np.uint8))",
        )
    if is_generator(maker):
        if schedule is not None:
            raise Problem(f"the Generator {name!r} schedules its pipeline by itself")
        target = hl.get_host_target() if target is None else target
        with running(path):
            chosen = _generator_params(maker, params)
            program = of_generator(maker, target, dict(chosen.values()))
        return replace(program, chosen=frozenset(chosen), rivals=rivals_of(module))
    with running(path):
        made = _made(maker)
        program = _program(name, path, made)
        _schedule(module, path, program, made, schedule)
    return replace(program, rivals=rivals_of(module))


def rivals_of(module: ModuleType) -> Mapping[str, Callable[..., Any]]:
    """The table AGAINST of a file, for `bench`."""
    found: Mapping[str, Callable[..., Any]] = getattr(module, "AGAINST", {})
    return found


def _generator_params(
    generator: type[hl.Generator], words: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """The words NAME=VALUE that set GeneratorParams, each with the whole name and the
    value. ``type`` and ``dim`` are enough where a single input or output has them."""
    members = declarations(generator)
    own = [n for n, one in members.items() if isinstance(one, hl.GeneratorParam)]
    ports = {
        n: one
        for n, one in members.items()
        if isinstance(one, hl.InputBuffer | hl.InputScalar | hl.OutputBuffer)
    }
    open_ = {
        "type": [n for n, one in ports.items() if not one._declared],
        "dim": [n for n, one in ports.items() if one._wanted is None],
    }
    found: dict[str, tuple[str, str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            continue
        if name not in own and len(open_.get(name, ())) == 1:
            name = f"{open_[name][0]}.{name}"
        # No Param has a dot in its name.
        if name in own or name == "autoscheduler" or "." in name:
            found[word] = name, value
    return found


def is_generator(found: object) -> TypeGuard[type[hl.Generator]]:
    """Whether it is a class that ``@hl.generator`` made."""
    return (
        isinstance(found, type)
        and issubclass(found, hl.Generator)
        and bool(found._registered_name)
    )


def generators(module: ModuleType) -> dict[str, type[hl.Generator]]:
    """The Generators that a file defines, by their registered names."""
    return {
        name: found
        for name in registered_generators()
        if (found := find_generator(name)).__module__ == module.__name__
    }


def of_generator(
    generator: type[hl.Generator], target: hl.Target, params: Mapping[str, str]
) -> NamedPipeline:
    """The pipeline that a Generator builds."""
    with hl.GeneratorContext(target):
        built = generator(params)._built()
    inputs: dict[str, hl.ImageParam] = {}
    scalars: dict[str, hl.Param] = {}
    for name, argument in zip(built.names, built.arguments, strict=False):
        if isinstance(argument, hl.Param):
            scalars[name] = argument
        else:
            inputs[name] = argument
    output = built.pipeline.outputs()[0]
    name = generator._registered_name.rpartition(".")[2]
    return NamedPipeline(name, built.pipeline, output, inputs, scalars, built)


def check_name(name: str, option: str) -> None:
    """Raises Problem if compiled code cannot have that name, which the option gives."""
    if name.isidentifier() and name.isascii():
        return
    fitting = re.sub(r"^(?=\d)|[^A-Za-z0-9_]", "_", name)
    raise Problem(
        f"{name!r} cannot be the name of a function in C",
        hint=f"say {option} {fitting}",
    )


def split(place: str) -> tuple[Path, str]:
    """FILE and NAME, which may be empty; raises Problem if there is no such file."""
    file, colon, name = place.rpartition(":")
    if not colon or not name.isidentifier():
        file, name = place, ""
    path = Path(file)
    if path.is_dir():
        raise Problem(f"{file!r} is a folder; a file of Python is wanted")
    if not path.is_file():
        raise Problem(f"there is no file {file!r}")
    return path, name


def imported(path: Path) -> ModuleType:
    """The file as a module, its folder (and that of its package) on the path."""
    root = path.resolve().parent
    parts = [path.stem]
    while (root / "__init__.py").exists():
        parts.insert(0, root.name)
        root = root.parent
    for folder in (str(path.resolve().parent), str(root)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    # A file by itself has a name that no other module has, whatever the file's is:
    # types.py is not Python's module of that name.
    name = ".".join(parts) if len(parts) > 1 else f"parhelion_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Problem(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with running(path):
        spec.loader.exec_module(module)
    return module


def choose(module: ModuleType, path: Path, wanted: str) -> tuple[str, Any]:
    """The pipeline, or what makes one, that a file has by a name, or as its only one.

    Raises Problem if there is none, or several of which none has a usual name.
    """
    if wanted:
        if hasattr(module, wanted):
            return wanted, getattr(module, wanted)
        if wanted in generators(module):
            return wanted, generators(module)[wanted]
        legal = dict.fromkeys([*_candidates(module), *generators(module)])
        raise Problem(f"{path} has no {wanted!r}", legal=list(legal))
    found = _candidates(module)
    for usual in _USUAL:
        if usual in found:
            return usual, getattr(module, usual)
    last = _unread({name: getattr(module, name) for name in found})
    if len(last) == 1:
        return last[0], getattr(module, last[0])
    if not found:
        raise Problem(
            f"{path} has no pipeline: no Func, no Pipeline, no Generator, no function "
            "under hl.jit, and no function `algorithm(hl)` that makes one"
        )
    raise Problem(f"{path} has several pipelines: say {path}:NAME", legal=found)


def _unread(candidates: Mapping[str, object]) -> list[str]:
    """Returns the first names of the candidates that no other candidate reads."""
    outputs: dict[str, list[Function]] = {}
    seen: list[object] = []
    for name, found in candidates.items():
        # Two names of one Func.
        if any([found is one for one in seen]):
            continue
        seen.append(found)
        if isinstance(found, hl.Func):
            outputs[name] = [found._function]
        elif isinstance(found, hl.Pipeline):
            outputs[name] = [f._function for f in found.outputs()]
        else:
            outputs[name] = []
    read: set[int] = set()
    for name, some in outputs.items():
        defined = [f for f in some if f.defined]
        own = set() if isinstance(candidates[name], hl.Pipeline) else set(map(id, some))
        read |= {id(f) for f in realization_order(defined)} - own
    return [
        name
        for name, some in outputs.items()
        if isinstance(candidates[name], hl.Pipeline)
        or not any([id(f) in read for f in some])
    ]


def _candidates(module: ModuleType) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (
            isinstance(value, hl.Func | hl.Pipeline | hl.Jitted)
            or is_generator(value)
            or (name in _USUAL and inspect.isfunction(value))
        )
    ]


def _made(maker: Any) -> Any:
    if isinstance(maker, hl.Func | hl.Pipeline) or not callable(maker):
        return maker
    needed = _needed(maker)
    if len(needed) > 1:
        listed = ", ".join(needed)
        raise Problem(
            f"{maker.__name__}({listed}) takes more than the module: a pipeline's "
            "maker takes nothing, or the module"
        )
    return maker(hl) if needed else maker()


def _needed(maker: Callable[..., object]) -> list[str]:
    """The arguments that a function must be given by position."""
    return [
        p.name
        for p in inspect.signature(maker).parameters.values()
        if p.default is p.empty
        and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]


def _program(name: str, path: Path, made: Any) -> NamedPipeline:
    if hasattr(made, "output") and hasattr(made, "inputs"):
        pipeline = hl.Pipeline([made.output])
        return NamedPipeline(
            path.stem, pipeline, made.output, made.inputs, getattr(made, "params", {})
        )
    if isinstance(made, hl.Func):
        made = hl.Pipeline([made])
    if not isinstance(made, hl.Pipeline):
        raise Problem(
            f"{path}:{name} gives {type(made).__name__}, which is no pipeline"
        )
    inputs: dict[str, hl.ImageParam] = {}
    params: dict[str, hl.Param] = {}
    for a in made.infer_arguments():
        # As the user wrote it, where that is clear.
        plain = plain_name(a.name)
        if plain in inputs or plain in params:
            plain = a.name
        if isinstance(a._symbol, ParamSym):
            params[plain] = hl.Param._of(a._symbol)
        else:
            inputs[plain] = hl.ImageParam._of(a._symbol)
    stem = path.stem if name in _USUAL else name
    return NamedPipeline(stem, made, made.outputs()[0], inputs, params)


def _schedule(
    module: ModuleType,
    path: Path,
    program: NamedPipeline,
    made: Any,
    wanted: str | None,
) -> None:
    """Applies the schedule that is asked for, or the file's own."""
    table: Mapping[str, Callable[..., object]] = getattr(module, "SCHEDULES", {})
    if wanted is None:
        maker = getattr(module, "schedule", None)
        if callable(maker) and not isinstance(maker, hl.Func):
            _apply(maker, f"{path}:schedule", program, made, again=False)
        return
    if wanted not in table:
        raise Problem(f"{path} has no schedule {wanted!r}", legal=list(table))
    _apply(table[wanted], f"{path}: SCHEDULES[{wanted!r}]", program, made, again=True)


def _apply(
    maker: Callable[..., object],
    name: str,
    program: NamedPipeline,
    made: Any,
    again: bool,
) -> None:
    """Calls a function that schedules, with the Pipeline or with (hl, made).

    again: whether a function of the Pipeline is called although something is scheduled.
    """
    try:
        needed = _needed(maker)
    except ValueError:
        # Builtins, of which Python does not know what they take.
        needed = []
    if len(needed) == 2:
        maker(hl, made)
    elif len(needed) == 1:
        order = realization_order(program.pipeline._functions())
        if again or unscheduled(order):
            maker(program.pipeline)
    else:
        raise Problem(
            f"{name} takes {len(needed)} arguments; a schedule takes the Pipeline, as "
            "`parhelion schedule` prints it, or two: the module, and what the "
            "pipeline's maker gives"
        )


__all__ = [
    "NamedPipeline",
    "check_name",
    "choose",
    "generators",
    "imported",
    "is_generator",
    "load",
    "of_generator",
    "program_of",
    "rivals_of",
    "split",
]
