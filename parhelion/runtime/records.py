"""Compiled programs as bytes: what the persistent cache keeps of one.

The machine code goes as it is, with what has to be known to load it (`Code`), which can
be read by itself. Of the rest (arguments, regions, what failures mean) images and
Params are told by their number in the program's key (`keys.Key.symbols`), so that they
are found again among the symbols of the program that asks. The names that messages
mention are replaced by those of that program, which may be others.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from parhelion.codegen.failure_site import FailureSite
from parhelion.dataclass import dataclass
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, StringImm
from parhelion.ir.function import Function
from parhelion.ir.pipeline import ArgKind, Argument, Lowered, Region
from parhelion.ir.stmt import NOP, Assert
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.runtime import cache
from parhelion.runtime.expr_records import (
    ExprReader,
    ExprWriter,
    NotRecordable,
    type_numbers,
    type_of,
)
from parhelion.runtime.helpers import is_known
from parhelion.runtime.jit import is_object
from parhelion.runtime.loading import Compiled, load_module
from parhelion.schedule.keys import Key, findable
from parhelion.types import Handle, Type

#: The sizes of the head, of what the code means, and of the code.
_HEAD = struct.Struct("<QQQ")

#: What may be names in a text, joined by dots. What is called, as ``dim`` is in
#: ``im.dim(0)``, is not.
_NAMES = re.compile(r"[A-Za-z0-9_$]+(?:\.[A-Za-z0-9_$]+)*(?![A-Za-z0-9_$]*\()")


@dataclass(frozen=True, slots=True)
class Taken:
    """An argument of compiled code. dimensions: of an image; None of a number."""

    kind: ArgKind
    type: Type
    dimensions: int | None

    @staticmethod
    def of(one: Argument) -> Taken:
        s = one.symbol
        dims = len(s.dims) if isinstance(s, BufferSym) else None
        return Taken(one.kind, s.type, dims)


@dataclass(frozen=True, slots=True)
class Code:
    """An object file. entry: its function. takes: the arguments of that. helpers: what
    it calls of the run time. text: the LLVM module that it was made of, compressed (see
    `module_text`)."""

    entry: str
    takes: tuple[Taken, ...]
    helpers: frozenset[str]
    code: bytes
    text: bytes

    def loaded(self, name: str, target: Target) -> Compiled:
        """The code loaded into this process, which `target` describes, by the name of
        its pipeline."""
        source = partial(module_text, self.text)
        return load_module(
            *(self.code, name, source, target, self.helpers), entry=self.entry
        )


@dataclass(frozen=True, slots=True)
class Record:
    """lowered: without its body. profiled: see `module.Emitted`."""

    lowered: Lowered
    failures: tuple[FailureSite, ...]
    code: Code
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
    taken = [Taken.of(a) for a in lowered.args]
    first = {
        "entry": f"{lowered.name}_argv",
        "takes": [(t.kind.value, type_numbers(t.type), t.dimensions) for t in taken],
        "helpers": sorted(compiled.helpers),
    }
    told = {
        "names": key.names,
        "args": [(a.kind.value, writer.symbol(a.symbol)) for a in lowered.args],
        "required": writer.regions(lowered.required),
        "written": writer.regions(lowered.written),
        "strict_float": lowered.strict_float,
        "index64": lowered.index64,
        "failures": [
            (f.code, [a if isinstance(a, str) else type_numbers(a) for a in f.args])
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
    parts = (
        json.dumps(first).encode(),
        json.dumps(told).encode(),
        compiled.object_code,
    )
    sizes = _HEAD.pack(*[len(part) for part in parts])
    return b"".join((sizes, *parts, zlib.compress(text.encode(), 1)))


def kept(key: Key, name: str, outputs: tuple[Function, ...]) -> Record | None:
    """The program that the cache has under a key, for the pipeline `name`; None if
    there is none, or what there is is no program."""
    raw = cache.load(key.digest)
    if raw is None:
        return None
    try:
        return unpack(raw, key, name, outputs)
    except NO_RECORD:
        cache.discard(key.digest)
        return None


def kept_code(digest: str) -> Code | None:
    """The code of the program that the cache has under a digest; None if there is
    none, or what there is is no program."""
    raw = cache.load(digest)
    if raw is None:
        return None
    try:
        return _code_of(raw)
    except NO_RECORD:
        cache.discard(digest)
        return None


#: What reading something else raises: the digests hold, but nobody knows who wrote it.
NO_RECORD = (
    *(struct.error, ValueError, LookupError, TypeError, AttributeError),
    *(AssertionError, RecursionError),
)


def _code_of(raw: bytes) -> Code:
    """The code of a record. Raises what `NO_RECORD` lists."""
    head, meaning, size = _HEAD.unpack_from(raw)
    start = _HEAD.size + head
    first = json.loads(raw[_HEAD.size : start])
    begin = start + meaning
    end = begin + size
    if end > len(raw) or not is_object(raw[begin:end]):
        raise ValueError("there is no object file")
    entry, helpers = first["entry"], frozenset(first["helpers"])
    if not isinstance(entry, str) or not all(map(is_known, helpers)):
        raise ValueError("it calls what the run time does not have")
    takes = [Taken(ArgKind(k), type_of(t), dims) for k, t, dims in first["takes"]]
    return Code(entry, tuple(takes), helpers, raw[begin:end], raw[end:])


def unpack(raw: bytes, key: Key, name: str, outputs: tuple[Function, ...]) -> Record:
    """The program of these bytes, for outputs that have this key."""
    code = _code_of(raw)
    head, meaning, _ = _HEAD.unpack_from(raw)
    start = _HEAD.size + head
    told = json.loads(raw[start : start + meaning])
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
                code, tuple([a if isinstance(a, str) else type_of(a) for a in args_of])
            )
            for code, args_of in names.of_failures(told["failures"])
        ]
    )
    profiled = tuple([(names.of(who), stack) for who, stack in told["profiled"]])
    return Record(lowered, failures, code, profiled)


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


class _Writer(ExprWriter):
    """What a program is made of besides its code."""

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


class _Reader(ExprReader):
    """The same of such a list."""

    def regions(
        self, told: Sequence[tuple[int, Sequence[tuple[int, int]]]]
    ) -> dict[BufferSym, tuple[Region, ...]]:
        found: dict[BufferSym, tuple[Region, ...]] = {}
        for number, pairs in told:
            b = self.symbols[number]
            assert isinstance(b, BufferSym)
            found[b] = tuple([Region(self.expr(lo), self.expr(hi)) for lo, hi in pairs])
        return found

    def told(self, found: str | int) -> Expr:
        return (
            StringImm(Handle(), found) if isinstance(found, str) else self.expr(found)
        )


__all__ = [
    "NO_RECORD",
    "Code",
    "NotRecordable",
    "Record",
    "Taken",
    "kept",
    "kept_code",
    "module_text",
    "pack",
    "unpack",
]
