"""The module of a program's kernels, and a kernel's function under construction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from parhelion.analysis.modulus import alignment
from parhelion.codegen.backends import llvm_backend
from parhelion.codegen.module import Module
from parhelion.codegen.writer import Function
from parhelion.errors import InternalError
from parhelion.ir.device import FURTHEST
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import Target
from parhelion.types import INT32, Type, TypeCode

#: No access is wider, so that no more alignment, in bytes, is of use.
WIDEST = 16
#: The array of shared memory, whose size is told at the launch.
_SHARED = f"external addrspace(3) global [0 x i8], align {WIDEST}"


#: The bytes that elements at some indices of buffers lie at multiples of.
Places = Mapping[tuple[BufferSym, Expr], int]


class Kernels(Module):
    """The kernels of one program, which become one PTX text.

    shared: the buffers in shared memory of the kernel in hand.
    aligned: the callers' buffers whose addresses on the device are multiples of WIDEST
        where the kernel in hand runs, as those are of what is allocated on the device.
        places: what else is known there.
    """

    def __init__(self, target: Target, *, strict_float: bool) -> None:
        backend = llvm_backend(target.arch)
        super().__init__(target, backend, strict_float=strict_float)
        self.aligned: frozenset[BufferSym] = frozenset()
        self.places: Places = {}
        self.shared: frozenset[BufferSym] = frozenset()

    def shared_array(self) -> str:
        """The address of the block's shared memory."""
        return self.add_global("parhelion_shared", _SHARED)

    # What differs from the host's modules.
    def declare(self, name: str, result: str, params: str, attributes: str = "") -> str:
        if not name.startswith("llvm."):
            raise InternalError(f"a kernel calls {name}, which is not on the device")
        return super().declare(name, result, params, attributes)

    def loop(self, *, short: bool = False) -> str:
        """No marks: a loop that must not be unrolled may not be by ptxas either, which
        knows best."""
        return ""

    def alignment(self, buffer: BufferSym, index: Expr, elements: int) -> int:
        size = buffer.type.bytes()
        modulus, rest = alignment(index)
        known = self.base_alignment(buffer)
        told = self.places.get((buffer, index))
        if told is not None:
            modulus, rest = told // size, 0
        # The least power of two that divides all of base, modulus and remainder.
        for part in (modulus * size, (rest + elements) * size):
            if part:
                known = min(known, part & -part)
        return max(known, size)

    def base_alignment(self, buffer: BufferSym) -> int:
        """The bytes, WIDEST at most, that the address of the element with index 0 is a
        multiple of."""
        if buffer.role == "internal" or buffer in self.aligned:
            return WIDEST
        return buffer.type.bytes()

    def furthest(self, buffer: BufferSym, index: Expr) -> int:
        if buffer in self.sizes:
            # Storage of the kernel's own, which is small.
            return 1 << 30
        # It has been checked that all elements of others can be counted.
        return FURTHEST if index.type is INT32 else -1

    def scope(self, buffer: BufferSym) -> str:
        return "block" if buffer in self.shared else "device"

    def adds_floats(self, t: Type) -> bool:
        # In memory of the device, the instruction takes subnormal numbers for zeros.
        wide = t.kind is TypeCode.Float and t.width >= 32
        return wide and not self.strict_float


class KernelFunction(Function):
    """A kernel being written.

    threads: how many a block has along x, y and z where that is a constant, else None.
    offsets: where in the shared memory each buffer lies, in bytes.
    textures: the parameters that the kernel reads textures by.
    """

    module: Kernels

    def __init__(
        self,
        module: Kernels,
        header: str,
        symbol: str,
        rebound: Iterable[Var],
        threads: Sequence[int | None],
        offsets: Mapping[BufferSym, int],
    ) -> None:
        super().__init__(module, header, symbol, rebound)
        self.threads = tuple(threads)
        self.offsets = offsets
        self.textures: list[str] = []

    def special(self, register: str, most: int) -> str:
        """The value of a special register that is less than `most`, as ``tid.x``."""
        key = ("special", register)
        found = self.memo.get(key)
        if found is None:
            at = self.module.declare(f"llvm.nvvm.read.ptx.sreg.{register}", "i32", "")
            found = self.name()
            self.entry.append(f"  {found} = call range(i32 0, {most}) i32 {at}()")
            self.memo[key] = found
        return found


def kernel_function(f: Function) -> KernelFunction:
    """A function that is known to be a kernel's."""
    if not isinstance(f, KernelFunction):
        raise InternalError(f"{f.symbol} is no kernel")
    return f


__all__ = ["WIDEST", "KernelFunction", "Kernels", "kernel_function"]
