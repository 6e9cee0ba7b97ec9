"""`Callable`: a compiled pipeline as a Python function of its inputs and outputs."""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    HalideError,
    InvalidBufferError,
    TypeMismatchError,
    here,
)
from parhelion.ir.bindings import SET
from parhelion.ir.names import shown_names
from parhelion.ir.pipeline import Argument as IRArgument
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.given import Number, check_image
from parhelion.lang.given_images import MOST_REMEMBERED, GivenImage, remember
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.judging import judge
from parhelion.lang.param import Param, checked_value
from parhelion.lang.pickling import Written, check_unchanged
from parhelion.lang.runner import Runner
from parhelion.runtime.call import Call
from parhelion.runtime.foreign import KeptPixelsError
from parhelion.runtime.layout import Layout, overlap
from parhelion.runtime.program import PLAIN, Options, Variant
from parhelion.tracebacks import ends_itself, leave
from parhelion.types import Type

if TYPE_CHECKING:
    from parhelion.ir.pipeline import Requirement
    from parhelion.lang.func import Func


class ArgumentKind(enum.Enum):
    """What an argument of a compiled pipeline is: a number, an input or an output
    image."""

    InputScalar = 0
    InputBuffer = 1
    OutputBuffer = 2


class Argument:
    """An ImageParam or a Param that a compiled pipeline takes; made by
    `infer_arguments`.

    name: its name.
    kind: an ArgumentKind.
    type: the Type of the number, or of the image's pixels.
    dimensions: how many an image has; 0 for a number.

    >>> gain = hl.Param(hl.Float(32), "gain")
    >>> f = hl.Func()
    >>> f[x] = x * gain
    >>> f.infer_arguments()
    [<parhelion.Argument 'gain' InputScalar float32>]
    """

    __slots__ = ("_symbol", "dimensions", "kind", "name", "type")
    _symbol: BufferSym | ParamSym
    name: str
    kind: ArgumentKind
    type: Type
    dimensions: int

    @classmethod
    def _of(cls, symbol: BufferSym | ParamSym) -> Argument:
        made = cls.__new__(cls)
        made._symbol, made.name, made.type = symbol, symbol.name, symbol.type
        if isinstance(symbol, ParamSym):
            made.kind, made.dimensions = ArgumentKind.InputScalar, 0
        else:
            made.kind, made.dimensions = ArgumentKind.InputBuffer, len(symbol.dims)
        return made

    def is_buffer(self) -> bool:
        """Returns whether it is an image."""
        return self.kind is not ArgumentKind.InputScalar

    def is_scalar(self) -> bool:
        """Returns whether it is a number."""
        return self.kind is ArgumentKind.InputScalar

    def is_input(self) -> bool:
        """Returns whether the pipeline reads it."""
        return self.kind is not ArgumentKind.OutputBuffer

    def is_output(self) -> bool:
        """Returns whether the pipeline computes into it."""
        return self.kind is ArgumentKind.OutputBuffer

    def __repr__(self) -> str:
        return f"<parhelion.Argument {self.name!r} {self.kind.name} {self.type}>"


ArgumentLike: TypeAlias = ImageParam | Param | Argument


def _symbol(argument: object) -> BufferSym | ParamSym:
    if isinstance(argument, ImageParam | Param):
        return argument._sym
    if isinstance(argument, Argument):
        return argument._symbol
    raise TypeMismatchError(
        f"an argument is an ImageParam or a Param, not {argument!r:.60}",
        at=here(),
    )


def symbols_of(arguments: Sequence[ArgumentLike]) -> list[BufferSym | ParamSym]:
    """Returns the symbols of the arguments of a compiled pipeline."""
    if isinstance(arguments, ImageParam | Param):
        raise TypeMismatchError(
            f"the arguments are a list, not {arguments!r:.60}",
            at=here(),
            hint=f"[{arguments.name()}]",
        )
    return [_symbol(a) for a in arguments]


class Callable:
    """A pipeline compiled as a Python function: ``c(image, gain, output)``.

    ``f.compile_to_callable([image, gain])`` makes it. It takes the arguments of that
    list and then a Buffer or NumPy array for each output value, by position or by name.
    A call computes into the outputs and returns 0. It raises TypeMismatchError for
    arguments that are missing or do not fit, and what `Pipeline.realize` raises.

    >>> image, gain = hl.ImageParam(hl.UInt(8), 1), hl.Param(hl.UInt(8))
    >>> f = hl.Func()
    >>> f[x] = image[x] * gain
    >>> scale = f.compile_to_callable([image, gain])
    >>> out = np.empty(3, np.uint8)
    >>> scale(np.array([1, 2, 3], np.uint8), 10, out)
    0
    >>> out.tolist()
    [10, 20, 30]
    """

    def __init__(
        self,
        funcs: Sequence[Func],
        arguments: Sequence[ArgumentLike],
        options: Options = PLAIN,
        names: Sequence[str] | None = None,
        requirements: Sequence[Requirement] = (),
    ) -> None:
        functions = [f._function for f in funcs]
        inputs = symbols_of(arguments)
        targets = [b for f in functions for b in f.buffers]
        self._symbols: tuple[BufferSym | ParamSym, ...] = (*inputs, *targets)
        #: By which arguments may be given, and what failures call them; the names of
        #: the images and Funcs by default.
        self._names = [s.name for s in self._symbols] if names is None else list(names)
        called = {
            s.name: name
            for s, name in zip(self._symbols, self._names, strict=True)
            if s.name != name
        }
        self._runner = runner = Runner(
            functions, functions[0].name, requirements, called
        )
        runner.refresh()
        self._inputs = len(inputs)
        self._options = options
        plain = Variant(
            strict_float=options.strict_float,
            profile=options.profile,
            device=runner.device,
        )
        self._usual = program = runner.program(plain)
        self._places, self._bound = self._planned(program.lowered.args)
        self._call = program.call.rearranged(self._places)
        self._images = [
            (i, GivenImage(s, i >= self._inputs, self._names[i]))
            for i, s in enumerate(self._symbols)
            if isinstance(s, BufferSym)
        ]
        #: Bool parameters must be 0 or 1 before they are packed.
        self._bools = [
            i
            for i, s in enumerate(self._symbols)
            if isinstance(s, ParamSym) and s.type.is_bool()
        ]
        #: Layouts of earlier calls that needed nothing special.
        self._settled: set[tuple[Layout, ...]] = set()
        #: For layouts of earlier calls that needed other code, that code and layouts as
        #: it expects them.
        self._others: dict[tuple[Layout, ...], tuple[Call, list[object]]] = {}

    def _planned(self, args: Sequence[IRArgument]) -> tuple[list[int], list[BufferSym]]:
        """Returns the place in the call of each argument of the code, and embedded
        images.

        Embedded images are Buffers that the algorithm mentions; they follow the
        arguments.
        """
        places = {s: i for i, s in enumerate(self._symbols)}
        bound: list[BufferSym] = []
        missing: list[str] = []
        for a in args:
            if a.symbol in places:
                continue
            if isinstance(a.symbol, BufferSym) and a.embedded:
                places[a.symbol] = len(self._symbols) + len(bound)
                bound.append(a.symbol)
            else:
                missing.append(a.name)
        if missing:
            raise DefinitionError(
                f"the pipeline also depends on {', '.join(map(repr, missing))}, which "
                "the list of arguments lacks",
                at=here(),
                hint="f.infer_arguments() gives all of them",
            )
        return [places[a.symbol] for a in args], bound

    def __reduce__(self) -> tuple[Any, ...]:
        """It pickles by its pipeline, which is compiled (or found in the cache) where
        the pickle is read."""
        runner = self._runner
        check_unchanged(runner)
        listed = self._symbols[: self._inputs]
        asked = runner.reach.requirements
        written = Written.of(runner.outputs, asked, listed, embedded=True)
        return _unpickled, (written, self._options, self._names)

    @ends_itself
    def __call__(self, *args: object, **named: object) -> int:
        """Runs the pipeline and returns 0; raises the HalideError of a run that
        fails."""
        try:
            if named or len(args) != len(self._symbols):
                args = self._placed(args, named)
            values, layouts = list(args), []
            for i, image in self._images:
                values[i] = layout = image(args[i])
                layouts.append(layout)
            if self._bound:
                embedded = [check_image(sym, SET.of(sym)) for sym in self._bound]
                values += embedded
                layouts += embedded
            together, call = tuple(layouts), self._call
            other = self._others.get(together)
            if other is not None:
                call, fitting = other
                for (i, _), fit in zip(self._images, fitting, strict=False):
                    values[i] = fit
                values[len(args) :] = fitting[len(self._images) :]
            elif together not in self._settled:
                if self._runner.is_new():
                    self._judge(args, layouts)
                if not self._is_plain(layouts):
                    self._run_specially(args, together)
                    return 0
                if len(self._settled) >= MOST_REMEMBERED:
                    self._settled.clear()
                self._settled.add(together)
            if self._bools:
                self._check_scalars(args)
            try:
                call.run(values)
            except (struct.error, OverflowError, TypeError):
                self._check_scalars(args)
                raise
            except (BoundsError, InvalidBufferError) as error:
                if isinstance(error, KeptPixelsError):
                    error.hold([*args, *[SET.of(sym) for sym in self._bound]])
                if not error.failure:
                    raise  # foreign code of the user's raised it
                # An output smaller than a tile, perhaps, which has code of its own;
                # what has none fails again, and its message says more.
                self._run_specially(args, together)
            return 0
        except BaseException as error:
            leave(error)
            raise

    def _is_plain(self, layouts: Sequence[Layout]) -> bool:
        """Returns whether the compiled code serves these arrays without further checks.

        It does if their layouts are plain and no output overlaps another array.
        """
        if not all([layout.plain for layout in layouts]):
            return False
        inputs = sum(i < self._inputs for i, _ in self._images)
        for at in range(inputs, len(self._images)):
            rest = (*layouts[:at], *layouts[len(self._images) :])
            if any([overlap(layouts[at], other) for other in rest]):
                return False
        return True

    def _check_scalars(self, args: Sequence[object]) -> dict[ParamSym, Number]:
        """The scalar arguments as numbers; raises if a type cannot hold one."""
        return {
            sym: checked_value(given, sym.type, name)
            for sym, name, given in zip(self._symbols, self._names, args, strict=True)
            if isinstance(sym, ParamSym)
        }

    def _placed(
        self, args: tuple[object, ...], named: dict[str, object]
    ) -> tuple[object, ...]:
        """Arguments given by name put into their places."""
        if len(args) > len(self._symbols):
            raise TypeMismatchError(
                f"the Callable takes {len(self._symbols)} arguments "
                f"({', '.join(self._names)}); {len(args)} are given",
                at=here(),
            )
        rest = dict(named)
        placed = list(args)
        shown = shown_names(self._names)
        for own in self._names[len(args) :]:
            name = own if own in rest else shown[own]
            if name not in rest:
                raise TypeMismatchError(
                    f"the argument {name!r} of the Callable is missing; it takes "
                    f"{', '.join(self._names)}",
                    at=here(),
                )
            placed.append(rest.pop(name))
        if rest:
            raise TypeMismatchError(
                f"{next(iter(rest))!r} is no argument of the Callable, or is given "
                "twice",
                at=here(),
                legal=self._names,
            )
        return tuple(placed)

    def _given(self, layouts: Sequence[Layout]) -> dict[BufferSym, Layout]:
        """The layout of each image and output."""
        symbols = (*self._symbols, *self._bound)
        return dict(
            zip([s for s in symbols if isinstance(s, BufferSym)], layouts, strict=True)
        )

    def _judge(self, args: Sequence[object], layouts: Sequence[Layout]) -> None:
        """What `judge` says of a pipeline at its first call."""
        runner = self._runner
        given = self._given(layouts)
        boxes = [
            list(zip(given[s].mins, given[s].extents, strict=True))
            for s in runner.targets
        ]
        images = {s: v for s, v in given.items() if s not in runner.targets}
        judge(runner, boxes, images, self._check_scalars(args))

    def _run_specially(
        self, args: Sequence[object], layouts: tuple[Layout, ...]
    ) -> None:
        """Runs a call whose arrays need another variant of the code, or a copy. Which
        variant it was is remembered for the next one with such arrays."""
        runner = self._runner
        given = self._given(layouts)
        images = {s: v for s, v in given.items() if s not in runner.targets}
        rest = args[self._inputs :]
        outputs = [b if isinstance(b, Buffer) else Buffer(b) for b in rest]
        variant = runner.variant(given, self._options)
        if not runner.has(variant) and not runner.refresh():
            raise HalideError(
                f"Func {runner.name!r} was changed after compile_to_callable, and the "
                "layout of the images given needs other code",
                at=here(),
                hint="make a new Callable",
            )
        scalars = self._check_scalars(args)
        try:
            served = runner.run(images, outputs, scalars, self._options)
        except KeptPixelsError as error:
            error.hold(args)
            raise
        if served is None or runner.device is not None:
            return
        if any([layout.copy is not None for layout in layouts]):
            return  # it would keep the image
        program = runner.program(served)
        places, _ = self._planned(program.lowered.args)
        symbols = [a.symbol for a in program.lowered.args]
        expected = runner.values(program, given, scalars)
        fits = dict(zip(symbols, expected, strict=True))
        fitting = [fits.get(s, layout) for s, layout in given.items()]
        call = program.call.rearranged(places)
        remember(self._others, layouts, (call, fitting))


def _unpickled(written: Written, options: Options, names: Sequence[str]) -> Callable:
    funcs, requirements, listed = written.read()
    arguments = [Argument._of(s) for s in listed]
    return Callable(funcs, arguments, options, names, requirements)
