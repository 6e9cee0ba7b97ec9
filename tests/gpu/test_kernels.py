"""Kernels written by hand in normal form: every statement, run and assembled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from parhelion.errors import ScheduleError
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.reader import read_stmt
from parhelion.ir.symbols import BufferSym
from parhelion.ir.text import Symbol
from parhelion.schedule.directives import FuncSchedule
from parhelion.types import BOOL, INT32, Float, Int, Type, UInt
from tests.codegen.runner import Runner
from tests.gpu.harness import Array, assembled, kernels_of, simulate

F32 = Float(32)
#: Names in the texts below: their first letters say what they hold.
_TYPES: dict[str, Type] = {
    "f": F32,
    "d": Float(64),
    "h": Float(16),
    "i": INT32,
    "u": UInt(8),
    "s": Int(16),
    "l": Int(64),
    "b": BOOL,
}
_ROLES = {"in": "input", "out": "output"}


def symbols(names: str) -> dict[str, Symbol]:
    """Symbols by their names: ``x`` is an int32 Var, ``fin[]`` an input of float32,
    ``iout[]`` an output of int32, ``ftile[]`` storage of float32."""
    found: dict[str, Symbol] = {}
    for name in names.split():
        if not name.endswith("[]"):
            found[name] = Var(name, INT32)
            continue
        plain = name.removesuffix("[]")
        role = _ROLES.get(plain[1:].rstrip("0123456789"), "internal")
        found[name] = BufferSym(plain, _TYPES[plain[0]], 1, role)
    return found


class Case:
    """A kernel's text, and what it is given: arrays and numbers by name."""

    def __init__(self, names: str, source: str, **given: Any) -> None:
        self.symbols = symbols(names)
        self.loop = read_stmt(source, self.symbols)
        assert isinstance(self.loop, S.For)
        self.arrays: dict[BufferSym, Array] = {}
        self.env: dict[Var, Any] = {}
        for name, value in given.items():
            if isinstance(value, np.ndarray):
                self.arrays[self.buffer(name)] = value
            else:
                self.env[self.var(name)] = value

    def buffer(self, name: str) -> BufferSym:
        found = self.symbols[f"{name}[]"]
        assert isinstance(found, BufferSym)
        return found

    def var(self, name: str) -> Var:
        found = self.symbols[name]
        assert isinstance(found, Var)
        return found

    def check(self) -> str:
        """Asserts that ptxas takes the kernel, that nothing in it is called, and that
        it computes what the statement means. Returns the PTX for the first GPU."""
        ptx, told = assembled(self.loop)
        assert "call" not in ptx
        assert {one.name for one in told}
        flat: dict[BufferSym, list[Any]] = {
            b: a.tolist() for b, a in self.arrays.items()
        }
        Runner(flat, dict(self.env)).run(self.loop)
        module, (kernel,) = kernels_of(self.loop)
        simulate(module, kernel, self.arrays, self.env)
        for buffer, array in self.arrays.items():
            wanted = np.array(flat[buffer], dtype=array.dtype)
            np.testing.assert_array_equal(array, wanted, err_msg=buffer.name)
        return ptx


def floats(count: int, seed: int = 0) -> Array:
    """Small whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-50, 50, count).astype(np.float32)


def zeros(count: int, kind: Any = np.float32) -> Array:
    return np.zeros(count, kind)


STENCIL = """\
gpu_block (by, 0, h) {
  gpu_block (bx, x0, w) {
    let x = bx*32
    allocate ftile[float32 * 34 * 8] in shared
    gpu_thread (ty, 0, 8) {
      gpu_thread (tx, 0, 34) {
        ftile[ty*34 + tx] = fin[(by*8 + ty)*n + x + tx]
      }
    }
    barrier
    gpu_thread (ty, 0, 8) {
      gpu_thread (tx, 0, 32) {
        allocate fsum[float32 * 1] in stack
        fsum[0] = 0.0f
        for (k, 0, 3) {
          fsum[0] = fsum[0] + ftile[ty*34 + tx + k]
        }
        fout[(by*8 + ty)*n + x + tx] = fsum[0]
      }
    }
  }
}
"""


def test_a_tile_in_shared_memory() -> None:
    """Mins of block loops that are not 0, nests of other extents, a carried sum."""
    case = Case(
        "bx by tx ty x k n w h x0 fin[] fout[] ftile[] fsum[]",
        STENCIL,
        fin=floats(16 * 200),
        fout=zeros(16 * 200),
        n=200,
        w=2,
        h=2,
        x0=1,
    )
    ptx = case.check()
    assert ptx.count("bar.sync") == 1
    assert "ld.shared" in ptx and "st.shared" in ptx
    assert "ld.global.nc" in ptx and "st.global" in ptx
    # The sum is in registers.
    assert ".local" not in ptx
    # The larger nest has as many threads as the block.
    assert ".reqntid 34, 8, 1" in ptx
    _, (kernel,) = kernels_of(case.loop)
    assert kernel.shared == 34 * 8 * 4
    assert kernel.func == "fout"
    assert [p.name for p in kernel.parameters if isinstance(p, BufferSym)] == [
        "fin",
        "fout",
    ]


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_dimensions(dims: int) -> None:
    """One to three loops over blocks and over threads, the innermost being x."""
    b, t = ["bz", "by", "bx"][-dims:], ["tz", "ty", "tx"][-dims:]
    sizes = [2, 3, 4][-dims:]
    lines = [f"gpu_block ({v}, 0, {n}) {{" for v, n in zip(b, sizes, strict=True)]
    lines += [f"gpu_thread ({v}, 1, {n}) {{" for v, n in zip(t, sizes, strict=True)]
    index = "0"
    for v, u, n in zip(b, t, sizes, strict=True):
        index = f"(({index})*{n} + {v})*{n} + {u} - 1"
    lines.append(f"iout[{index}] = {index}")
    source = "".join("  " * k + line + "\n" for k, line in enumerate(lines))
    for k in reversed(range(len(lines) - 1)):
        source += "  " * k + "}\n"
    total = int(np.prod(sizes)) ** 2
    out = zeros(total, np.int32)
    case = Case(" ".join([*b, *t, "iout[]"]), source, iout=out)
    ptx = case.check()
    assert sorted(out.tolist()) == list(range(total))
    for axis in "xyz"[:dims]:
        assert f"%tid.{axis}" in ptx and f"%ctaid.{axis}" in ptx
    for axis in "xyz"[dims:]:
        assert f"%tid.{axis}" not in ptx


def test_extents_of_the_host() -> None:
    """How many threads there are is an expression of the host's: the most of the
    nests, each of which is for as many as it has iterations."""
    source = """\
gpu_block (bx, 0, 2) {
  gpu_thread (tx, 0, n) {
    iout[bx*20 + tx] = tx
  }
  gpu_thread (tx, lo, m - 2) {
    iout[bx*20 + 10 + tx] = 100*tx
  }
}
"""
    for n, m in ((5, 9), (9, 4), (3, 1)):
        case = Case(
            "bx tx n m lo iout[]", source, iout=zeros(40, np.int32), n=n, m=m, lo=1
        )
        ptx = case.check()
        assert ".reqntid" not in ptx and ".maxntid 1024" in ptx


def test_extents_of_the_block_are_bounded() -> None:
    source = """\
gpu_block (bx, 0, 3) {
  let left = min(n - bx*8, 8)
  gpu_thread (tx, 0, left) {
    iout[bx*8 + tx] = tx
  }
}
"""
    case = Case("bx tx n left iout[]", source, iout=zeros(24, np.int32), n=19)
    assert ".reqntid 8, 1, 1" in case.check()
    wide = source.replace("min(n - bx*8, 8)", "n - bx*8")
    case = Case("bx tx n left iout[]", wide, iout=zeros(24, np.int32), n=19)
    with pytest.raises(ScheduleError, match="depends on the block"):
        kernels_of(case.loop)


def test_serial_loops_around_barriers() -> None:
    """A loop at block level, whose iterations hand values on by shared memory."""
    source = """\
gpu_block (bx, 0, 2) {
  allocate ftile[float32 * 16] in shared
  gpu_thread (tx, 0, 16) {
    ftile[tx] = fin[bx*16 + tx]
  }
  for (k, 0, n) {
    barrier
    gpu_thread (tx, 0, 16) {
      fout[bx*16 + tx] = ftile[(tx + 1) % 16] + k
    }
    barrier
    gpu_thread (tx, 0, 16) {
      ftile[tx] = fout[bx*16 + tx]
    }
  }
}
""".replace("+ k", "+ float32(k)")
    case = Case(
        "bx tx k n fin[] fout[] ftile[]",
        source,
        fin=floats(32),
        fout=zeros(32),
        n=3,
    )
    assert case.check().count("bar.sync") == 2


def test_values_handed_on_in_memory_of_the_device() -> None:
    """What another thread has stored before a barrier is loaded behind it: such a
    buffer is not marked as one that only this thread changes."""
    source = """\
gpu_block (bx, 0, 1) {
  gpu_thread (tx, 0, 8) {
    fout[tx] = fin[tx]
  }
  barrier
  gpu_thread (tx, 0, 8) {
    fout1[tx] = fout[7 - tx]
  }
}
"""
    case = Case(
        "bx tx fin[] fout[] fout1[]",
        source,
        fin=floats(8),
        fout=zeros(8),
        fout1=zeros(8),
    )
    ptx = case.check()
    body = ptx[ptx.index("bar.sync") :]
    assert "ld.global.b32" in body and "ld.global.nc" not in body


def test_branches_at_block_level() -> None:
    source = """\
gpu_block (bx, 0, 4) {
  if (bx < n) {
    gpu_thread (tx, 0, 8) {
      iout[bx*8 + tx] = 1
    }
  } else if (bx == n) {
    gpu_thread (tx, 0, 4) {
      iout[bx*8 + tx] = 2
    }
  } else {
    for (k, 0, 2) {
      gpu_thread (tx, 0, 4) {
        iout[bx*8 + 2*tx + k] = 3 + k
      }
    }
  }
}
"""
    Case("bx tx n k iout[]", source, iout=zeros(32, np.int32), n=2).check()


def test_predicates() -> None:
    """Loads and stores under conditions, of memory of the device, of the block and of
    the thread; scalars and vectors."""
    source = """\
gpu_block (bx, 0, 2) {
  allocate itile[int32 * 16] in shared
  gpu_thread (tx, 0, 8) {
    itile[tx] = iin[tx]
    itile[tx + 8 if tx < n] = iin[tx + 8 if bx < 1]
    itile[tx + 8 if !(tx < n)] = 77
  }
  barrier
  gpu_thread (tx, 0, 8) {
    allocate iown[int32 * 4] in stack
    iown[ramp(0, 1, 4)] = x4(tx)
    iown[1 if tx < 3] = itile[tx + 5 if tx < n]
    iout[ramp(bx*64 + tx*8, 1, 4)] = iown[ramp(0, 1, 4)]
    iout[ramp(bx*64 + tx*8 + 4, 1, 4) if ramp(tx, 1, 4) < x4(n)] = itile[ramp(tx, 1, 4) if ramp(bx, 1, 4) < x4(3)]
    iout[bx*64 + tx*8 + 7 if tx == 2] = iown[tx if tx == 2]
  }
}
"""  # noqa: E501
    for n in (0, 5):
        Case(
            "bx tx n iin[] iout[] itile[] iown[]",
            source,
            iin=np.arange(16, dtype=np.int32),
            iout=np.full(128, -1, np.int32),
            n=n,
        ).check()


@pytest.mark.parametrize("lanes", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("kind", ["f", "u", "s", "l", "h"])
def test_vectors(kind: str, lanes: int) -> None:
    """Dense, reversed, strided and gathered accesses, shuffles, selections, folds."""
    t = _TYPES[kind]
    index = f"ramp(tx*{lanes}, 1, {lanes})"
    source = f"""\
gpu_block (bx, 0, 1) {{
  gpu_thread (tx, 0, 4) {{
    {kind}out[{index}] = {kind}in[{index}]
    {kind}out[ramp(100 + tx*{lanes} + {lanes - 1}, -1, {lanes})] = {kind}in[{index}]
    {kind}out[{index} + x{lanes}(200)] = {kind}in[ramp(tx, 2, {lanes})]
    {kind}out[{index} + x{lanes}(300)] = {kind}in[ramp(tx, n, {lanes})]
    {kind}out[{index} + x{lanes}(400)] = {kind}in[iin[{index}]]
    {kind}out[iin[{index}] + x{lanes}(500)] = {kind}in[{index}]
    {kind}out[ramp(700 + tx, 4, {lanes})] = {kind}in[ramp({lanes - 1}, -1, {lanes})]
    {kind}out[{index} + x{lanes}(800)] = select({index} < x{lanes}(n), {kind}in[{index}], x{lanes}({kind}in[3]))
    {kind}out[900 + tx] = reduce_max({kind}in[{index}], 1)
    {kind}out[{index} + x{lanes}(1000)] = shuffle({kind}in[{index}], {kind}in[ramp(0, 1, {lanes})]; {", ".join(str(i) for i in range(2 * lanes - 1, lanes - 1, -1))})
  }}
}}
"""  # noqa: E501
    permuted = np.random.default_rng(lanes).permutation(128).astype(np.int32)
    dtype = t.to_numpy()
    case = Case(
        f"bx tx n iin[] {kind}in[] {kind}out[]",
        source,
        iin=permuted,
        n=5,
        **{
            f"{kind}in": np.arange(128).astype(dtype),
            f"{kind}out": np.zeros(1100, dtype),
        },
    )
    case.check()


def test_wide_accesses_where_alignment_is_proved() -> None:
    source = """\
gpu_block (bx, 0, 2) {
  allocate ftile[float32 * 128] in shared
  gpu_thread (tx, 0, 32) {
    ftile[ramp(tx*4, 1, 4)] = fin[ramp(tx*4, 1, 4)]
  }
  barrier
  gpu_thread (tx, 0, 32) {
    allocate fown[float32 * 8] in stack
    fown[ramp(0, 1, 4)] = ftile[ramp(tx*4, 1, 4)]
    fown[ramp(4, 1, 4)] = ftile[ramp(tx*4 % 64 + 64, 1, 4)]
    fout[ramp(tx*8, 1, 8)] = fown[ramp(0, 1, 8)]
    fout1[ramp(tx*2 + 1, 1, 2)] = ftile[ramp(tx*2 + 2, 1, 2)]
  }
}
"""
    case = Case(
        "bx tx fin[] fout[] fout1[] ftile[] fown[]",
        source,
        fin=floats(128),
        fout=zeros(256),
        fout1=zeros(66),
    )
    ptx = case.check()
    ptx, wide = ptx.split(".entry")[1:]
    for one in (ptx, wide):
        assert one.count("st.shared.v4") == 1 and one.count("ld.shared.v4") == 2
        assert "ld.shared.v2" in one
    assert "ld.global.nc.v4" not in ptx and "st.global.v" not in ptx
    # Where the buffers begin at multiples of 16 bytes:
    assert "ld.global.nc.v4" in wide and wide.count("st.global.v4") == 2
    _, (kernel,) = kernels_of(case.loop)
    assert set(kernel.aligned) == {case.buffer("fin"), case.buffer("fout")}
    assert kernel.wide and not kernel.conditions


def test_storage_of_threads() -> None:
    """In registers where all indices are constant, else in memory of the thread."""
    source = """\
gpu_block (bx, 0, 1) {
  gpu_thread (tx, 0, 4) {
    allocate iown[int32 * 4] in register
    iown[0] = tx
    iown[1] = tx*2
    iown[2] = tx*3
    iown[3] = tx*4
    iout[tx] = iown[INDEX]
  }
}
"""
    for index, local in (("2", False), ("iin[tx]", True)):
        case = Case(
            "bx tx iin[] iout[] iown[]",
            source.replace("INDEX", index),
            iin=np.array([3, 0, 2, 1], np.int32),
            iout=zeros(4, np.int32),
        )
        assert (".local" in case.check()) is local


def test_several_kernels_in_one_module() -> None:
    one = Case("bx tx iout[]", ONES, iout=zeros(8, np.int32))
    ptx, told = assembled(one.loop, one.loop, one.loop)
    assert ptx.count(".entry") == 3
    assert {k.name for k in told} == {"iout_0", "iout_1", "iout_2"}
    assert {k.arch for k in told} == {"sm_80", "sm_90"}


ONES = """\
gpu_block (bx, 0, 2) {
  gpu_thread (tx, 0, 4) {
    iout[bx*4 + tx] = 1
  }
}
"""


def test_bits_of_numbers_that_are_passed() -> None:
    """Scalars of every type by value."""
    kinds = [BOOL, Int(8), UInt(8), Int(16), UInt(16), Int(32), UInt(32)]
    kinds += [Int(64), UInt(64), F32, Float(64)]
    outs = [BufferSym(f"out{k}", t, 1, "output") for k, t in enumerate(kinds)]
    params = [Var(f"p{k}", t) for k, t in enumerate(kinds)]
    bx, tx = Var("bx", INT32), Var("tx", INT32)
    body = S.Block(
        tuple([S.Store(o, p, tx, None) for o, p in zip(outs, params, strict=True)])
    )
    two = build.int32(2)
    inner = S.For(tx, build.int32(0), two, S.ForKind.GPU_THREAD, body)
    loop = S.For(bx, build.int32(0), two, S.ForKind.GPU_BLOCK, inner)
    assembled(loop)
    module, (kernel,) = kernels_of(loop)
    values: list[Any] = [1, -3, 200, -3000, 60000, -(1 << 30), 1 << 31]
    values += [-(1 << 60), 1 << 63, 0.5, 1e300]
    arrays = {o: np.zeros(2, o.type.to_numpy()) for o in outs}
    simulate(module, kernel, arrays, dict(zip(params, values, strict=True)))
    for out, value in zip(outs, values, strict=True):
        assert arrays[out].tolist() == [value, value]


# Atomic updates.


def atomic(value: E.Expr, buffer: BufferSym, index: E.Expr) -> S.Stmt:
    func = Function("hist", FuncSchedule(), None)
    return S.Atomic(func, True, False, S.Store(buffer, value, index, None))


_UPDATED = [INT32, UInt(32), Int(64), UInt(64), UInt(8), Int(16)]
_UPDATES = [
    (t, op)
    for t in [*_UPDATED, F32, Float(64), Float(16)]
    for op in ("Add", "Sub", "Min", "Max", "xor", "product")
    if not (t.is_float() and op == "xor")
]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("t", "op"), _UPDATES, ids=str)
def test_atomic_updates(t: Type, op: str, shared: bool) -> None:
    """Of one place by many threads, in memory of the device and of the block."""
    out = BufferSym("out", t, 1, "output")
    tile = BufferSym("tile", t, 1, "internal")
    bx, tx = Var("bx", INT32), Var("tx", INT32)
    place = tile if shared else out
    index = E.Mod(tx, build.int32(2))
    old = E.Load(t, place, index, None)
    by = E.Cast(t, E.Add(tx, build.int32(1)))
    if op == "xor":
        value: E.Expr = E.Intrinsic(t, "bit_xor", (old, by))
    elif op == "product":
        value = E.Add(E.Mul(old, build.imm(3, t)), build.imm(1, t))
    else:
        value = getattr(E, op)(old, by)
    threads = build.int32(12)
    nests: list[S.Stmt] = [
        S.For(
            tx, build.int32(0), threads, S.ForKind.GPU_THREAD,
            atomic(value, place, index),
        )
    ]  # fmt: skip
    two, zero = build.int32(2), build.int32(0)
    if shared:
        start = S.Store(tile, build.imm(5, t), tx, None)
        copied = S.Store(out, E.Load(t, tile, tx, None), tx, None)
        nests = [
            S.Allocate(tile, (two,), build.TRUE, S.MemoryKind.SHARED, 0),
            S.For(tx, zero, two, S.ForKind.GPU_THREAD, start),
            S.Barrier(),
            *nests,
            S.Barrier(),
            S.For(tx, zero, two, S.ForKind.GPU_THREAD, copied),
        ]
    loop = S.For(bx, zero, build.int32(1), S.ForKind.GPU_BLOCK, S.Block(tuple(nests)))
    ptx, _ = assembled(loop)
    array = np.full(2, 5, t.to_numpy())
    flat: dict[BufferSym, list[Any]] = {out: array.tolist()}
    module, (kernel,) = kernels_of(loop)
    simulate(module, kernel, {out: array}, {})
    space = "shared" if shared else "global"
    native = t.width >= 32 and (not t.is_float() or op == "Add") and op != "product"
    if native:
        assert f"atom.{space}." in ptx or f"red.{space}." in ptx
        assert ".cas." not in ptx
    elif op != "xor":  # of a part of a word it is one of the word
        assert f"{space}.cas." in ptx
    Runner(flat, {}).run(loop)
    assert array.tolist() == flat[out]


def test_atomic_floats_in_strict_code() -> None:
    """The instruction that adds floats in memory of the device takes subnormal ones
    for zeros; strict code does without it."""
    out = BufferSym("out", F32, 1, "output")
    bx, tx = Var("bx", INT32), Var("tx", INT32)
    zero, four = build.int32(0), build.int32(4)
    value = E.Add(E.Load(F32, out, zero, None), build.imm(1, F32))
    nest = S.For(tx, zero, four, S.ForKind.GPU_THREAD, atomic(value, out, zero))
    loop = S.For(bx, zero, four, S.ForKind.GPU_BLOCK, nest)
    assert ".cas." in assembled(loop, strict=True)[0]
    assert "add.f32" in assembled(loop)[0]


def test_types_are_told_apart() -> None:
    found: Mapping[str, Symbol] = symbols("x fin[] fout2[] ftile[]")
    roles = [s.role for s in found.values() if isinstance(s, BufferSym)]
    assert roles == ["input", "output", "internal"]


def test_indices_of_32_bits_where_they_fit() -> None:
    """Indices are summed up in 32 bits where their type says that they fit, with large
    constants in 64, and so are those of 64 bits."""
    source = """\
gpu_block (bx, 0, 2) {
  gpu_thread (tx, 0, 8) {
    iout[bx*n + tx*m] = iin[INDEX]
  }
}
"""
    for index, wide in (
        ("bx*n + tx*m + 3", False),
        ("bx*n + tx*m + 3000000", True),
        ("int64(bx)*int64(n) + int64(tx)", True),
    ):
        case = Case("bx tx n m iin[] iout[]", source.replace("INDEX", index))
        assembled(case.loop)
        module, _ = kernels_of(case.loop)
        assert ("mul i64" in module.text("test")) is wide
