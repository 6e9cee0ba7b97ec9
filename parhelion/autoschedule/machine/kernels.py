"""Small loops in machine code whose times tell what a core and its caches can do.

Each kernel is bound by one thing: additions, loads, the second-level cache, … They are
written as LLVM text, so that what runs is what is meant, and compiled together. A
register is as wide as those that generated code uses.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.runtime import jit

#: Bytes of what the nearest cache holds, of a line of a cache, and of a page.
_SMALL, _LINE, _PAGE = 16 << 10, 64, 4096
#: What far memory is at least and at most; else four second-level caches.
_FAR, _FARTHEST = 16 << 20, 64 << 20
#: How many pages are touched in turn: more than translation buffers know.
_PAGES = 4096
#: How many rows there are, and of at most how many registers, less one.
_ROWS, _LONGEST = 1024, 9


@dataclass(frozen=True, slots=True)
class Kernel:
    """function: takes an address, how often to go round, and a number of its own,
    `size`. count: how many units (operations, bytes, rows, …) one round is. rounds: of
    one timing. array: what it works on."""

    name: str
    function: str
    count: float
    rounds: int
    array: str = "small"
    size: int = 0


def kernels(vector_bytes: int, l1: int, l2: int) -> list[Kernel]:
    """All kernels for registers and caches of these sizes, in bytes."""
    lanes = vector_bytes // 4
    small = _SMALL // vector_bytes
    near = max(_SMALL, min(6 * l1, l2 // 4)) // _PAGE * _PAGE
    far = _far_bytes(l2)
    last = min(4 * l2, far) // _PAGE * _PAGE
    return [
        Kernel("operation", "add", 12, 30000, "ones"),
        Kernel("scalar", "scalar", 3, 40000, "ones"),
        Kernel("load", "load", small, 1200, size=_SMALL),
        Kernel("broadcast", "broadcast", small, 1200, size=_SMALL),
        Kernel("store", "store", small, 800, size=_SMALL),
        Kernel("shuffle", "shuffle", 8, 25000, "ones"),
        Kernel("lane", "gather", lanes * _SMALL // 2 // vector_bytes, 120, "table"),
        Kernel("latency", "chain", 1, 60000, "ones"),
        Kernel("row", "rows", _ROWS, 20, "rows"),
        Kernel("near_byte", "load", near, 12, "far", near),
        Kernel("last_byte", "load", last, 4, "far", last),
        Kernel("far_byte", "load", far, 1, "far", far),
        Kernel("far_write", "store", far, 1, "far", far),
        Kernel("streamed", "stream", far, 1, "far", far),
        Kernel("fetch", "chase", 4000, 1, "chase", 4000),
        Kernel("page", "pages", _PAGES, 10, "far", _PAGES),
    ]


def _far_bytes(l2: int) -> int:
    return min(max(_FAR, 4 * l2), _FARTHEST) // _PAGE * _PAGE


def _loop(body: str, step: str = "%n", carried: Sequence[tuple[str, str]] = ()) -> str:
    phis = "\n".join(
        [f"  {x} = phi {t} [ {x}_0, %entry ], [ {x}_1, %loop ]" for t, x in carried]
    )
    return f"""
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]
{phis}
{body}
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, {step}
  br i1 %more, label %loop, label %done
"""


class _Text:
    """The module of all kernels for registers of so many lanes of 32 bits."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.v = f"<{lanes} x float>"
        self.parts = [self.declarations()]

    def declarations(self) -> str:
        v, n = self.v, self.lanes
        return (
            f"declare {v} @llvm.masked.gather.v{n}f32.v{n}p0"
            f"(<{n} x ptr>, <{n} x i1>, {v})\n!0 = !{{i32 1}}\n"
        )

    def module(self) -> str:
        v = self.v
        bits = f"<{self.lanes} x i32>"
        self.chains("add", v, 12, f"fadd {v} {{x}}, %c")
        self.chains("scalar", "i64", 3, "mul i64 {x}, %c")
        even = ", ".join([f"i32 {2 * k}" for k in range(self.lanes)])
        shuffle = f"shufflevector {v} {{x}}, {v} %c, {bits} <{even}>"
        self.chains("shuffle", v, 8, shuffle)
        self.chain()
        for what in ("load", "broadcast", "store", "stream"):
            self.sweep(what)
        self.gather()
        self.rows()
        self.chase()
        self.pages()
        return "\n".join(self.parts)

    def function(self, name: str, body: str) -> None:
        self.parts.append(
            f"define void @{name}(ptr %a, i64 %n, i64 %size) {{\nentry:\n{body}}}\n"
        )

    def chains(self, name: str, t: str, count: int, operation: str) -> None:
        """Independent chains of one operation, on what is read from memory."""
        lines = [f"  %c = load {t}, ptr %a, align 4"]
        for k in range(count):
            lines.append(f"  %p{k} = getelementptr {t}, ptr %a, i64 {k + 1}")
            lines.append(f"  %x{k}_0 = load {t}, ptr %p{k}, align 4")
        lines.append("  br label %loop\n")
        body = "\n".join(
            [f"  %x{k}_1 = {operation.format(x=f'%x{k}')}" for k in range(count)]
        )
        loop = _loop(body, carried=[(t, f"%x{k}") for k in range(count)])
        end = "".join(
            [f"  store {t} %x{k}_1, ptr %p{k}, align 4\n" for k in range(count)]
        )
        self.function(name, "\n".join(lines) + loop + "done:\n" + end + "  ret void\n")

    def chain(self) -> None:
        v = self.v
        body = f"  %m = fmul contract {v} %x, %c\n  %x_1 = fadd contract {v} %m, %c"
        self.function(
            "chain",
            f"  %c = load {v}, ptr %a, align 4\n  %p = getelementptr {v}, ptr %a, i64 1"
            f"\n  %x_0 = load {v}, ptr %p, align 4\n  br label %loop\n"
            + _loop(body, carried=[(v, "%x")])
            + f"done:\n  store {v} %x_1, ptr %p, align 4\n  ret void\n",
        )

    def sweep(self, what: str) -> None:
        """Every register of an array in turn, eight at a time, or a number of each."""
        v, w = f"<{self.lanes} x i32>", self.lanes * 4
        body, carried = [], []
        for k in range(8):
            body.append(f"  %o{k} = add nuw nsw i64 %j, {k * w}")
            body.append(f"  %q{k} = getelementptr i8, ptr %a, i64 %o{k}")
            if what in ("load", "broadcast"):
                if what == "load":
                    body.append(f"  %l{k} = load {v}, ptr %q{k}, align 64")
                else:
                    body.append(f"  %e{k} = load i32, ptr %q{k}, align 4")
                    body.append(f"  %f{k} = insertelement {v} poison, i32 %e{k}, i32 0")
                    body.append(
                        f"  %l{k} = shufflevector {v} %f{k}, {v} poison,"
                        f" {v} zeroinitializer"
                    )
                body.append(f"  %y{k}_1 = xor {v} %y{k}, %l{k}")
                carried.append(f"%y{k}")
            else:
                hint = ", !nontemporal !0" if what == "stream" else ""
                body.append(f"  store {v} zeroinitializer, ptr %q{k}, align 64{hint}")
        phis = "".join(
            [f"  {y} = phi {v} [ {y}_o, %round ], [ {y}_1, %sweep ]\n" for y in carried]
        )
        outer = "".join(
            [
                f"  {y}_o = phi {v} [ zeroinitializer, %entry ], [ {y}_1, %next ]\n"
                for y in carried
            ]
        )
        end = []
        total = "zeroinitializer"
        for k, y in enumerate(carried):
            end.append(f"  %z{k} = xor {v} {total}, {y}_1")
            total = f"%z{k}"
        if carried:
            end.append(f"  store {v} {total}, ptr %a, align 64")
        newline = "\n"
        self.function(
            what,
            f"""  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
{outer}  br label %sweep
sweep:
  %j = phi i64 [ 0, %round ], [ %j1, %sweep ]
{phis}{newline.join(body)}
  %j1 = add nuw nsw i64 %j, {8 * w}
  %inside = icmp ult i64 %j1, %size
  br i1 %inside, label %sweep, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %round, label %done
done:
{newline.join(end)}
  ret void
""",
        )

    def gather(self) -> None:
        """Lanes from the second half of the array, where the first half says."""
        v, n, half = self.v, self.lanes, _SMALL // 2
        ones = ", ".join(["i1 true"] * n)
        self.function(
            "gather",
            f"""  %t = getelementptr i8, ptr %a, i64 {half}
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %so = phi {v} [ zeroinitializer, %entry ], [ %s1, %next ]
  br label %sweep
sweep:
  %j = phi i64 [ 0, %round ], [ %j1, %sweep ]
  %s = phi {v} [ %so, %round ], [ %s1, %sweep ]
  %q = getelementptr i8, ptr %a, i64 %j
  %x = load <{n} x i32>, ptr %q, align 64
  %w = sext <{n} x i32> %x to <{n} x i64>
  %p = getelementptr float, ptr %t, <{n} x i64> %w
  %g = call {v} @llvm.masked.gather.v{n}f32.v{n}p0(
      <{n} x ptr> align 4 %p, <{n} x i1> <{ones}>, {v} zeroinitializer)
  %s1 = fadd {v} %s, %g
  %j1 = add nuw nsw i64 %j, {n * 4}
  %inside = icmp ult i64 %j1, {half}
  br i1 %inside, label %sweep, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %round, label %done
done:
  store {v} %s1, ptr %t, align 64
  ret void
""",
        )

    def rows(self) -> None:
        """Short rows of lengths that nobody can foretell, which the array has; what is
        done in them costs next to nothing."""
        self.function(
            "rows",
            f"""  %d = getelementptr i8, ptr %a, i64 {4 * _ROWS}
  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %so = phi i64 [ 0, %entry ], [ %s1, %next ]
  br label %row
row:
  %r = phi i64 [ 0, %round ], [ %r1, %end ]
  %st = phi i64 [ %so, %round ], [ %s1, %end ]
  %q = getelementptr i32, ptr %a, i64 %r
  %len = load i32, ptr %q, align 4
  %w = zext i32 %len to i64
  br label %sweep
sweep:
  %j = phi i64 [ 0, %row ], [ %j1, %sweep ]
  %s = phi i64 [ %st, %row ], [ %s1, %sweep ]
  %p = getelementptr i64, ptr %d, i64 %j
  %x = load i64, ptr %p, align 8
  %s1 = xor i64 %s, %x
  %j1 = add nuw nsw i64 %j, 1
  %inside = icmp ult i64 %j1, %w
  br i1 %inside, label %sweep, label %end
end:
  %r1 = add nuw nsw i64 %r, 1
  %in = icmp ult i64 %r1, {_ROWS}
  br i1 %in, label %row, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %round, label %done
done:
  store i64 %s1, ptr %d, align 8
  ret void
""",
        )

    def chase(self) -> None:
        """From each place to the one whose number stands there."""
        body = """  %p = getelementptr i8, ptr %a, i64 %x
  %x_1 = load i64, ptr %p, align 8"""
        self.function(
            "chase",
            "  %m = mul i64 %n, %size\n  %x_0 = load i64, ptr %a, align 8\n"
            "  br label %loop\n"
            + _loop(body, "%m", [("i64", "%x")])
            # The next run goes on from there, where nothing is cached yet.
            + "done:\n  store i64 %x_1, ptr %a, align 8\n  ret void\n",
        )

    def pages(self) -> None:
        """One line of each of some pages, in turn."""
        self.function(
            "pages",
            f"""  br label %round
round:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  %so = phi i64 [ 0, %entry ], [ %s1, %next ]
  br label %sweep
sweep:
  %j = phi i64 [ 0, %round ], [ %j1, %sweep ]
  %s = phi i64 [ %so, %round ], [ %s1, %sweep ]
  %o = mul nuw nsw i64 %j, {_PAGE + _LINE}
  %q = getelementptr i8, ptr %a, i64 %o
  %x = load i64, ptr %q, align 8
  %s1 = xor i64 %s, %x
  %j1 = add nuw nsw i64 %j, 1
  %inside = icmp ult i64 %j1, %size
  br i1 %inside, label %sweep, label %next
next:
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %round, label %done
done:
  store i64 %s1, ptr %a, align 8
  ret void
""",
        )


class Bench:
    """The kernels for registers and caches of these sizes, in bytes, compiled, with
    arrays to work on. Raises InternalError where LLVM cannot compile them."""

    def __init__(self, vector_bytes: int, l1: int, l2: int) -> None:
        self.kernels = kernels(vector_bytes, l1, l2)
        names = tuple(dict.fromkeys([k.function for k in self.kernels]))
        code = jit.object_code(_Text(vector_bytes // 4).module(), host_target())
        self._library, addresses = jit.load(code, names, {})
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
        self.calls: dict[str, Any] = {name: kind(addresses[name]) for name in names}
        rng = np.random.default_rng(1)
        # What is looked up, and where: see `gather`; the lengths of rows: see `rows`.
        half = _SMALL // 8
        table = _array(_SMALL)
        table[: 4 * half].view(np.int32)[:] = rng.integers(0, half, half)
        rows = _array(_SMALL)
        rows[: 4 * _ROWS].view(np.int32)[:] = rng.integers(1, _LONGEST, _ROWS)
        # Normal numbers: with others, some processors take a hundred times as long.
        ones = _array(_SMALL)
        ones.view(np.float32)[:] = 1
        self.arrays = {
            "small": _array(_SMALL),
            "table": table,
            "ones": ones,
            "rows": rows,
            "far": _array(max(_far_bytes(l2), _PAGES * (_PAGE + _LINE))),
            "chase": _chain(_FAR),
        }

    def run(self, kernel: Kernel) -> float:
        """Nanoseconds of one unit, in one timing."""
        address = self.arrays[kernel.array].ctypes.data
        call = self.calls[kernel.function]
        start = time.perf_counter_ns()
        call(address, kernel.rounds, kernel.size)
        return (time.perf_counter_ns() - start) / (kernel.count * kernel.rounds)


def _chain(size: int) -> Any:
    """In each line of an array of 2**k bytes the place of another, so that the chain
    goes through all of them, in no order that a processor could foresee."""
    chain = _array(size)
    lines = size // _LINE
    # A linear congruential generator of full period.
    after = (np.arange(lines, dtype=np.int64) * 1664525 + 1013904223) % lines
    chain.view(np.int64)[:: _LINE // 8] = after * _LINE
    return chain


def _array(size: int) -> Any:
    """Bytes, all 0, that begin on a page."""
    whole = np.empty(size + _PAGE, dtype=np.uint8)
    skip = -whole.ctypes.data % _PAGE
    made = whole[skip : skip + size]
    made[:] = 0
    return made


__all__ = ["Bench", "Kernel", "kernels"]
