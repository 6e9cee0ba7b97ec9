"""Generators: classes that build pipelines, with parameters, inputs and outputs.

``@hl.generator(name="blur")`` makes a Generator of a class whose members declare what
goes in and out and whose method ``generate(self)`` defines and schedules the outputs.
It is known by its name to `hl.main` and `create_callable_from_generator`.
"""

from __future__ import annotations

import inspect
import sys
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable as Decorator
from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, TypeVar

from parhelion.dataclass import dataclass
from parhelion.errors import DefinitionError, HalideError, TypeMismatchError, here
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.callable import Callable
from parhelion.lang.expr import ExprLike
from parhelion.lang.func import Func
from parhelion.lang.generator_context import GeneratorContext, context_or_default
from parhelion.lang.generator_io import (
    InputBuffer,
    InputScalar,
    OutputBuffer,
    Port,
    declarations,
    port_of,
)
from parhelion.lang.generator_params import (
    GeneratorParam,
    check_port_name,
    checked_param,
)
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.module import Module
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.target_api import Target, options
from parhelion.types import Type

_C = TypeVar("_C", bound=type)

#: All Generators by the names that they are registered by.
_KNOWN: dict[str, type[Generator]] = {}


class _FixedError(HalideError, AttributeError):
    """A member of a Generator that cannot be assigned to."""


@dataclass(frozen=True, slots=True)
class Built:
    """What a Generator made: a pipeline, its inputs in order, the names of inputs and
    of output values as they were declared, and the schedule that was found, if any, as
    Python code."""

    pipeline: Pipeline
    arguments: tuple[ImageParam | Param, ...]
    names: tuple[str, ...]
    schedule: str

    def module(self, function_name: str, target: Target) -> Module:
        """The pipeline lowered as a C function of this name."""
        targets = [s for f in self.pipeline.outputs() for s in f._function.buffers]
        symbols = [*[a._sym for a in self.arguments], *targets]
        names = dict(zip(symbols, self.names, strict=True))
        return self.pipeline._module_of(self.arguments, function_name, target, names)

    def callable(self, target: Target) -> Callable:
        """Returns the pipeline compiled for this process, called by the declared names.
        Of `target`, the features that change results count."""
        return self.pipeline._callable(self.arguments, options(target), self.names)


class Generator(ABC):
    """A class that builds a pipeline, with parameters, inputs and outputs.

    A subclass, or a class under ``@hl.generator``, declares GeneratorParams,
    InputBuffers, InputScalars, OutputBuffers and OutputScalars as members, and defines
    `generate`. An instance is made for the active GeneratorContext, else for this
    computer, and used once. ``Brighten({"amount": 2})`` sets GeneratorParams: those
    declared; ``NAME.type`` and ``NAME.dim`` where they are left open;
    ``autoscheduler``, and ``autoscheduler.NAME`` for its parameters. Raises
    DefinitionError for parameters that there are not, and TypeMismatchError for values
    of other types.

    >>> class Brighten(hl.Generator):
    ...     amount = hl.GeneratorParam(1)
    ...     image = hl.InputBuffer(hl.UInt(8), 1)
    ...     brighter = hl.OutputBuffer(hl.UInt(8), 1)
    ...     def generate(self):
    ...         self.brighter[x] = self.image[x] + self.amount
    >>> image, out = np.array([1, 2], np.uint8), np.zeros(2, np.uint8)
    >>> Brighten({"amount": 2}).compile_to_callable()(image, out), out.tolist()
    (0, [3, 4])
    """

    _registered_name: ClassVar[str] = ""
    _alias_params: ClassVar[Mapping[str, object]] = {}

    def __init__(self, generator_params: Mapping[str, object] | None = None) -> None:
        context = context_or_default()
        told = context.autoscheduler_params()
        self._target = context.target()
        self._autoscheduler = AutoschedulerParams(told.name, told.extra)
        self._fixed: dict[str, str] = {}
        self._ports: dict[str, Port] = {}
        self._members = declarations(type(self))
        self._configuring = False
        self._stage = "new"
        self._requirements: list[tuple[ExprLike, tuple[ExprLike | str, ...]]] = []
        self._open: dict[str, object] = {}
        self._take({**self._alias_params, **_params(generator_params)})

    # What the methods of a Generator may ask.

    def target(self) -> Target:
        """Returns the target that the pipeline is built for."""
        return self._target

    def autoscheduler(self) -> AutoschedulerParams:
        """Returns the automatic scheduler to be used: its name, or "", and its
        parameters."""
        return self._autoscheduler

    def using_autoscheduler(self) -> bool:
        """Returns whether an automatic scheduler will schedule the pipeline."""
        return bool(self._autoscheduler.name)

    def context(self) -> GeneratorContext:
        """Returns the target and the automatic scheduler together."""
        return GeneratorContext(self._target, self._autoscheduler)

    def natural_vector_size(self, type: Type) -> int:
        """Returns how many lanes of a type fill one vector register of the target."""
        return self._target.natural_vector_size(type)

    # What subclasses define.

    @abstractmethod
    def generate(self) -> None:
        """Defines the outputs and schedules the pipeline; subclasses write it."""

    def configure(self) -> None:
        """Declares what depends on GeneratorParams, by `add_input` and `add_output`."""
        return

    def allow_out_of_order_inputs_and_outputs(self) -> bool:
        """Returns whether inputs may be declared after outputs without a warning."""
        return False

    def add_input(self, name: str, io: InputBuffer | InputScalar) -> None:
        """Declares one more input. Raises DefinitionError outside of `configure`."""
        self._add("add_input", name, io, InputBuffer | InputScalar)

    def add_output(self, name: str, io: OutputBuffer) -> None:
        """Declares one more output. Raises DefinitionError outside of `configure`."""
        self._add("add_output", name, io, OutputBuffer)

    def add_requirement(self, condition: ExprLike, *args: ExprLike | str) -> None:
        """Makes each run check a condition: see `Pipeline.add_requirement`."""
        self._requirements.append((condition, args))

    # What is done with a Generator.

    @classmethod
    def call(cls, *args: object, **kwargs: Any) -> Any:
        """Builds the pipeline of a new instance and returns its output, or a tuple of
        them.

        Outputs are Funcs. The inputs are given by position or by name: Buffers, arrays
        or ImageParams, and numbers or Params; `generator_params` is a dict. Raises
        TypeMismatchError for inputs that are missing, unknown or do not fit.
        """
        params = kwargs.pop("generator_params", None)
        made = cls(params)
        outputs = made._build(made._placed(args, kwargs)).pipeline.outputs()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def compile_to_callable(self) -> Callable:
        """Returns the pipeline compiled as a Python function, a `Callable`.

        It takes the inputs and then the outputs, by position or by name. If an
        automatic scheduler is named, it schedules the pipeline first.
        """
        return self._built().callable(self._target)

    def _built(self) -> Built:
        """Builds the pipeline with inputs of its own; runs the automatic scheduler."""
        made = self._build({})
        if not self.using_autoscheduler():
            return made
        found = made.pipeline.apply_autoscheduler(self._target, self._autoscheduler)
        return Built(made.pipeline, made.arguments, made.names, found.to_python())

    # Parameters and members.

    def _label(self) -> str:
        name = self._registered_name or type(self).__name__
        return f"the Generator {name!r}"

    def _take(self, params: Mapping[str, object]) -> None:
        """Sets GeneratorParams; values that may belong to an input or output go to
        `_open`."""
        defaults = {
            name: p._default
            for name, p in self._members.items()
            if isinstance(p, GeneratorParam)
        }
        for name, default in defaults.items():
            self._claim(name)
            self._set(name, default, "a GeneratorParam")
        for name, value in params.items():
            if name == "target":
                raise DefinitionError(
                    "the target is no GeneratorParam that can be set",
                    at=here(),
                    hint="make the Generator inside: with hl.GeneratorContext(target):",
                )
            scheduler, dot, key = name.partition(".")
            if name in defaults:
                value = checked_param(name, defaults[name], value)
                self._set(name, value, "a GeneratorParam")
            elif scheduler == "autoscheduler":
                self._tell_autoscheduler(key if dot else "name", value)
            else:
                self._open[name] = value

    def _tell_autoscheduler(self, key: str, value: object) -> None:
        told = self._autoscheduler
        if key != "name":
            extra = {**told.extra, key: value}
            # Checked by the constructor.
            self._autoscheduler = AutoschedulerParams(told.name, extra)  # type: ignore[arg-type]
        elif told.name and told.name != value:
            raise DefinitionError(
                f"the autoscheduler is {told.name!r} already, by the GeneratorContext; "
                f"it cannot be {value!r:.60} as well",
                at=here(),
            )
        else:
            self._autoscheduler = AutoschedulerParams(value, told.extra)  # type: ignore[arg-type]

    def _claim(self, name: str) -> None:
        check_port_name(name)
        if name in self._fixed:
            raise DefinitionError(f"{self._label()} declares {name!r} twice", at=here())
        if hasattr(Generator, name):
            raise DefinitionError(
                f"{self._label()} declares {name!r}, which is a method of Generators",
                at=here(),
                hint="give it another name",
            )

    def _set(self, name: str, value: object, what: str) -> None:
        self._fixed[name] = what
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        what = self.__dict__.get("_fixed", {}).get(name)
        if what is not None:
            raise _FixedError(
                f"{name!r} is {what} of {self._label()} and cannot be assigned to",
                at=here(),
                hint=f"define it: self.{name}[x, y] = …" if what == "an output" else "",
            )
        object.__setattr__(self, name, value)

    def _declare(self) -> None:
        """Collects the inputs and outputs, those of `configure` last."""
        if self._stage != "new":
            self._misused()
        self._stage = "declared"
        seen = ""
        for name, member in self._members.items():
            if not isinstance(member, InputBuffer | InputScalar | OutputBuffer):
                continue
            port = self._port(name, member)
            if port.is_output:
                seen = name
            elif seen and not self.allow_out_of_order_inputs_and_outputs():
                warnings.warn(
                    f"{self._label()} declares the input {name!r} after the output "
                    f"{seen!r}; its function takes all inputs first (return True from "
                    "allow_out_of_order_inputs_and_outputs to say that you know)",
                    stacklevel=4,
                )
        self._configuring = True
        try:
            self.configure()
        finally:
            self._configuring = False
        if not any([p.is_output for p in self._ports.values()]):
            raise DefinitionError(f"{self._label()} declares no output", at=here())
        if self._open:
            raise DefinitionError(
                f"{self._label()} has no GeneratorParam {next(iter(self._open))!r}",
                at=here(),
                legal=self._param_names(),
            )

    def _param_names(self) -> list[str]:
        """The GeneratorParams that could be set."""
        own = [n for n, what in self._fixed.items() if what == "a GeneratorParam"]
        for port in self._ports.values():
            if not port.declaration._declared:
                own.append(f"{port.name}.type")
            if port.declaration._wanted is None:
                own.append(f"{port.name}.dim")
        return [*own, "autoscheduler", "autoscheduler.NAME"]

    def _port(
        self, name: str, member: InputBuffer | InputScalar | OutputBuffer
    ) -> Port:
        self._claim(name)
        port = self._ports[name] = port_of(name, member, self._open)
        self._fixed[name] = "an output" if port.is_output else "an input"
        return port

    def _add(self, method: str, name: str, io: Any, kind: Any) -> None:
        if not self._configuring:
            raise DefinitionError(
                f"{method} is called outside the method configure()", at=here()
            )
        if hasattr(self, name):
            raise DefinitionError(
                f"{method}({name!r}): {self._label()} has a member of that name",
                at=here(),
            )
        if not isinstance(io, kind):
            wanted = "an InputBuffer or InputScalar"
            if kind is OutputBuffer:
                wanted = "an OutputBuffer or OutputScalar"
            raise TypeMismatchError(
                f"{method}({name!r}) takes {wanted}, not {io!r:.60}", at=here()
            )
        self._port(name, io)

    def _inputs(self) -> list[Port]:
        return [p for p in self._ports.values() if not p.is_output]

    def _placed(
        self, args: tuple[object, ...], named: Mapping[str, object]
    ) -> dict[str, object]:
        """What is given for each input."""
        self._declare()
        names = [p.name for p in self._inputs()]
        if len(args) > len(names):
            raise TypeMismatchError(
                f"{self._label()} has {len(names)} inputs; {len(args)} are given",
                at=here(),
                legal=names,
            )
        placed: dict[str, object] = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                raise TypeMismatchError(
                    f"{self._label()} has no input {name!r}", at=here(), legal=names
                )
            if name in placed:
                raise TypeMismatchError(
                    f"the input {name!r} of {self._label()} is given twice", at=here()
                )
            placed[name] = value
        missing = [name for name in names if placed.get(name) is None]
        if missing:
            raise TypeMismatchError(
                f"the input {missing[0]!r} of {self._label()} is not given", at=here()
            )
        return placed

    def _build(self, given: Mapping[str, object]) -> Built:
        """Runs `generate`, and checks what it made."""
        if self._stage == "new":
            self._declare()
        if self._stage != "declared":
            self._misused()
        self._stage = "built"
        for name, port in self._ports.items():
            object.__setattr__(self, name, port.made(given.get(name)))
        with self.context():
            self.generate()
        arguments = tuple([getattr(self, p.name) for p in self._inputs()])
        names = [p.name for p in self._inputs()]
        outputs: list[Func] = []
        for port in self._ports.values():
            if not port.is_output:
                continue
            f: Func = getattr(self, port.name)
            if not f.defined():
                raise DefinitionError(
                    f"{self._label()} did not define its output {port.name!r}",
                    at=here(),
                    hint=f"generate() must: self.{port.name}[…] = …",
                )
            port.check(f.types(), f.dimensions())
            outputs.append(f)
            several = len(port.types) > 1
            names += (
                [f"{port.name}_{i}" for i in range(len(port.types))]
                if several
                else [port.name]
            )
        for name in names:
            if names.count(name) > 1:
                raise DefinitionError(
                    f"two arguments of {self._label()} are called {name!r}: an output "
                    "of several values has its name with _0, _1, … for them",
                    at=here(),
                    hint="give one of the two another name",
                )
        pipeline = Pipeline(outputs)
        for condition, shown in self._requirements:
            pipeline.add_requirement(condition, *shown)
        return Built(pipeline, arguments, tuple(names), "")

    def _misused(self) -> NoReturn:
        raise DefinitionError(
            f"an instance of {self._label()} is used a second time",
            at=here(),
            hint="make a new one for each use",
        )


def _params(given: object) -> Mapping[str, object]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all([isinstance(k, str) for k in given]):
        raise TypeMismatchError(
            f"generator_params is a dict from names to values, not {given!r:.60}",
            at=here(),
        )
    return given


# Names.


def generator(name: str = "") -> Decorator[[_C], _C]:
    """Returns a decorator that makes a Generator of a class, and registers it by
    `name`.

    Without `name`, it has the name of the class, after that of the module and a dot
    unless that is ``__main__``. The class may inherit from hl.Generator or not. Raises
    DefinitionError if another Generator has the name, or the class has no method
    generate, and TypeMismatchError for what is no class or no name.

    >>> @hl.alias(steep={"slope": 5})
    ... @hl.generator(name="ramp")
    ... class Ramp(hl.Generator):
    ...     slope = hl.GeneratorParam(1)
    ...     out = hl.OutputBuffer(hl.Int(32), 1)
    ...     def generate(self):
    ...         self.out[x] = self.slope * x
    >>> steep = hl.create_callable_from_generator(hl.get_host_target(), "steep")
    >>> out = np.zeros(3, np.int32)
    >>> steep(out), out.tolist()
    (0, [0, 5, 10])
    """
    if not isinstance(name, str):
        raise TypeMismatchError(
            f"@hl.generator takes the name of the Generator, not {name!r:.60}",
            at=here(),
            hint="write @hl.generator() or @hl.generator('name') above the class",
        )

    def register(cls: _C) -> _C:
        if not inspect.isclass(cls):
            raise TypeMismatchError(
                f"@hl.generator stands above a class, not {cls!r:.60}", at=here()
            )
        generate = getattr(cls, "generate", None)
        if not callable(generate) or getattr(generate, "__isabstractmethod__", False):
            raise DefinitionError(
                f"the class {cls.__name__} has no method generate(self), which builds "
                "the pipeline",
                at=here(),
            )
        own = cls.__qualname__
        if cls.__module__ != "__main__":
            own = f"{cls.__module__}.{own}"
        return _registered(cls, name or own, {})

    return register


def _registered(cls: _C, name: str, params: Mapping[str, object]) -> _C:
    """A Generator that does what `cls` does, known by `name`."""
    known = _KNOWN.get(name)
    if known is not None and not _again(known, cls):
        raise DefinitionError(
            f"there is a Generator {name!r} already, the class {known.__qualname__} of "
            f"the module {known.__module__}",
            at=here(),
        )
    bases = (cls,) if issubclass(cls, Generator) else (cls, Generator)
    members = {
        "_registered_name": name,
        "_alias_params": params,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
    }
    made: Any = types.new_class(cls.__name__, bases, {}, lambda ns: ns.update(members))
    _KNOWN[name] = made
    result: _C = made
    return result


def _again(known: type, cls: type) -> bool:
    """Returns whether a class is the same one, which its module defines once more."""
    return hasattr(sys, "ps1") or (known.__module__, known.__qualname__) == (
        cls.__module__,
        cls.__qualname__,
    )


def alias(**kwargs: Mapping[str, object]) -> Decorator[[_C], _C]:
    """Returns a decorator that registers a Generator under further names.

    Each name has values of its own for GeneratorParams; `generator` has an example.
    Raises DefinitionError if what is below is no registered Generator or a name is
    taken, and TypeMismatchError for what is no dict.
    """

    def register(cls: _C) -> _C:
        if not (isinstance(cls, type) and issubclass(cls, Generator)):
            raise DefinitionError(
                "@hl.alias stands above @hl.generator, which makes a Generator first",
                at=here(),
            )
        for name, params in kwargs.items():
            check_port_name(name)
            if not isinstance(params, Mapping):
                raise TypeMismatchError(
                    f"the alias {name!r} is a dict of GeneratorParams, not "
                    f"{params!r:.60}",
                    at=here(),
                )
            _registered(cls, name, dict(params))
        return cls

    return register


def registered_generators() -> list[str]:
    """Returns the names of all Generators, in the order in which they were
    registered."""
    return list(_KNOWN)


def find_generator(name: str) -> type[Generator]:
    """Returns the Generator of a name. Raises HalideError if there is none."""
    found = _KNOWN.get(name)
    if found is None:
        raise HalideError(
            f"there is no Generator {name!r}",
            at=here(),
            legal=registered_generators(),
            hint="" if _KNOWN else "@hl.generator above a class makes one of it",
        )
    return found


def create_callable_from_generator(
    target: Target | GeneratorContext,
    name: str,
    generator_params: Mapping[str, object] | None = None,
) -> Callable:
    """Returns the pipeline of a registered Generator compiled as a function, a
    `Callable`.

    It takes the inputs and then the outputs, by position or by name. `target` is a
    Target or a GeneratorContext; `generator_params` has values by name, as Python
    values or as text. `generator` has an example. Raises HalideError for a name that no
    Generator has, and the errors of `Generator`.
    """
    context = target
    if not isinstance(context, GeneratorContext):
        context = GeneratorContext(context)
    with context:
        return find_generator(name)(generator_params).compile_to_callable()


__all__ = [
    "Built",
    "Generator",
    "alias",
    "create_callable_from_generator",
    "find_generator",
    "generator",
    "registered_generators",
]
