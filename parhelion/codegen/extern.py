"""Foreign stages: buffer structs on the stack, and the call.

A struct has the layout of Halide's public ``halide_buffer_t``, so C functions written
for Halide can be called. A query passes structs whose host is null; what the code
leaves in those of its inputs is the answer, which stays where it is: the value of an
`extern_query` is the address of the input structs' dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

from parhelion.codegen import effects, polls
from parhelion.codegen.addresses import index_value
from parhelion.codegen.intrinsics import c_parameter, lowers
from parhelion.codegen.structs import DIMENSION_BYTES, fields_of
from parhelion.codegen.types import memory_type, value_type
from parhelion.codegen.writer import Function
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.build import const_int
from parhelion.ir.expr import Expr, StringImm, Var
from parhelion.ir.externs import ExternStage, Parameter, stage
from parhelion.types import INT32, Handle, Type

#: (min, extent, stride) texts of each dimension: i32 each.
_Shape = Sequence[tuple[str, str, str]]


def run_extern(f: Function, s: S.RunExtern) -> None:
    """Calls a stage on the pixels of its buffers."""
    code = s.func.extern
    assert code is not None
    buffers = (*s.inputs, *s.outputs)
    values = iter(s.shapes)
    size = fields_of(f.module.target).size
    # The structs of all buffers, then their dimensions.
    structs = f.alloca(f"[{size * len(buffers)} x i8], align 8")
    total = sum([len(b.dims) for b in buffers])
    dims = f.alloca(f"[{max(DIMENSION_BYTES * total, 1)} x i8], align 8")
    addresses: list[str] = []
    done = 0
    for k, (b, place) in enumerate(zip(buffers, s.places, strict=True)):
        shape = [
            (_int32(f, next(values)), _int32(f, next(values)), _int32(f, next(values)))
            for _ in b.dims
        ]
        index = index_value(f, place)
        host = f.op(
            f"getelementptr {memory_type(b.type)}, ptr {f.pointers[b][0]}, i64 {index}"
        )
        at = _offset(f, dims, DIMENSION_BYTES * done)
        done += len(b.dims)
        addresses.append(_offset(f, structs, size * k))
        fill_struct(f, addresses[-1], host, b.type, at, shape)
    for b in buffers:
        f.forget_loads(b)
    inputs, outputs = addresses[: len(s.inputs)], addresses[len(s.inputs) :]
    _call(f, code, s.func.name, s.scalars, inputs, outputs)
    for b in s.outputs:
        f.forget_loads(b)


@lowers("extern_query")
def _query(f: Function, e: E.Intrinsic) -> str:
    name, *given = e.args
    assert isinstance(name, StringImm)
    code = stage(name.value)
    count = sum([not p.is_buffer for p in code.params])
    scalars, box = given[:count], given[count:]
    shape = [
        (_int32(f, lo), _int32(f, extent), "0")
        for lo, extent in zip(box[::2], box[1::2], strict=True)
    ]
    size = fields_of(f.module.target).size
    asked = [p for p in code.params if p.is_buffer]
    total = sum([p.dimensions or 0 for p in asked])
    dims = f.alloca(f"[{max(DIMENSION_BYTES * total, 1)} x i8], align 8")
    inputs: list[str] = []
    done = 0
    for p in asked:
        n = p.dimensions or 0
        at = _offset(f, dims, DIMENSION_BYTES * done)
        done += n
        struct = f.alloca(f"[{size} x i8], align 8")
        fill_struct(f, struct, "null", p.type, at, [("0", "0", "0")] * n)
        inputs.append(struct)
    outputs: list[str] = []
    for t in code.results:
        struct = f.alloca(f"[{size} x i8], align 8")
        own = f.alloca(f"[{max(DIMENSION_BYTES * len(shape), 1)} x i8], align 8")
        fill_struct(f, struct, "null", t, own, shape)
        outputs.append(struct)
    _call(f, code, code.name, scalars, inputs, outputs)
    return dims


@lowers("extern_bound")
def _bound(f: Function, e: E.Intrinsic) -> str:
    asked, number = f.value(e.args[0]), const_int(e.args[1])
    assert number is not None
    at = _offset(f, asked, number // 2 * DIMENSION_BYTES + number % 2 * 4)
    return f.op(f"load i32, ptr {at}, align 4")


def _offset(f: Function, pointer: str, bytes: int) -> str:
    if bytes == 0:
        return pointer
    return f.op(f"getelementptr i8, ptr {pointer}, i64 {bytes}")


def _int32(f: Function, e: Expr) -> str:
    if e.type is INT32:
        return f.value(e)
    text = index_value(f, e)
    return f.op(f"trunc i64 {text} to i32") if text.startswith("%") else text


def fill_struct(
    f: Function, struct: str, host: str, t: Type, dims: str, shape: _Shape
) -> None:
    """Writes a buffer struct and its dimensions."""

    def put(kind: str, value: str, offset: int) -> None:
        f.out(f"  store {kind} {value}, ptr {_offset(f, struct, offset)}, align 4")

    at = fields_of(f.module.target)
    put("i64", "0", at.device)
    put("ptr", "null", at.interface)
    put("ptr", host, at.host)
    put("i64", "0", at.flags)
    put("i32", str(int(t.kind) | t.width << 8 | 1 << 16), at.type)
    put("i32", str(len(shape)), at.dimensions)
    put("ptr", dims, at.dim)
    put("ptr", "null", at.padding)
    for d, numbers in enumerate(shape):
        for k, text in enumerate((*numbers, "0")):
            place = _offset(f, dims, DIMENSION_BYTES * d + 4 * k)
            f.out(f"  store i32 {text}, ptr {place}, align 4")


def _call(
    f: Function,
    code: ExternStage,
    name: str,
    scalars: Sequence[Expr],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> None:
    """Calls a stage; leaves the pipeline if it fails."""
    numbers, buffers = iter(scalars), iter(inputs)
    given: list[Expr | str] = [
        next(buffers) if p.is_buffer else next(numbers) for p in code.params
    ]
    given += outputs
    if code.packed:
        at = f.module.extern(code.symbol, code.address, "")
        argv = _packed(f, given)
        polls.look_now(f)
        words = effects.call_python(f, at, ["ptr %ctx", f"ptr {argv}", "i64 0"])
        place = f.op(f"getelementptr i64, ptr {words}, i64 2")
        told_ok = f.op(f"load i32, ptr {place}, align 8")
        # 0: a signal's handler raised before the function had begun.
        polls.interrupted_unless(f, f.op(f"icmp ne i32 {told_ok}, 0"))
        result = f.op(f"sub i32 {told_ok}, 1")
    else:
        kinds = [_kind(p) for p in code.params] + ["ptr"] * len(outputs)
        at = f.module.extern(code.symbol, code.address, ", ".join(kinds))
        texts = [g if isinstance(g, str) else f.value(g) for g in given]
        listed = ", ".join([f"{k} {t}" for k, t in zip(kinds, texts, strict=True)])
        result = f.op(f"call i32 {at}({listed})")
    good = f.op(f"icmp eq i32 {result}, 0")
    told = Var("code", INT32)
    f.bind(told, result, f.top)
    effects.unless(f, good, "extern_failed", (StringImm(Handle(), name), told))


def _kind(p: Parameter) -> str:
    return "ptr" if p.is_buffer else c_parameter(p.type)


def _packed(f: Function, given: Sequence[Expr | str]) -> str:
    """An array of the addresses of the arguments."""
    argv = f.alloca(f"[{len(given)} x ptr], align 8")
    for i, g in enumerate(given):
        if isinstance(g, str):
            address = g
        else:
            address = f.alloca(f"{memory_type(g.type)}, align 8")
            text = f.value(g)
            if g.type.is_bool():
                text = f.op(f"zext {value_type(g.type)} {text} to i8")
            f.out(f"  store {memory_type(g.type)} {text}, ptr {address}, align 8")
        place = _offset(f, argv, f.module.target.bits // 8 * i)
        f.out(f"  store ptr {address}, ptr {place}")
    return argv


__all__ = ["fill_struct", "run_extern"]
