"""The C interface of a compiled pipeline: names, types and order of its arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from parhelion.errors import HalideError, here
from parhelion.ir.pipeline import ArgKind, Argument, Lowered
from parhelion.ir.symbols import BufferSym
from parhelion.types import Type

#: Words that no parameter may be called.
_RESERVED = frozenset(
    re.findall(
        r"\w+",
        """alignas alignof and asm auto bool break case catch char class const constexpr
        continue decltype default delete do double else enum explicit export extern
        false float for friend goto if inline int long mutable namespace new not nullptr
        operator or private protected public register restrict return short signed
        sizeof static struct switch template this throw true try typedef typename union
        unsigned using virtual void volatile while xor""",
    )
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """name: a C identifier, unique among the function's. argument: what it is for."""

    name: str
    argument: Argument

    @property
    def is_buffer(self) -> bool:
        return isinstance(self.argument.symbol, BufferSym)

    @property
    def type(self) -> Type:
        return self.argument.symbol.type

    @property
    def dimensions(self) -> int:
        symbol = self.argument.symbol
        return len(symbol.dims) if isinstance(symbol, BufferSym) else 0

    @property
    def is_output(self) -> bool:
        return self.argument.kind is ArgKind.OUTPUT

    def declaration(self) -> str:
        """As it stands in a C function's list."""
        if self.is_buffer:
            return f"struct halide_buffer_t *_{self.name}_buffer"
        kind = c_type(self.type)
        return f"{kind}{'' if kind.endswith('*') else ' '}_{self.name}"


@dataclass(frozen=True, slots=True)
class Interface:
    """A compiled function as C callers see it.

    name: of the function. user_context: whether it takes the caller's context first.
    parameters: the arguments that callers give. embedded: the images whose pixels are
    part of the object file.
    """

    name: str
    parameters: tuple[Parameter, ...]
    embedded: tuple[BufferSym, ...]
    user_context: bool

    def signature(self) -> str:
        """The C declaration, without a semicolon."""
        listed = [p.declaration() for p in self.parameters]
        if self.user_context:
            listed.insert(0, "void const *__user_context")
        return f"int {self.name}({', '.join(listed) or 'void'})"


def c_type(t: Type) -> str:
    """The C type of a scalar argument; of a float16 or bfloat16, its bits."""
    if t.is_handle():
        return "void const *"
    if t.is_bool():
        return "bool"
    if t.is_float():
        return {64: "double", 32: "float"}.get(t.width, f"uint{t.width}_t")
    if t.is_int_or_uint():
        return f"{'' if t.is_int() else 'u'}int{t.width}_t"
    return f"uint{t.width}_t"


def interface_of(lowered: Lowered, name: str, user_context: bool = False) -> Interface:
    """The C interface of a pipeline. Raises HalideError for a name that C has not."""
    check_name(name)
    taken: set[str] = set()
    parameters: list[Parameter] = []
    embedded: list[BufferSym] = []
    for a in lowered.args:
        if isinstance(a.symbol, BufferSym) and a.symbol.bound is not None:
            embedded.append(a.symbol)
            continue
        wish = _identifier(a.name)
        found, n = wish, 1
        while found in taken:
            n += 1
            found = f"{wish}_{n}"
        taken.add(found)
        parameters.append(Parameter(found, a))
    return Interface(name, tuple(parameters), tuple(embedded), user_context)


def check_name(name: str) -> None:
    """Raises HalideError unless `name` can be that of a C function."""
    if "::" in name:
        raise HalideError(
            f"the function {name!r} would be in a C++ namespace, which is not "
            "available yet",
            at=here(),
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in _RESERVED:
        raise HalideError(
            f"{name!r} is no name for a C function",
            at=here(),
            hint="letters, digits and underscores, a digit not first",
        )


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return f"v{plain}" if not plain or plain[0].isdigit() else plain


__all__ = ["Interface", "Parameter", "c_type", "check_name", "interface_of"]
