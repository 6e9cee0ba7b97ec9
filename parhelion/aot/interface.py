"""The C interface of a compiled pipeline: names, types and order of its arguments."""

from __future__ import annotations

import re

from parhelion.codegen.c.names import WORDS, is_of_the_library, is_reserved
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.ir.pipeline import ArgKind, Argument, Lowered
from parhelion.ir.symbols import BufferSym
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class Parameter:
    """name: an identifier, unique among the function's. spelled: in a C declaration.
    argument: what it is for."""

    name: str
    spelled: str
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
            return f"struct halide_buffer_t *{self.spelled}"
        kind = c_type(self.type)
        return f"{kind}{'' if kind.endswith('*') else ' '}{self.spelled}"


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
    names: set[str] = set()
    spelled: set[str] = set()
    parameters: list[Parameter] = []
    embedded: list[BufferSym] = []
    for a in lowered.args:
        if isinstance(a.symbol, BufferSym) and a.symbol.embedded:
            embedded.append(a.symbol)
            continue
        unique = _unique(_identifier(a.name), names)
        end = "_buffer" if isinstance(a.symbol, BufferSym) else ""
        wish = f"_{unique}{end}"
        if is_reserved(wish):
            wish = f"_v{wish}"
        parameters.append(Parameter(unique, _unique(wish, spelled), a))
    return Interface(name, tuple(parameters), tuple(embedded), user_context)


def check_name(name: str) -> None:
    """Raises HalideError unless `name` can be that of a C function."""
    if "::" in name:
        raise HalideError(
            f"the function {name!r} would be in a C++ namespace, which is not "
            "available yet",
            at=here(),
        )
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or name in WORDS:
        raise HalideError(
            f"{name!r} is no name for a C function",
            at=here(),
            hint="letters, digits and underscores, a digit not first",
        )
    owner = ""
    if is_of_the_library(name):
        owner = "the C library"
    elif name.startswith(("halide_", "ph_")):
        owner = "the run time"
    elif is_reserved(name):
        owner = "the C compiler"
    if owner:
        raise HalideError(
            f"no function can be called {name!r}, which is a name of {owner}",
            at=here(),
            hint="give the function a name of its own (fn_name); else it is called as "
            "the first output",
        )


def _unique(wish: str, taken: set[str]) -> str:
    """A name like the wish that is not taken, and is so from now on."""
    found, n = wish, 1
    while found in taken:
        n += 1
        found = f"{wish}_{n}"
    taken.add(found)
    return found


def _identifier(name: str) -> str:
    plain = re.sub(r"\W", "_", name)
    return f"v{plain}" if not plain or plain[0].isdigit() else plain


__all__ = ["Interface", "Parameter", "c_type", "check_name", "interface_of"]
