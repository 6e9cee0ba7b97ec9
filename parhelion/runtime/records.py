"""Compiled programs as bytes: what the persistent cache keeps of one.

The machine code goes as it is; of the rest (arguments, regions, what failures mean)
images and Params are told by their number in the program's key (`keys.Key.symbols`),
so that they are found again among the symbols of the program that asks. The names that
messages mention are replaced by those of that program, which may be others.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from parhelion.codegen.failure_site import FailureSite
from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import ArgKind, Argument, Lowered, Region
from parhelion.ir.stmt import NOP, Assert
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.runtime import cache
from parhelion.runtime.helpers import is_known
from parhelion.runtime.jit import is_object
from parhelion.runtime.loading import Compiled
from parhelion.schedule.keys import Key, Symbol, findable
from parhelion.types import Handle, Type, TypeCode

_HEAD = struct.Struct("<QQ")
_DIMS = ("min", "extent", "stride")


#: What may be names in a text, joined by dots. What is called, as ``dim`` is in
#: ``im.dim(0)``, is not.
_NAMES = re.compile(r"[A-Za-z0-9_$]+(?:\.[A-Za-z0-9_$]+)*(?![A-Za-z0-9_$]*\()")


class NotRecordable(Exception):
    """The error that a program mentions a symbol which its key does not contain."""


@dataclass(frozen=True, slots=True)
class Record:
    """lowered: without its body. code: an object file. entry: its function. helpers:
    what it calls of the run time. text: the LLVM module that it was made of, compressed
    (see `module_text`). profiled: see `module.Emitted`."""

    lowered: Lowered
    failures: tuple[FailureSite, ...]
    entry: str
    helpers: frozenset[str]
    code: bytes
    text: bytes
    profiled: tuple[tuple[str, int], ...]


def pack(
    lowered: Lowered,
    failures: Sequence[FailureSite],
    compiled: Compiled,
    text: str,
    key: Key,
    profiled: Sequence[tuple[str, int]] = (),
) -> bytes:
    """A compiled program as bytes. Raises NotRecordable."""
    # Regions of images that are read in many places are deep.
    return run_deep(lambda: _pack(lowered, failures, compiled, text, key, profiled))


def _pack(
    lowered: Lowered,
    failures: Sequence[FailureSite],
    compiled: Compiled,
    text: str,
    key: Key,
    profiled: Sequence[tuple[str, int]],
) -> bytes:
    writer = _Writer(key.symbols)
    told = {
        "entry": f"{lowered.name}_argv",
        "names": key.names,
        "helpers": sorted(compiled.helpers),
        "args": [(a.kind.value, writer.symbol(a.symbol)) for a in lowered.args],
        "required": writer.regions(lowered.required),
        "written": writer.regions(lowered.written),
        "strict_float": lowered.strict_float,
        "index64": lowered.index64,
        "failures": [
            (f.code, [a if isinstance(a, str) else _numbers(a) for a in f.args])
            for f in failures
        ],
        "bounds": [writer.expr(e) for e in lowered.bounds],
        "demands": [
            (c.code, writer.expr(c.cond), [writer.told(a) for a in c.args])
            for c in lowered.demands
        ],
        "profiled": [list(told) for told in profiled],
        "nodes": writer.nodes,
    }
    head, code = json.dumps(told).encode(), compiled.object_code
    return (
        _HEAD.pack(len(head), len(code)) + head + code + zlib.compress(text.encode(), 1)
    )


def kept(key: Key, name: str, outputs: tuple[Function, ...]) -> Record | None:
    """The program that the cache has under a key, for the pipeline `name`; None if
    there is none, or what there is is no program."""
    raw = cache.load(key.digest)
    if raw is None:
        return None
    try:
        return unpack(raw, key, name, outputs)
    except _NO_RECORD:
        cache.discard(key.digest)
        return None


#: What reading something else raises: the digests hold, but nobody knows who wrote it.
_NO_RECORD = (
    *(struct.error, ValueError, LookupError, TypeError, AttributeError),
    *(AssertionError, RecursionError),
)


def unpack(raw: bytes, key: Key, name: str, outputs: tuple[Function, ...]) -> Record:
    """The program of these bytes, for outputs that have this key."""
    head_size, code_size = _HEAD.unpack_from(raw)
    start = _HEAD.size + head_size
    told = json.loads(raw[_HEAD.size : start])
    symbols = key.symbols
    names = _Names(told["names"], key.names)
    reader = _Reader(told["nodes"], symbols)
    args = tuple(
        [
            Argument(symbols[number].name, ArgKind(kind), symbols[number])
            for kind, number in told["args"]
        ]
    )
    lowered = Lowered(
        name,
        outputs,
        args,
        NOP,
        reader.regions(told["required"]),
        reader.regions(told["written"]),
        strict_float=told["strict_float"],
        index64=told["index64"],
        bounds=tuple([reader.expr(e) for e in told["bounds"]]),
        demands=tuple(
            [
                Assert(reader.expr(cond), code, tuple(map(reader.told, args_of)))
                for code, cond, args_of in names.of_failures(told["demands"])
            ]
        ),
    )
    failures = tuple(
        [
            FailureSite(
                code, tuple([a if isinstance(a, str) else _type(a) for a in args_of])
            )
            for code, args_of in names.of_failures(told["failures"])
        ]
    )
    end = start + code_size
    if end > len(raw) or not is_object(raw[start:end]):
        raise ValueError("there is no object file")
    profiled = tuple([(names.of(who), stack) for who, stack in told["profiled"]])
    helpers, code = frozenset(told["helpers"]), raw[start:end]
    if not all(map(is_known, helpers)):
        raise ValueError("it calls what the run time does not have")
    return Record(lowered, failures, told["entry"], helpers, code, raw[end:], profiled)


class _Names:
    """The names of the program that asks, for those of the one that was kept."""

    def __init__(self, kept: Sequence[str], ours: Sequence[str]) -> None:
        self._ours: dict[str, str] = {}
        #: Those that can be told from the other words of a message.
        self._inside: dict[str, str] = {}
        if tuple(kept) == tuple(ours):
            return
        for theirs, own in zip(kept, ours, strict=True):
            self._ours.setdefault(theirs, own)
            if all(map(findable, theirs.split("."))):
                self._inside.setdefault(theirs, own)

    def of(self, text: str) -> str:
        """A text with our names in it."""
        whole = self._ours.get(text)
        if whole is not None or not self._inside:
            return whole or text
        return _NAMES.sub(self._joined, text)

    def _joined(self, found: re.Match[str]) -> str:
        """Names joined by dots, of which some together may be one: ``f.r.x``, where
        the RDom's variable is ``r.x``."""
        parts = found[0].split(".")
        out: list[str] = []
        while parts:
            for n in range(len(parts), 0, -1):
                told = ".".join(parts[:n])
                if told in self._inside or n == 1:
                    out.append(self._inside.get(told, told))
                    del parts[:n]
                    break
        return ".".join(out)

    def of_failures(self, told: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Failures, each a code and in the end its arguments, with our names in
        them."""
        return [
            [code, *rest, [self._argument(code, i, a) for i, a in enumerate(args)]]
            for code, *rest, args in told
        ]

    def _argument(self, code: str, place: int, told: Any) -> Any:
        # The user's own words stay.
        own = code == "require" or (code == "specialize_fail" and place == 1)
        return self.of(told) if isinstance(told, str) and not own else told


def module_text(compressed: bytes) -> str:
    """The LLVM module of a record."""
    return zlib.decompress(compressed).decode()


def _numbers(t: Type) -> list[int]:
    return [int(t.kind), t.width, t.count]


def _type(numbers: Sequence[int]) -> Type:
    code, width, count = numbers
    return Type(TypeCode(code), width, count)


class _Writer:
    """Expressions as a list of nodes, children before parents."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self._numbers = {id(s): i for i, s in enumerate(symbols)}
        self._known: dict[Expr, int] = {}
        self.nodes: list[list[Any]] = []

    def symbol(self, s: Symbol) -> int:
        found = self._numbers.get(id(s))
        if found is None:
            raise NotRecordable(s.name)
        return found

    def regions(
        self, found: Mapping[BufferSym, Sequence[Region]]
    ) -> list[tuple[int, list[tuple[int, int]]]]:
        return [
            (self.symbol(b), [(self.expr(r.min), self.expr(r.max)) for r in regions])
            for b, regions in found.items()
        ]

    def told(self, e: Expr) -> str | int:
        """An argument of a check: a text, or the place of an expression."""
        return e.value if isinstance(e, StringImm) else self.expr(e)

    def expr(self, e: Expr) -> int:
        """The place of an expression in the list."""
        found = self._known.get(e)
        if found is None:
            made = self._node(e)
            found = self._known[e] = len(self.nodes)
            self.nodes.append(made)
        return found

    def _node(self, e: Expr) -> list[Any]:
        if isinstance(e, Var):
            return self._var(e)
        fields = [self._field(getattr(e, name)) for name in e.FIELDS]
        return [type(e).__name__, *fields]

    def _var(self, v: Var) -> list[Any]:
        origin = v.origin
        if isinstance(origin, ParamSym):
            return ["Param", self.symbol(origin)]
        if isinstance(origin, tuple) and origin[1] in _DIMS:
            owner, what, d = origin
            return ["Dim", self.symbol(owner), what, d]
        raise NotRecordable(v.name)

    def _field(self, value: object) -> Any:
        if isinstance(value, Expr):
            return {"e": self.expr(value)}
        if isinstance(value, Type):
            return {"t": _numbers(value)}
        if isinstance(value, BufferSym):
            return {"b": self.symbol(value)}
        if isinstance(value, tuple):
            return [self._field(v) for v in value]
        if value is None or isinstance(value, int | str):
            return value
        raise NotRecordable(type(value).__name__)


class _Reader:
    """The expressions of such a list."""

    def __init__(
        self, nodes: Sequence[Sequence[Any]], symbols: Sequence[Symbol]
    ) -> None:
        self._symbols = symbols
        self._made: list[Expr] = []
        for kind, *fields in nodes:
            self._made.append(self._node(kind, fields))

    def regions(
        self, told: Sequence[tuple[int, Sequence[tuple[int, int]]]]
    ) -> dict[BufferSym, tuple[Region, ...]]:
        found: dict[BufferSym, tuple[Region, ...]] = {}
        for number, pairs in told:
            b = self._symbols[number]
            assert isinstance(b, BufferSym)
            found[b] = tuple(
                [Region(self._made[lo], self._made[hi]) for lo, hi in pairs]
            )
        return found

    def expr(self, place: int) -> Expr:
        return self._made[place]

    def told(self, found: str | int) -> Expr:
        if isinstance(found, str):
            return StringImm(Handle(), found)
        return self._made[found]

    def _node(self, kind: str, fields: Sequence[Any]) -> Expr:
        if kind == "Param":
            p = self._symbols[fields[0]]
            assert isinstance(p, ParamSym)
            return p.var
        if kind == "Dim":
            b = self._symbols[fields[0]]
            assert isinstance(b, BufferSym)
            found = getattr(b.dims[fields[2]], fields[1])
            assert isinstance(found, Var)
            return found
        made = getattr(E, kind)(*[self._field(f) for f in fields])
        assert isinstance(made, Expr)
        return made

    def _field(self, told: Any) -> Any:
        if isinstance(told, dict):
            (what, value), *_ = told.items()
            if what == "e":
                return self._made[value]
            return _type(value) if what == "t" else self._symbols[value]
        if isinstance(told, list):
            return tuple([self._field(one) for one in told])
        return told


__all__ = ["NotRecordable", "Record", "kept", "module_text", "pack", "unpack"]
