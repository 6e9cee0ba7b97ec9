"""Compiled programs as bytes: what the persistent cache keeps of one.

The machine code goes as it is; of the rest (arguments, regions, what failures mean)
images and Params are told by their number in the program's key (`keys.Key.symbols`),
so that they are found again among the symbols of the program that asks.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parhelion.codegen.failure_site import FailureSite
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import ArgKind, Argument, Lowered, Region
from parhelion.ir.stmt import NOP
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.runtime.keys import Symbol
from parhelion.types import Type, TypeCode

_HEAD = struct.Struct("<QQ")
_DIMS = ("min", "extent", "stride")


class NotRecordable(Exception):
    """A program that mentions what its key does not know."""


@dataclass(frozen=True, slots=True)
class Record:
    """lowered: without its body. code: an object file. text: the LLVM module that it
    was made of, compressed (see `module_text`). profiled: see `module.Emitted`."""

    lowered: Lowered
    failures: tuple[FailureSite, ...]
    code: bytes
    text: bytes
    profiled: tuple[tuple[str, int], ...]


def pack(
    lowered: Lowered,
    failures: Sequence[FailureSite],
    code: bytes,
    text: str,
    symbols: Sequence[Symbol],
    profiled: Sequence[tuple[str, int]] = (),
) -> bytes:
    """A compiled program as bytes. Raises NotRecordable."""
    writer = _Writer(symbols)
    told = {
        "name": lowered.name,
        "args": [(a.name, a.kind.value, writer.symbol(a.symbol)) for a in lowered.args],
        "required": writer.regions(lowered.required),
        "written": writer.regions(lowered.written),
        "strict_float": lowered.strict_float,
        "index64": lowered.index64,
        "failures": [
            (f.code, [a if isinstance(a, str) else _numbers(a) for a in f.args])
            for f in failures
        ],
        "profiled": [list(told) for told in profiled],
        "nodes": writer.nodes,
    }
    head = json.dumps(told).encode()
    return (
        _HEAD.pack(len(head), len(code)) + head + code + zlib.compress(text.encode(), 1)
    )


def unpack(
    raw: bytes, outputs: tuple[Function, ...], symbols: Sequence[Symbol]
) -> Record:
    """The program of these bytes, for outputs whose key had these symbols."""
    head_size, code_size = _HEAD.unpack_from(raw)
    start = _HEAD.size + head_size
    told = json.loads(raw[_HEAD.size : start])
    reader = _Reader(told["nodes"], symbols)
    args = tuple(
        [
            Argument(name, ArgKind(kind), symbols[number])
            for name, kind, number in told["args"]
        ]
    )
    lowered = Lowered(
        told["name"],
        outputs,
        args,
        NOP,
        reader.regions(told["required"]),
        reader.regions(told["written"]),
        told["strict_float"],
        told["index64"],
    )
    failures = tuple(
        [
            FailureSite(
                code, tuple([a if isinstance(a, str) else _type(a) for a in args_of])
            )
            for code, args_of in told["failures"]
        ]
    )
    end = start + code_size
    profiled = tuple([(name, stack) for name, stack in told["profiled"]])
    return Record(lowered, failures, raw[start:end], raw[end:], profiled)


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


__all__ = ["NotRecordable", "Record", "module_text", "pack", "unpack"]
