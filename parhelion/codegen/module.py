"""The module under construction: declarations, constants, metadata, failure sites."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from parhelion.codegen.backend import LLVMBackend, Symbol
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.tables import Tables
from parhelion.dataclass import dataclass
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr
from parhelion.ir.function import Function
from parhelion.ir.intrinsics import INTRINSICS
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.types import Type, UInt

if TYPE_CHECKING:
    from parhelion.codegen.writer import Function as Writing

#: How many run-time numbers an error record holds (see `runtime.context`).
MAX_FAILURE_ARGS = 8


@dataclass(frozen=True, slots=True)
class Emitted:
    """A module's text, what its assertions mean, by their number, and the addresses
    of the foreign functions that it calls.

    profiled: of code that is profiled, the Funcs by their number: what the user calls
        each, and the bytes that its storage on the stack takes.
    kernels: the text of the module of kernels, "" if there are none; `device.image` of
        the PTX that it becomes is to be added to the text.
    calls: the functions of the run time that it calls.
    by_lane: how many vector loads and stores of each buffer are made lane by lane, be
        it by one instruction (gathers, scatters, strides beyond a vector's reach).
    """

    text: str
    failures: tuple[FailureSite, ...]
    imports: dict[str, int] = field(default_factory=dict)
    profiled: tuple[tuple[str, int], ...] = ()
    by_lane: dict[BufferSym, int] = field(default_factory=dict)
    kernels: str = ""
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TextureObject:
    """What a kernel reads storage by: `width` texels in each of `rows` rows, which are
    `pitch` texels apart; expressions of the host's, of type int32. zero: whether what
    lies beyond is 0, else it is the nearest texel."""

    buffer: BufferSym
    width: Expr
    rows: Expr
    pitch: Expr
    zero: bool


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """What the host must know of a kernel.

    name: in the PTX. func: what the user calls the Func that it computes.
    parameters: what is passed, in order: numbers by value, as they are in registers (a
        Bool in a byte, a bfloat16 as its bits), of buffers the address on the device of
        the element with index 0. The numbers are expressions of the host's. Textures
        are numbers of 64 bits, which the run time knows.
    grid: how many blocks there are along x, y and z, and threads: how many threads a
        block has; expressions of the host's, all of type int32, for as many dimensions
        as there are loops. Nothing is to run if a number of blocks is less than 1. A
        number of threads may be less than 1, and then one thread is to run.
    shared: bytes of dynamic shared memory.
    wide: the name of a version, else the same, that is to run instead where all of
        `conditions` hold, which are expressions of the host's, and the addresses on the
        device of `aligned` are multiples of 16; empty if there is none.
    """

    name: str
    func: str
    parameters: tuple[Expr | BufferSym | TextureObject, ...]
    grid: tuple[Expr, ...]
    threads: tuple[Expr, ...]
    shared: int
    wide: str = ""
    conditions: tuple[Expr, ...] = ()
    aligned: tuple[BufferSym, ...] = ()


#: In the set that `Module.reads` returns: the expression has an effect.
EFFECT = BufferSym("effect", UInt(8), 0, "internal")

_NOTHING: frozenset[BufferSym] = frozenset()
_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*\Z")
#: Metadata that each buffer and each loop has of its own.
_OWN = re.compile(r"(!tbaa|!llvm\.loop) !\d+")


def quoted(name: str) -> str:
    """`name` as an LLVM identifier (without its sigil)."""
    if _PLAIN.match(name):
        return name
    escaped = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}"
        for b in name.encode()
    )
    return f'"{escaped}"'


class Module:
    """Everything of a module that is not inside a function."""

    def __init__(
        self,
        target: Target,
        backend: LLVMBackend,
        *,
        strict_float: bool,
    ) -> None:
        self.target = target
        self.backend = backend
        self.tables: Tables[Writing, str, Symbol] = Tables(backend)
        self.strict_float = strict_float
        self.functions: list[str] = []
        self.failures: list[FailureSite] = []
        self.imports: dict[str, int] = {}
        self._declared: dict[str, str] = {}
        self._globals: list[str] = []
        self._strings: dict[bytes, str] = {}
        self._metadata: list[str] = [
            '!{!"parhelion"}',
            '!{!"llvm.loop.unroll.disable"}',
            '!{!"llvm.loop.vectorize.enable", i1 false}',
            '!{!"branch_weights", i32 2000, i32 1}',
            "!{}",
            "!{i32 1}",
            '!{!"llvm.loop.align", i32 64}',
        ]
        #: The numbers of Funcs in code that is profiled, and the bytes of their storage
        #: on the stack.
        self.profiled: Mapping[Function, int] = {}
        self.stack_storage: dict[BufferSym, int] = {}
        #: Whether lines of `trace` are handed on as records, and not printed.
        self.recorded = False
        #: Accesses that go to memory lane by lane (see `Emitted`).
        self.by_lane: dict[BufferSym, int] = {}
        #: Bytes of the storage in hand, of allocations whose size is known.
        self.sizes: dict[BufferSym, int] = {}
        #: Whether signals end the code's runs (see `polls`), and what statements are.
        self.interruptible = False
        self.work: dict[Stmt, float] = {}
        self._tbaa: dict[BufferSym, str] = {}
        self._reads: dict[Expr, frozenset[BufferSym]] = {}
        self._writes: dict[Stmt, frozenset[BufferSym]] = {}
        #: What computes parts of Funcs on demand, by what demands name.
        self.thunks: dict[BufferSym, S.OnDemand] = {}
        #: The functions that compute so many parts, and which of a thunk's they are.
        self.productions: dict[tuple[BufferSym, int], tuple[str, int]] = {}
        self._names: dict[str, int] = {}
        #: The names of functions that were written once for all that are alike.
        self._shared: dict[str, str] = {}
        #: Writes a loop over blocks into the module of kernels; None in a simulation.
        self.write_kernel: Callable[[S.For], DeviceKernel] | None = None

    # What is known of memory, which differs where threads of a GPU use it.
    def alignment(self, buffer: BufferSym, index: Expr, elements: int) -> int:
        """The bytes that the address of the element so many past `index` is surely a
        multiple of, as far as that is of use."""
        return buffer.type.bytes()

    def furthest(self, buffer: BufferSym, index: Expr) -> int:
        """The largest constant, of either sign, such that an index of the buffer less
        that constant surely fits in 32 bits, where it is summed up in these; else -1.
        """
        return -1

    def scope(self, buffer: BufferSym) -> str:
        """Which threads atomic updates of a buffer are for, if not for all."""
        return ""

    def adds_floats(self, t: Type) -> bool:
        """Whether a float is atomically added by one instruction."""
        return False

    def note_lanes(self, buffer: BufferSym) -> None:
        """Counts an access of a vector that goes to memory lane by lane."""
        self.by_lane[buffer] = self.by_lane.get(buffer, 0) + 1

    # Declarations and constants.
    def declare(self, name: str, result: str, params: str, attributes: str = "") -> str:
        """Declares a function once; returns ``@name``."""
        at = f"@{quoted(name)}"
        if name not in self._declared:
            self._declared[name] = f"declare {result} {at}({params}) {attributes}"
        return at

    @property
    def calls(self) -> frozenset[str]:
        """The functions of the run time that have been declared."""
        return frozenset([n for n in self._declared if self.tables.calls(n)])

    def runtime(self, name: str) -> str:
        """Declares a function of the run time; returns ``@name``. Raises InternalError
        for one that this code cannot call."""
        symbol = self.tables.symbol(name)
        result = self.result_of(name)
        return self.declare(name, result, symbol.parameters, symbol.attributes)

    def result_of(self, name: str) -> str:
        """The result of a function of the run time, as calls say it."""
        symbol = self.tables.symbol(name)
        rare = f"{self.backend.rare_call} " if symbol.rare else ""
        return rare + symbol.result

    def extern(self, name: str, address: int, params: str) -> str:
        """Declares a foreign stage; returns ``@name``."""
        self.imports[name] = address
        return self.declare(name, "i32", params)

    def is_declared(self, name: str) -> bool:
        return name in self._declared

    def string(self, data: str) -> str:
        """The address of a constant, NUL-terminated UTF-8 string."""
        raw = data.encode() + b"\0"
        name = self._strings.get(raw)
        if name is None:
            name = f"@.str.{len(self._strings)}"
            self._strings[raw] = name
            text = "".join(
                chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}"
                for b in raw
            )
            self._globals.append(
                f"{name} = private unnamed_addr constant "
                f'[{len(raw)} x i8] c"{text}", align 1'
            )
        return name

    def add_global(self, name: str, definition: str) -> str:
        """Adds a global variable once; returns ``@name``."""
        if name not in self._names:
            self._names[name] = 0
            self._globals.append(f"@{name} = {definition}")
        return f"@{name}"

    def unique(self, wish: str) -> str:
        """A function name that the module has not used yet."""
        n = self._names.get(wish)
        self._names[wish] = 0 if n is None else n + 1
        return wish if n is None else self.unique(f"{wish}.{n}")

    def share(self, name: str, header: str, body: str) -> str:
        """Adds a function unless there is one that does the same, and returns the name
        of the one there is.

        Functions do the same that differ in the numbers of the metadata of buffers and
        loops alone, if equal ones stand where equal ones stood: what metadata says is
        which accesses of a function are of different buffers. Stages that are computed
        alike, of which pyramids have many, are such functions of closures.
        """
        numbers: dict[str, int] = {}

        def numbered(found: re.Match[str]) -> str:
            return f"{found[1]} {numbers.setdefault(found[0], len(numbers))}"

        unnamed = header.replace(f"@{quoted(name)}", "@", 1)
        key = _OWN.sub(numbered, f"{unnamed} {body}")
        there = self._shared.setdefault(key, name)
        if there is name:
            self.functions.append(f"{header} {body}")
        return there

    def kernel_name(self, wish: str) -> str:
        """A name for a kernel that PTX takes, and that no other of the module has."""
        plain = re.sub(r"[^A-Za-z0-9_]", "_", wish)
        if not plain[:1].isalpha():
            plain = f"k_{plain}"
        n = 0
        while f"{plain}_{n}" in self._names:
            n += 1
        return self.unique(f"{plain}_{n}")

    # Metadata.
    def _node(self, text: str) -> str:
        self._metadata.append(text)
        return f"!{len(self._metadata) - 1}"

    def tbaa(self, buffer: BufferSym) -> str:
        """The access tag of a buffer: no two buffers are assumed to overlap.

        Callers must pass outputs that overlap neither each other nor the inputs, as
        in Halide; `runtime` copies where they do.
        """
        found = self._tbaa.get(buffer)
        if found is None:
            kind = self._node(f'!{{!"{len(self._tbaa)}", !0, i64 0}}')
            tag = self._node(f"!{{{kind}, {kind}, i64 0}}")
            found = self._tbaa[buffer] = f", !tbaa {tag}"
        return found

    def loop(self, *, short: bool = False) -> str:
        """Metadata of one loop: LLVM shall neither unroll nor vectorise it.

        short: its code fits in a line of the instruction cache, and begins one. A loop
        of six instructions across two lines takes 1.8 times as long on a Zen 4.
        """
        n = len(self._metadata)
        self._metadata.append(f"distinct !{{!{n}, !1, !2{', !6' * short}}}")
        return f", !llvm.loop !{n}"

    #: The mark of stores that bypass the caches.
    NONTEMPORAL = ", !nontemporal !5"

    #: Branch weights: the first destination is the likely one.
    LIKELY = ", !prof !3"

    # Effects.
    def reads(self, e: Expr) -> frozenset[BufferSym]:
        """The buffers that an expression loads from; `EFFECT` if it has effects."""
        found = self._reads.get(e)
        if found is not None:
            return found
        found = _NOTHING
        for child in e.children():
            theirs = self.reads(child)
            if theirs and not theirs <= found:
                found = found | theirs if found else theirs
        kind = type(e)
        if kind is E.Load:
            assert isinstance(e, E.Load)
            found = found | {e.buffer}
        elif kind is E.Intrinsic:
            assert isinstance(e, E.Intrinsic)
            if not INTRINSICS[e.op].pure:
                found = found | {EFFECT}
        self._reads[e] = found
        return found

    def writes(self, s: Stmt) -> frozenset[BufferSym]:
        """The buffers that a statement stores to, allocates or frees."""
        found = self._writes.get(s)
        if found is not None:
            return found
        kind = type(s)
        if kind is S.Store or kind is S.Allocate or kind is S.Free:
            assert isinstance(s, S.Store | S.Allocate | S.Free)
            found = frozenset((s.buffer,))
        elif isinstance(s, S.RunExtern):
            found = frozenset(s.outputs)
        elif isinstance(s, S.Acquire):
            # What another thread has stored until then.
            found = frozenset(s.buffers)
        elif isinstance(s, S.Demand):
            assert isinstance(s.table, BufferSym)
            found = frozenset((s.table,))
            for made in self.thunks[s.thunk].makes:
                found |= self.writes(made)
        else:
            found = _NOTHING
            for child in s.children():
                if isinstance(child, Stmt):
                    theirs = self.writes(child)
                    if theirs and not theirs <= found:
                        found = found | theirs if found else theirs
        self._writes[s] = found
        return found

    def text(self, comment: str) -> str:
        """The whole module."""
        lines = [
            f"; {comment}",
            f'target triple = "{self.target.triple}"',
            "",
            *self._globals,
            "",
            *self._declared.values(),
            "",
            *self.functions,
            "",
            *[f"!{i} = {text}" for i, text in enumerate(self._metadata)],
            "",
        ]
        return "\n".join(lines)
