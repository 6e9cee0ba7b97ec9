"""Compiles lowered statements with llvmlite alone, for tests of the code generator."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.module import Emitted
from parhelion.codegen.target import host_target
from parhelion.ir.pipeline import ArgKind, Argument, Lowered
from parhelion.ir.promises import Assumptions
from parhelion.ir.stmt import Stmt
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.target import Target
from tests.support.structs import BufferStruct, Dimension

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


class Context(ctypes.Structure):
    _fields_ = [
        ("code", ctypes.c_int32),
        ("site", ctypes.c_int32),
        ("nargs", ctypes.c_int32),
        ("pad", ctypes.c_int32),
        ("args", ctypes.c_int64 * 8),
        ("print_fn", ctypes.c_void_p),
        ("user", ctypes.c_void_p),
    ]


_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_BODY = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p
)
_PAR_FOR = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_void_p,
)
_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)

_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]

#: Live allocations by address, and the lines printed, since the last `reset`.
LIVE: dict[int, int] = {}
PRINTED: list[str] = []
LARGEST = 1 << 32


def _malloc(_ctx: int, size: int) -> int | None:
    if size > LARGEST:
        return None
    found = _libc.aligned_alloc(64, (max(size, 1) + 63) // 64 * 64)
    LIVE[found] = size
    return int(found)


def _free(_ctx: int, pointer: int | None) -> None:
    if pointer:
        del LIVE[pointer]
        _libc.free(pointer)


def _par_for(ctx: int, fn: int, start: int, extent: int, closure: int) -> int:
    body = _BODY(fn)
    results: list[int] = []

    def work(i: int) -> None:
        results.append(body(ctx, i, closure))

    threads = [
        threading.Thread(target=work, args=(i,)) for i in range(start, start + extent)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return next((r for r in results if r), 0)


def _print(ctx: int, text: bytes) -> None:
    PRINTED.append(text.decode())


#: What compiled code calls; ctypes frees what nobody holds.
CALLED = {
    "ph_malloc": _MALLOC(_malloc),
    "ph_reserve": _MALLOC(_malloc),
    "ph_free": _FREE(_free),
    "ph_par_for": _PAR_FOR(_par_for),
    "ph_print": _PRINT(_print),
}
for _name, _fn in CALLED.items():
    llvm.add_symbol(_name, ctypes.cast(_fn, ctypes.c_void_p).value)


def lowered(
    body: Stmt,
    args: Sequence[BufferSym | ParamSym],
    *,
    name: str = "test",
    strict: bool = False,
    index64: bool = False,
) -> Lowered:
    """A pipeline with that body."""
    kinds = {"input": ArgKind.INPUT, "output": ArgKind.OUTPUT}
    return Lowered(
        name,
        (),
        tuple(
            Argument(
                s.name,
                kinds[s.role] if isinstance(s, BufferSym) else ArgKind.SCALAR,
                s,
            )
            for s in args
        ),
        body,
        {},
        {},
        Assumptions.now(args),
        strict,
        index64,
    )


class Compiled:
    """A module in memory; call it with NumPy arrays (dimension 0 last) and numbers."""

    def __init__(
        self,
        what: Lowered,
        target: Target | None = None,
        optimize: bool = True,
        only_text: bool = False,
    ) -> None:
        self.target = target or host_target()
        self.what = what
        self.emitted: Emitted = emit_with_sites(what, self.target)
        self.module = llvm.parse_assembly(self.emitted.text)
        self.module.verify()
        machine = llvm.Target.from_triple(self.target.triple).create_target_machine(
            cpu=self.target.cpu,
            features=self.target.feature_string(),
            opt=3,
            reloc="pic",
            codemodel="small",
        )
        if optimize:
            pto = llvm.create_pipeline_tuning_options(speed_level=1)
            pto.loop_unrolling = False
            pto.loop_vectorization = False
            pto.slp_vectorization = False
            builder = llvm.create_pass_builder(machine, pto)
            fpm = llvm.create_new_module_pass_manager()
            fpm.add_sroa_pass()
            fpm.add_instruction_combine_pass()
            fpm.add_simplify_cfg_pass()
            fpm.run(self.module, builder)
        self.asm: str = machine.emit_assembly(self.module)
        if only_text:
            return
        self.engine = llvm.create_mcjit_compiler(self.module, machine)
        self.engine.finalize_object()
        address = self.engine.get_function_address(f"{what.name}_argv")
        self.function: Callable[[Any, Any], int] = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p
        )(address)
        self.context = Context()

    def __call__(self, *args: Any) -> int:
        """Runs it; returns the result code. The context is left in `context`."""
        keep: list[Any] = []
        slots = (ctypes.c_void_p * max(len(args), 1))()
        for i, (arg, spec) in enumerate(zip(args, self.what.args, strict=True)):
            if isinstance(spec.symbol, BufferSym):
                holder: Any = _buffer(arg, keep)
            else:
                holder = np.array([arg], dtype=spec.symbol.type.to_numpy())
                keep.append(holder)
                slots[i] = holder.ctypes.data
                continue
            keep.append(holder)
            slots[i] = ctypes.addressof(holder)
        self.context = Context()
        return self.function(ctypes.addressof(self.context), ctypes.addressof(slots))

    def record(self) -> tuple[Any, ...]:
        """The failure of the last call: its code's name and its arguments."""
        site = self.emitted.failures[self.context.site]
        raw = tuple(self.context.args[: self.context.nargs])
        return (site.code, *site.decode(raw))


def _buffer(array: np.ndarray[Any, Any], keep: list[Any]) -> BufferStruct:
    dims = (Dimension * max(array.ndim, 1))()
    for d in range(array.ndim):
        axis = array.ndim - 1 - d
        dims[d] = Dimension(
            0, array.shape[axis], array.strides[axis] // array.itemsize, 0
        )
    keep.append(dims)
    return BufferStruct(
        host=array.ctypes.data,
        dimensions=array.ndim,
        dim=ctypes.cast(dims, ctypes.POINTER(Dimension)),
    )
