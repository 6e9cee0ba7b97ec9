"""C functions in expressions: `extern_function`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from parhelion.errors import DefinitionError, TypeMismatchError, here
from parhelion.ir.build import cast
from parhelion.ir.expr import Extern
from parhelion.ir.externs import FUNCTIONS, CFunction
from parhelion.lang.convert import literal_as, node_or_none, not_a_value
from parhelion.lang.expr import Expr, ExprLike, wrap
from parhelion.types import Type, TypeCode

#: The C types of scalars, by kind and width.
_C_TYPES: dict[tuple[TypeCode, int], Any] = {
    (TypeCode.Int, 8): ctypes.c_int8,
    (TypeCode.Int, 16): ctypes.c_int16,
    (TypeCode.Int, 32): ctypes.c_int32,
    (TypeCode.Int, 64): ctypes.c_int64,
    (TypeCode.UInt, 1): ctypes.c_bool,
    (TypeCode.UInt, 8): ctypes.c_uint8,
    (TypeCode.UInt, 16): ctypes.c_uint16,
    (TypeCode.UInt, 32): ctypes.c_uint32,
    (TypeCode.UInt, 64): ctypes.c_uint64,
    (TypeCode.Float, 32): ctypes.c_float,
    (TypeCode.Float, 64): ctypes.c_double,
}

#: No program has anything at lower addresses, so that null pointers show.
_FIRST_PAGE = 4096

_Pointer: Any = ctypes.CFUNCTYPE(None).__mro__[1]

#: What stands for a C function: its name in this process or in the C library, a
#: function of a ``ctypes`` library (or made by CFUNCTYPE), or an address.
CPointer = Any


def c_type(t: Type, what: str) -> Any:
    """The ctypes type of a scalar type."""
    found = _C_TYPES.get((t.kind, t.width)) if isinstance(t, Type) else None
    if found is None or t.count != 1:
        raise TypeMismatchError(
            f"{what} is of type {t}, which C functions are not given here",
            at=here(),
            legal=["hl.Int(8..64)", "hl.UInt(1..64)", "hl.Float(32)", "hl.Float(64)"],
        )
    return found


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    import ctypes.util  # it loads much, for what few programs need

    return (
        ctypes.CDLL(None),
        ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6"),
    )


def is_pointer(function: object) -> bool:
    """Whether this is a function of ctypes."""
    return isinstance(function, _Pointer)


def address_of(function: CPointer, what: str) -> tuple[str, str, int]:
    """A C function's unique name, what the user calls it, and where it is."""
    if isinstance(function, str):
        for library in _libraries():
            # Not by getattr: ctypes' own attributes are no functions of a library.
            with suppress(AttributeError, ValueError):
                found = library[function]
                address = ctypes.cast(found, ctypes.c_void_p).value or 0
                return function, function, address
        raise DefinitionError(
            f"{what}: there is no C function {function!r} in this process",
            at=here(),
            hint="load its library with ctypes.CDLL(path) and pass the function, "
            f"library.{function}",
        )
    if is_pointer(function):
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        name = getattr(function, "__name__", "function")
    elif isinstance(function, int) and not isinstance(function, bool):
        address, name = function, "function"
    else:
        raise TypeMismatchError(
            f"{what} takes the name of a C function, a function of a ctypes library or "
            f"an address, not {function!r:.60}",
            at=here(),
        )
    if not 0 <= address < 1 << 8 * ctypes.sizeof(ctypes.c_void_p):
        raise DefinitionError(f"{what}: {address} is no address", at=here())
    if address == 0:
        raise DefinitionError(f"{what}: the function is a null pointer", at=here())
    if address < _FIRST_PAGE:
        raise DefinitionError(
            f"{what}: there is no function at the address {address}", at=here()
        )
    return f"{name}@{address:x}", name, address


class ExternFunction:
    """A C function of scalars, to be called in expressions; made by `extern_function`.

    >>> root = hl.extern_function("sqrtf", hl.Float(32), [hl.Float(32)])
    >>> root.name()
    'sqrtf'
    """

    __slots__ = ("_function", "_given")

    def __init__(self, function: CFunction, given: CPointer) -> None:
        self._function, self._given = function, given

    def name(self) -> str:
        """Returns the name of the C function."""
        return self._function.known_as

    def __call__(self, *args: ExprLike) -> Expr:
        """Returns the value of the C function for these arguments, at every point.

        Raises TypeMismatchError for arguments of other numbers or types.
        """
        known = self._function
        if len(args) != len(known.params):
            raise TypeMismatchError(
                f"the C function {self.name()!r} takes {len(known.params)} arguments, "
                f"not {len(args)}",
                at=here(),
            )
        made = []
        for i, (a, t) in enumerate(zip(args, known.params, strict=True)):
            n = node_or_none(a)
            if n is None:
                if not isinstance(a, int | float):
                    raise not_a_value(a)
                n = literal_as(a, t)
            if n.type is not t and not t.can_represent(n.type):
                raise TypeMismatchError(
                    f"argument {i} of the C function {self.name()!r} is of type {t}; a "
                    f"value of type {n.type} is given",
                    at=here(),
                    hint="cast it: hl.cast(hl.Bool(), …)"
                    if t.is_bool()
                    else f"cast it: hl.cast(hl.{t.kind.name}({t.width}), …)",
                )
            made.append(cast(t, n))
        return wrap(Extern(known.result, known.name, tuple(made)))

    def __repr__(self) -> str:
        params = ", ".join(map(str, self._function.params))
        prototype = f"{self._function.result} {self.name()}({params})"
        return f"<parhelion.ExternFunction {prototype}>"


def extern_function(
    function: CPointer, result_type: Type, arg_types: Sequence[Type]
) -> ExternFunction:
    """Returns a C function that can be called in expressions.

    function: the name of a function of this process or of the C library ("cbrtf"); a
        function of a library that ctypes has loaded (``ctypes.CDLL(path).f``); a ctypes
        callback; or an address.
    result_type, arg_types: the types of the C prototype. Where ctypes knows none, wrong
        types have the consequences that they have in C.

    The function must be pure (equal arguments give equal results, and nothing else
    happens), safe to call from several threads, and defined for all values: the
    schedule decides how often it is called and for which points. Vectorized loops call
    it for each lane. A callback must not raise: ctypes prints the exception, and the
    value is undefined.

    Raises DefinitionError if there is no such function, and TypeMismatchError for types
    that C calls cannot take or that differ from what ctypes knows. (Halide's C++ has
    the macros HalideExtern_1 and so on.)

    >>> root = hl.extern_function("sqrtf", hl.Float(32), [hl.Float(32)])
    >>> hl.evaluate(root(9.0))
    3.0
    """
    what = "extern_function"
    name, its_name, address = address_of(function, what)
    restype = c_type(result_type, "the result")
    params = [c_type(t, f"argument {i}") for i, t in enumerate(arg_types)]
    if not params:
        raise TypeMismatchError(
            f"{what}: a pure function without arguments is a constant", at=here()
        )
    _check_prototype(function, restype, params, what)
    prototype = (result_type, tuple(arg_types))
    key = name
    known = FUNCTIONS.get(key)
    if known is not None and (known.result, known.params) != prototype:
        if _named(function):
            raise TypeMismatchError(
                f"{what}: {function!r:.60} was given another prototype before, "
                f"{known.result} of ({', '.join(map(str, known.params))})",
                at=here(),
            )
        # An address alone does not say that what was there before is there still.
        key = f"{name}.{'.'.join(map(str, (result_type, *arg_types)))}"
        known = FUNCTIONS.get(key)
    if known is None:
        call = ctypes.CFUNCTYPE(restype, *params)(address)
        known = FUNCTIONS[key] = CFunction(key, its_name, *prototype, address, call)
    if is_pointer(function):
        _KEPT.append(function)  # its library, or its callback, stays
    return ExternFunction(known, function)


def _check_prototype(
    function: CPointer, result: Any, params: list[Any], what: str
) -> None:
    """Raises TypeMismatchError if ctypes knows another prototype of a function."""
    if not is_pointer(function) or function.argtypes is None:
        return
    known = [function.restype, *function.argtypes]
    if len(known) == 1 + len(params) and all(map(_alike, known, [result, *params])):
        return
    names = [getattr(t, "__name__", str(t)) for t in known]
    told = f"{names[0]} of ({', '.join(names[1:])})"
    raise TypeMismatchError(
        f"{what}: by ctypes, {function!r:.60} is {told}",
        at=here(),
        hint="give result_type and arg_types that say the same",
    )


def _alike(known: Any, given: Any) -> bool:
    """Whether numbers of two ctypes are passed the same way."""
    code, other = getattr(known, "_type_", ""), given._type_
    if not isinstance(code, str) or not code:
        return False
    floats = code in "fdg", other in "fdg"
    return ctypes.sizeof(known) == ctypes.sizeof(given) and floats[0] is floats[1]


def _named(function: CPointer) -> bool:
    """Returns whether this is a function with a name, whose prototype never changes."""
    return isinstance(function, str) or hasattr(function, "__name__")


_KEPT: list[CPointer] = []

__all__ = ["CPointer", "ExternFunction", "address_of", "c_type", "extern_function"]
