"""`Func.define_extern`: Funcs that foreign code computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.build import int32
from parhelion.ir.changes import CHANGES
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad, Intrinsic
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.externs import Parameter
from parhelion.ir.function import Definition, Function
from parhelion.ir.names import user_var
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.convert import node_of
from parhelion.lang.extern import c_type
from parhelion.lang.extern_stage import (
    BoundsFunction,
    NameMangling,
    make_stage,
)
from parhelion.lang.imageparam import OutputImageParam
from parhelion.lang.param import Param
from parhelion.lang.ref import describe
from parhelion.lang.var import Var
from parhelion.schedule.directives import DeviceAPI, StageSchedule
from parhelion.types import Type


class ExternFuncArgument:
    """An argument for foreign code: a Func, an image, a Param or a number.

    `Func.define_extern` takes the thing itself as well.

    >>> hl.ExternFuncArgument(hl.Func("f")).is_func()
    True
    """

    __slots__ = ("_given",)

    def __init__(self, value: object = None) -> None:
        while isinstance(value, ExternFuncArgument):
            value = value._given
        self._given: object = value

    def defined(self) -> bool:
        """Returns whether it is anything: False for ``hl.ExternFuncArgument()``."""
        return self._given is not None

    def is_func(self) -> bool:
        """Returns whether it is a Func."""
        return isinstance(getattr(self._given, "_function", None), Function)

    def is_buffer(self) -> bool:
        """Returns whether it is a Buffer."""
        return isinstance(self._given, Buffer)

    def is_image_param(self) -> bool:
        """Returns whether it is an ImageParam."""
        return isinstance(self._given, OutputImageParam)

    def is_expr(self) -> bool:
        """Returns whether it is a number or an expression."""
        return self.defined() and not (
            self.is_func() or self.is_buffer() or self.is_image_param()
        )


class ExternDefinition:
    """The methods of Func for definitions by foreign code."""

    __slots__ = ()
    _function: Function

    def define_extern(
        self,
        function_name: object,
        params: Sequence[object],
        types: Type | Sequence[Type],
        arguments: int | Sequence[Var],
        mangling: NameMangling = NameMangling.Default,
        device_api: DeviceAPI = DeviceAPI.Host,
        *,
        bounds: BoundsFunction | None = None,
    ) -> None:
        """Defines the Func by foreign code, which computes a whole region of it at
        once.

        function_name: a C function, by its name in this process or as a function of a
            library that ctypes has loaded; or a Python callable.
        params: what it is given, in order: Funcs (a buffer for each of their values),
            Buffers, ImageParams, Params, numbers, and scalar Exprs over Params.
        types: the types of the values.
        arguments: the Vars, or the number of dimensions.
        bounds: what a Python callable reads, as a function (see below).

        A C function has the type ``int f(params…, halide_buffer_t *outputs…)`` and is
        called in two ways. Where the ``host`` of the buffers is null, it sets min and
        extent of its inputs to what it reads for the region of the outputs. Otherwise
        it writes all of the outputs. It returns 0, or a code that the run then fails
        with.

        A Python callable takes its params and then the outputs as Buffers over the
        pipeline's memory, which are valid during the call; it writes the outputs.
        ``bounds(region, numbers…)`` returns what it reads: for each buffer a list with
        (min, extent) of each dimension. Without `bounds` it reads the region that it
        writes. An exception ends the run, and `realize` raises it.

        The Func is scheduled by compute_root and compute_at, without loops of its own;
        Funcs that it is given must not be inlined. A parallel loop calls the code from
        several threads. Raises DefinitionError if the Func is defined already, or a
        Func that it is given is not; TypeMismatchError for arguments of other kinds.

        >>> f, g = hl.funcs("f g")
        >>> f[x] = x * x
        >>> def reverse(source, out):
        ...     np.asarray(out)[:] = np.asarray(source)[::-1]
        >>> g.define_extern(reverse, [f.compute_root()], hl.Int(32), 1)
        >>> np.asarray(g.realize([4])).tolist()
        [9, 4, 1, 0]
        """
        f = self._function
        label = f"{f.name}.define_extern"
        site = here()
        if f.defined:
            raise DefinitionError(
                f"{describe(f)} is defined already; define_extern defines it anew",
                at=site,
            )
        if f.frozen:
            raise DefinitionError(
                f"{describe(f)} takes no further definition: another Func is already "
                "defined by it",
                at=site,
            )
        results = (types,) if isinstance(types, Type) else tuple(types)
        if not results or not all(isinstance(t, Type) for t in results):
            raise TypeMismatchError(
                f"{label}: the types of the values are Types, not {types!r:.60}",
                at=site,
            )
        if device_api not in (DeviceAPI.Host, DeviceAPI.None_):
            raise TypeMismatchError(
                f"{label}: foreign code runs on the host, not on {device_api.name}",
                at=site,
            )
        if mangling is NameMangling.CPlusPlus and isinstance(function_name, str):
            raise TypeMismatchError(
                f"{label}: names are C's; pass a C++ function as a ctypes function",
                at=site,
            )
        args = _arguments(f, arguments, label)
        given: list[Node] = []
        for p in params:
            given += _given(p, label)
        made = make_stage(
            function_name,
            bounds,
            f.name,
            tuple([_parameter(n, label) for n in given]),
            results,
            len(args),
        )
        values = tuple([Intrinsic(t, "extern_value", tuple(given)) for t in results])
        with CHANGES:
            f.args, f.types, f.site, f.extern = args, results, site, made
            f.schedule.storage_order = tuple(range(len(args)))
            f.pure = Definition(args, values, None, StageSchedule(), site)
            for n in given:
                if isinstance(n, FuncCall):
                    n.func.frozen = True

    def is_extern(self) -> bool:
        """Returns whether foreign code computes the Func."""
        return self._function.extern is not None

    def extern_function_name(self) -> str:
        """Returns the name of the foreign function.

        Raises DefinitionError if no foreign code computes the Func.
        """
        code = self._function.extern
        if code is None:
            raise DefinitionError(
                f"{describe(self._function)} is not computed by foreign code", at=here()
            )
        python = getattr(code, "function", None)
        if python is not None:
            return str(getattr(python, "__name__", type(python).__name__))
        return code.known_as


def _arguments(f: Function, given: object, label: str) -> tuple[IRVar, ...]:
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 0:
            raise TypeMismatchError(
                f"{label}: a Func has no {given} dimensions", at=here()
            )
        return tuple([user_var(f"_{i}") for i in range(given)])
    if isinstance(given, Sequence) and all(isinstance(v, Var) for v in given):
        made = tuple([v._var for v in given])
        if len(set(made)) == len(made):
            return made
    raise TypeMismatchError(
        f"{label} takes a number of dimensions or different Vars, not {given!r:.60}",
        at=here(),
    )


def _given(param: object, label: str) -> list[Node]:
    """The nodes of one parameter: a stand-in for each buffer, or a number."""
    if isinstance(param, ExternFuncArgument):
        param = param._given
    symbol: Any = getattr(param, "_sym", None)
    function = getattr(param, "_function", None)
    if isinstance(function, Function) and not hasattr(param, "_given"):
        if not function.defined:
            raise DefinitionError(f"{describe(function)} is not defined", at=here())
        zeros = (int32(0),) * function.dimensions
        return [FuncCall(t, function, zeros, i) for i, t in enumerate(function.types)]
    if isinstance(symbol, BufferSym):
        return [ImageLoad(symbol.type, symbol, (int32(0),) * len(symbol.dims))]
    if isinstance(param, Param) and isinstance(symbol, ParamSym):
        return [symbol.var]
    node = node_of(param)
    for n in nodes(node):
        if isinstance(n, FuncCall | ImageLoad) or (
            isinstance(n, IRVar) and not isinstance(n.origin, ParamSym)
        ):
            raise TypeMismatchError(
                f"{label}: a number that foreign code is given may depend on Params, "
                "not on Vars and pixels",
                at=here(),
                hint="pass the Func or image itself",
            )
    return [node]


def _parameter(n: Node, label: str) -> Parameter:
    if isinstance(n, FuncCall | ImageLoad):
        return Parameter(n.type, len(n.args))
    c_type(n.type, f"{label}: a number")
    return Parameter(n.type)


__all__ = ["ExternDefinition", "ExternFuncArgument"]
