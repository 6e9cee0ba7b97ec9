"""Kernels without a GPU: assembled by ptxas, and run by threads of the CPU.

The function of a kernel is compiled for the CPU as it stands before LLVM chooses the
GPU's instructions: special registers become calls that say which thread asks, all
memories are one, and at a barrier a thread hands the processor on (see `fibers`).
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from parhelion.codegen.module import DeviceKernel, TextureObject
from parhelion.codegen.nvptx.assemble import Assembled, assemble, find_ptxas
from parhelion.codegen.nvptx.kernel import write_kernel
from parhelion.codegen.nvptx.module import Kernels
from parhelion.codegen.target import host_target
from parhelion.ir import stmt as S
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Expr, Var
from parhelion.ir.symbols import BufferSym
from parhelion.ir.target import gpu_target
from parhelion.runtime import jit
from tests.gpu.fibers import Fibers, with_fibers

ARCHS = ("sm_80", "sm_90")

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

Array = np.ndarray[Any, Any]


def kernels_of(
    *loops: S.Stmt, arch: str = "sm_80", strict: bool = False
) -> tuple[Kernels, list[DeviceKernel]]:
    """A module of kernels, one for each loop over blocks."""
    module = Kernels(gpu_target(arch), strict_float=strict)
    made: list[DeviceKernel] = []
    for loop in loops:
        assert isinstance(loop, S.For)
        made.append(write_kernel(module, loop))
    return module, made


def ptx_of(module: Kernels) -> str:
    return jit.assembly_text(module.text("test"), module.target)


def assembled(*loops: S.Stmt, strict: bool = False) -> tuple[str, list[Assembled]]:
    """The PTX of kernels, and what ptxas says of them for each of `ARCHS`. Skips the
    test where there is no ptxas."""
    if find_ptxas() is None:
        pytest.skip("no ptxas: pip install nvidia-cuda-nvcc-cu12")
    text = ""
    found: list[Assembled] = []
    for arch in ARCHS:
        ptx = ptx_of(kernels_of(*loops, arch=arch, strict=strict)[0])
        text = text or ptx
        assert f".target {arch}" in ptx
        found += assemble(ptx, arch)
    return text, found


# Running.


#: Textures as the stand-in for the driver makes them (`fake_cuda.c`): where they begin,
#: texels in a row, rows, bytes from row to row, the bytes of a texel and whether what
#: lies beyond is 0. An integer coordinate must not lie beyond: what is read there is
#: documented nowhere, and is garbage here.
_TEXTURES = """
declare float @llvm.floor.f32(float)
declare i64 @llvm.fptosi.sat.i64.f32(float)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @llvm.ssub.sat.i32(i32, i32)

define internal { i32, i32, i32, i32 } @sim_at(i64 %t, i64 %x, i64 %y, i1 %whole) {
  %p = inttoptr i64 %t to ptr
  %low = load ptr, ptr %p
  %pw = getelementptr i64, ptr %p, i64 1
  %w = load i64, ptr %pw
  %ph = getelementptr i64, ptr %p, i64 2
  %h = load i64, ptr %ph
  %pp = getelementptr i64, ptr %p, i64 3
  %pitch = load i64, ptr %pp
  %pb = getelementptr i64, ptr %p, i64 4
  %bytes = load i64, ptr %pb
  %pz = getelementptr i64, ptr %p, i64 5
  %zero = load i64, ptr %pz
  %xin = icmp ult i64 %x, %w
  %yin = icmp ult i64 %y, %h
  %in = and i1 %xin, %yin
  %w1 = sub i64 %w, 1
  %h1 = sub i64 %h, 1
  %x1 = call i64 @llvm.smin.i64(i64 %x, i64 %w1)
  %x2 = call i64 @llvm.smax.i64(i64 %x1, i64 0)
  %y1 = call i64 @llvm.smin.i64(i64 %y, i64 %h1)
  %y2 = call i64 @llvm.smax.i64(i64 %y1, i64 0)
  %row = mul i64 %y2, %pitch
  %column = mul i64 %x2, %bytes
  %at = add i64 %row, %column
  %q = getelementptr i8, ptr %low, i64 %at
  %one = icmp eq i64 %bytes, 1
  %two = icmp eq i64 %bytes, 2
  br i1 %one, label %byte, label %more
byte:
  %b = load i8, ptr %q
  %b32 = zext i8 %b to i32
  br label %have
more:
  br i1 %two, label %short, label %word
short:
  %s = load i16, ptr %q
  %s32 = zext i16 %s to i32
  br label %have
word:
  %d = load i32, ptr %q, align 4
  br label %have
have:
  %v = phi i32 [ %b32, %byte ], [ %s32, %short ], [ %d, %word ]
  %border = icmp ne i64 %zero, 0
  %out = xor i1 %in, true
  %none = and i1 %border, %out
  %r0 = select i1 %none, i32 0, i32 %v
  %bad = and i1 %whole, %out
  %r = select i1 %bad, i32 -1515870811, i32 %r0
  %made = insertvalue { i32, i32, i32, i32 } poison, i32 %r, 0
  ret { i32, i32, i32, i32 } %made
}

define internal { i32, i32, i32, i32 } @sim_tex_f32(i64 %t, float %x, float %y) {
  %xf = call float @llvm.floor.f32(float %x)
  %yf = call float @llvm.floor.f32(float %y)
  %xi = call i64 @llvm.fptosi.sat.i64.f32(float %xf)
  %yi = call i64 @llvm.fptosi.sat.i64.f32(float %yf)
  %r = call { i32, i32, i32, i32 } @sim_at(i64 %t, i64 %xi, i64 %yi, i1 false)
  ret { i32, i32, i32, i32 } %r
}

define internal { i32, i32, i32, i32 } @sim_tex_s32(i64 %t, i32 %x, i32 %y) {
  %xi = sext i32 %x to i64
  %yi = sext i32 %y to i64
  %r = call { i32, i32, i32, i32 } @sim_at(i64 %t, i64 %xi, i64 %yi, i1 true)
  ret { i32, i32, i32, i32 } %r
}
"""


def _with_textures(text: str) -> str:
    """The text of a module, with functions in the place of reads of textures."""
    text = re.sub(r'asm "sub\.sat\.s32[^"]*", "[^"]*"', "@llvm.ssub.sat.i32", text)
    text = re.sub(r"@llvm\.nvvm\.tex\.unified\.2d\.v4u32\.(\w+)", r"@sim_tex_\1", text)
    text = re.sub(
        r"^declare [^\n]*@(sim_tex_|llvm\.ssub\.sat\.i32)[^\n]*$", "", text, flags=re.M
    )
    if "@sim_tex" not in text and "@llvm.ssub.sat.i32" not in text:
        return text
    given = set(re.findall(r"^declare [^\n]*(@llvm[\w.]+)\(", text, re.M))
    lines = [
        line
        for line in _TEXTURES.splitlines()
        if not (line.startswith("declare") and any(f"{g}(" in line for g in given))
    ]
    return "\n".join([text, *lines])


def on_cpu(text: str, shared: int) -> str:
    """The text of a module of kernels as one of the CPU's."""
    text = text.replace("nvptx64-nvidia-cuda", host_target().triple)
    text = re.sub(r"@llvm\.nvvm\.read\.ptx\.sreg\.(\w+)\.(\w)", r"@sim_\1_\2", text)
    text = text.replace("@llvm.nvvm.barrier.cta.sync.aligned.all", "@sim_barrier")
    text = text.replace("@llvm.nvvm.shfl.sync.idx.i32", "@sim_shuffle")
    text = _with_textures(text)
    text = text.replace(
        "external addrspace(3) global [0 x i8]",
        f"global [{max(shared, 1)} x i8] zeroinitializer",
    )
    text = text.replace("ptr addrspacecast (ptr addrspace(3) ", "ptr (ptr ")
    text = re.sub(r"ptr \(ptr (@\w+) to ptr\)", r"ptr \1", text)
    text = re.sub(r"addrspacecast ptr addrspace\(1\)", "bitcast ptr", text)
    text = text.replace(" addrspace(1)", "").replace("ptx_kernel ", "")
    text = re.sub(r' syncscope\("\w+"\)', "", text)
    return re.sub(r' "nvvm\.\w+"="[\d,]+"', "", text)


def _machine() -> Any:
    target = host_target()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu,
        features=target.feature_string(),
        opt=2,
        reloc="pic",
        codemodel="small",
    )


_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool,
    **{f"int{w}": getattr(ctypes, f"c_int{w}") for w in (8, 16, 32, 64)},
    **{f"uint{w}": getattr(ctypes, f"c_uint{w}") for w in (8, 16, 32, 64)},
    "float32": ctypes.c_float,
    "float64": ctypes.c_double,
}


class Emulation:
    """The kernels of a module's text, compiled for the CPU.

    shared: the most bytes of shared memory that a launch asks for.
    """

    def __init__(self, text: str, shared: int) -> None:
        text = on_cpu(text, shared)
        parsed = llvm.parse_assembly(with_fibers(text))
        parsed.verify()
        jit.optimise(parsed, host_target())
        self.engine = llvm.create_mcjit_compiler(parsed, _machine())
        self.engine.finalize_object()
        self.fibers = Fibers(
            self.engine.get_function_address("sim_resume"),
            at_once="cmpxchg" in text or "atomicrmw" in text,
        )

    def launch(
        self,
        name: str,
        given: Sequence[tuple[Any, Any]],
        grid: Sequence[int],
        threads: Sequence[int],
        shared: int,
    ) -> None:
        """Runs the blocks of a kernel one after another. given: the type for ctypes and
        the value of each argument."""
        arguments = (ctypes.c_uint64 * max(len(given), 1))()
        for k, (kind, value) in enumerate(given):
            kind.from_buffer(arguments, 8 * k).value = value
        run = self.engine.get_function_address(f"sim_run_{name}")
        of_block = list(_points(threads))
        for block in _points(grid):
            if shared:
                at = self.engine.get_global_value_address("parhelion_shared")
                ctypes.memset(at, 0xA5, shared)
            self.fibers.block(run, ctypes.addressof(arguments), block, of_block)


def simulate(
    module: Kernels,
    kernel: DeviceKernel,
    arrays: Mapping[BufferSym, Array],
    env: Mapping[Var, Any],
) -> None:
    """Runs a kernel as it is emitted."""
    given: list[tuple[Any, Any]] = []
    for p in kernel.parameters:
        if isinstance(p, BufferSym):
            given.append((ctypes.c_void_p, arrays[p].ctypes.data))
        elif isinstance(p, TextureObject):
            raise AssertionError("textures are tested through the driver")
        else:
            given.append((_SCALARS[str(p.type)], evaluate(p, env)))
    emulation = Emulation(module.text("test"), kernel.shared)
    grid, threads = _sizes(kernel.grid, env, 0), _sizes(kernel.threads, env, 1)
    emulation.launch(kernel.name, given, grid, threads, kernel.shared)


def _sizes(
    given: Sequence[Expr], env: Mapping[Var, Any], least: int
) -> tuple[int, ...]:
    sizes = [max(int(evaluate(e, env)), least) for e in given]
    return tuple((sizes + [1, 1])[:3])


def _points(sizes: Sequence[int]) -> Any:
    """x fastest."""
    for z, y, x in itertools.product(*[range(n) for n in reversed(sizes)]):
        yield x, y, z


__all__ = ["ARCHS", "Emulation", "assembled", "kernels_of", "ptx_of", "simulate"]
