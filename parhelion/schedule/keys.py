"""Names for programs that are the same in every process: digests of what they mean.

A digest is taken of a fingerprint (`state.Reach.look`), which has everything that
lowering reads. Objects are numbered in the order in which they are met, and told by
their contents, so that the same program gives the same digest wherever it is built;
lines of the user's source are left out, as no code follows from them.

Names of Funcs, Vars, images and Params are left out too, and listed beside the digest
(`Key.names`): a program that finds the code of one with other names puts its own into
the messages (`records`). Which of the names are the same counts, as messages say them
for either. Names themselves count where they are in the code, as in that of traced
Funcs, and those that could not be found in a message (`findable`).
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from parhelion.dataclass import dataclass
from parhelion.errors import Site
from parhelion.ir.deep import run_deep
from parhelion.ir.digest import hasher
from parhelion.ir.expr import Extern, Var
from parhelion.ir.externs import is_of_this_process
from parhelion.ir.function import Definition, Function, ReductionDomain, var_label
from parhelion.ir.loop_id import PartitionChoice
from parhelion.ir.names import plain_name
from parhelion.ir.node import Node
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import Type

Symbol = BufferSym | ParamSym


class NotPortable(Exception):
    """Something that other processes cannot have: the address of foreign code; or what
    this file cannot tell from others of its kind."""


@dataclass(frozen=True, slots=True)
class Key:
    """digest: in hexadecimal digits. symbols: the images and Params met, in order; for
    equal digests the same but for their names. names: of all that was met and may be
    in messages, in order; those of Vars last."""

    digest: str
    symbols: tuple[Symbol, ...]
    names: tuple[str, ...]


def key_of(parts: Iterable[object], names: bool = True) -> Key:
    """The key of a program. names: whether they count. Raises NotPortable if it depends
    on this process."""
    teller = _Teller(names)
    run_deep(lambda: teller.tell(tuple(parts)))
    listed = (*teller.names, *teller.var_names)
    return Key(teller.hash.hexdigest(), tuple(teller.symbols), listed)


#: Words of messages into which names are put, other than those of directives.
_WORDS = (
    "the of off along to and or not in if let number copies task size factor offset min"
    " max extent end bound stride true false"
)


@functools.cache
def words() -> frozenset[str]:
    """What a name may not be that is to be found in a message."""
    from parhelion.schedule.stage import FuncDirectives

    return frozenset({*_WORDS.split(), *dir(FuncDirectives)})


#: What is one word of a message, and not long enough to be cut.
_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{0,31}")


def findable(name: str) -> bool:
    """Whether a name can be told from the other words and numbers of a message."""
    return _WORD.fullmatch(name) is not None and plain_name(name) not in words()


class _Teller:
    """Writes values into a hash."""

    #: What tells whose a buffer is, and which points of a reduction domain count.
    OWNER: tuple[str, ...] = ("func",)
    WHERE: tuple[str, ...] = ("predicate",)

    def __init__(self, named: bool) -> None:
        self.hash = hasher()
        self.symbols: list[Symbol] = []
        self.names: list[str] = []
        self.var_names: list[str] = []
        self._named = named
        #: Numbers of names: which Vars have the same matters to directives, and which
        #: Funcs, images and Params have that of a Var, to messages.
        self._alike: dict[str, int] = {}
        self._numbers: dict[int, bytes] = {}
        #: Whatever has a number stays alive, so that no other gets its identity.
        self._kept: list[object] = []

    def tell(self, value: object) -> None:
        """Writes a value; the second time, only its number."""
        handler = _PLAIN.get(type(value))
        if handler is not None:
            self.hash.update(handler(value))
            return
        if isinstance(value, tuple | list):
            self.hash.update(b"(%d" % len(value))
            for one in value:
                self.tell(one)
            return
        if isinstance(value, enum.Enum):
            self.hash.update(f"e{type(value).__name__}.{value.name};".encode())
            return
        if isinstance(value, Site):
            self.hash.update(b"n;")  # as where no line is known
            return
        if isinstance(value, frozenset):
            self._set(value)
            return
        number = self._numbers.get(id(value))
        if number is not None:
            self.hash.update(number)
            return
        if not dataclasses.is_dataclass(value):
            # Parts of schedules are told each time: whether two that are equal are one
            # object says nothing of the program.
            self._numbers[id(value)] = b"#%d;" % len(self._numbers)
            self._kept.append(value)
        self.hash.update(f"<{type(value).__name__}".encode())
        self._contents(value)
        self.hash.update(b">")

    def _contents(self, value: object) -> None:
        if isinstance(value, Extern) and is_of_this_process(value.name):
            self._foreign(value, value.name)
        if isinstance(value, Var):
            self._var(value)
        elif isinstance(value, Node):
            self._fields(value, value.FIELDS)
        elif isinstance(value, Function):
            if value.extern is not None:
                self._foreign(value.extern, value.name)
            self._name(value.name)
            self._name(value.label)
            self._fields(value, ("args", "types"))
        elif isinstance(value, ReductionDomain):
            self._fields(value, ("vars", "mins", "extents", *self.WHERE))
        elif isinstance(value, Definition):
            self._fields(value, ("args", "values", "rdom"))
        elif isinstance(value, BufferSym):
            self.symbols.append(value)
            self._name(value.name, value.func)
            self._fields(value, ("type", "role", *self.OWNER, "value_index"))
            self.tell((len(value.dims), value.embedded))
            self._promises(value)
        elif isinstance(value, ParamSym):
            self.symbols.append(value)
            self._name(value.name)
            self.tell(value.type)
            self._promises(value)
        elif isinstance(value, PartitionChoice):
            self._fields(value, ("policy", "directive", "explicit"))
        elif dataclasses.is_dataclass(value):
            self._fields(value, [f.name for f in dataclasses.fields(value)])
        else:
            raise NotPortable(type(value).__name__)

    def _promises(self, symbol: Symbol) -> None:
        """What is promised is checked by the code, whoever mentions the symbol."""
        if isinstance(symbol, ParamSym):
            self._fields(symbol, ("lo", "hi"))
            return
        self._fields(symbol, ("host_alignment", "wrapper"))
        for d in symbol.dims:
            self._fields(d, ("fixed_min", "fixed_extent", "fixed_stride"))

    def _foreign(self, value: object, name: str) -> None:
        """Code at an address of this process."""
        raise NotPortable(name)

    def _var(self, v: Var) -> None:
        if not isinstance(v.origin, tuple | ParamSym):
            self.var_names.append(v.name)
            if isinstance(v.origin, ReductionDomain):
                self.var_names.append(var_label(v))
            self._count(v.name)
        self._fields(v, ("type", "lo", "hi", "value", "origin"))

    def _name(self, name: str, func: object = None) -> None:
        """Lists a name, and tells it if it counts. func: whose buffer has it."""
        self.names.append(name)
        if isinstance(func, Function) and name.startswith(f"{func.name}."):
            # Of a Tuple, `f.1`: in messages the Func's name is found, and replaced.
            self._count(name, name.removeprefix(f"{func.name}."))
        else:
            self._count(name)

    def _count(self, name: str, last: str = "") -> None:
        """Tells which names are this one, and the name where it counts. last: what is
        told of a name that continues another, which is told by itself."""
        self.tell(self._alike.setdefault(name, len(self._alike)))
        if self._named:
            self.tell(name)
        elif last:
            self.tell(last)
        elif not findable(name):
            self.tell(plain_name(name))

    def _fields(self, value: object, names: Iterable[str]) -> None:
        for name in names:
            self.tell(getattr(value, name))

    def _set(self, value: frozenset[object]) -> None:
        """In an order that does not depend on the process: that of what they say."""
        told: list[tuple[str, object]] = []
        for one in value:
            alone = _Teller(self._named)
            alone._numbers, alone._alike = dict(self._numbers), dict(self._alike)
            alone.tell(one)
            told.append((alone.hash.hexdigest(), one))
        self.hash.update(b"{%d" % len(told))
        for _, one in sorted(told, key=lambda pair: pair[0]):
            self.tell(one)


class _Apart(_Teller):
    """Of a pipeline whose promises are told by themselves, whatever is promised now.
    Foreign code is told by its address: the digest is that of this process then."""

    #: An output's buffer is that of a Func of the user's, whose Funcs a predicate
    #: calls; definitions have one that calls copies.
    OWNER = WHERE = ()

    def _promises(self, symbol: Symbol) -> None:
        pass

    def _foreign(self, value: object, name: str) -> None:
        self.tell((name, id(value)))


def digest_apart(parts: Iterable[object]) -> str:
    """The digest of a pipeline with its names, which does not depend on what is
    promised of its images and Params now."""
    teller = _Apart(named=True)
    run_deep(lambda: teller.tell(tuple(parts)))
    return teller.hash.hexdigest()


def _text(value: Any) -> bytes:
    raw = value.encode()
    return b"s%d:%s" % (len(raw), raw)


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda _: b"n;",
    bool: lambda v: b"t;" if v else b"f;",
    int: lambda v: b"i%d;" % v,
    # All of its bits.
    float: lambda v: f"d{v.hex()};".encode(),
    str: _text,
    bytes: lambda v: b"b%d:%s" % (len(v), v),
    Type: lambda v: b"T%d.%d.%d;" % (v.kind, v.width, v.count),
}

__all__ = ["Key", "NotPortable", "Symbol", "digest_apart", "key_of"]
