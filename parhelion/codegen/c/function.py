"""A lowered pipeline as C11 with OpenMP: a function of buffers and scalars, to be read.

The text needs nothing but the C library (for half floats, gcc 12 or clang 15) and
computes what the machine code computes: compile it with ``-fwrapv`` (integers wrap) and
``-fopenmp``; without that it is one thread. Of nested parallel loops the outermost one
is given to the threads. A loop that the schedule vectorises is marked so if its body is
plain, and where a loop over blocks has nothing else in it, both are one loop along the
row. It is there several times if it reads or writes bytes: for whole vectors of two
lengths, and for fewer lanes. Unrolled loops are loops with a comment, and what `async_`
gives a thread of its own is computed before it is used. Functions such as `exp` are
those of the C library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parhelion.codegen.asked import answer, of_params, passes
from parhelion.codegen.backends import backend_of
from parhelion.codegen.c import ARCH, refusals
from parhelion.codegen.c.blocks import release
from parhelion.codegen.c.foreign import foreign_name, is_own
from parhelion.codegen.c.support import HEADER
from parhelion.codegen.c.symbols import CODES
from parhelion.codegen.c.text import Text, c_type
from parhelion.codegen.c.tidy import used_helpers, without_unused, words
from parhelion.codegen.structs import C_STRUCTS
from parhelion.codegen.tables import Tables
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Expr, Var
from parhelion.ir.pipeline import Lowered, Region
from parhelion.ir.rewrite import nodes
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.types import UInt


@dataclass(frozen=True, slots=True)
class Constant:
    """An image that is part of the text: its shape, and its pixels, dimension 0
    first."""

    mins: Sequence[int]
    extents: Sequence[int]
    pixels: Sequence[int | float]


@dataclass(frozen=True, slots=True)
class Head:
    """The interface of a C function.

    name: of the function. signature: its declaration without a semicolon. parameters:
    the names in there; by_symbol: those of the arguments. constants: images that are
    no arguments.
    """

    name: str
    signature: str
    parameters: Sequence[str]
    by_symbol: Mapping[BufferSym | ParamSym, str]
    constants: Mapping[BufferSym, Constant]


def emit_c(lowered: Lowered, head: Head) -> str:
    """The text of a C file with the function that `head` declares, and one that frees
    the storage that is kept for the next call, whose name ends in ``_release``.

    `lowered` has no vectors. Raises HalideError for what C cannot say.
    """
    refusals.check(lowered, head.name)
    f = Text(Tables(backend_of(ARCH)))
    f.strict = lowered.strict_float
    run_deep(lambda: _function(f, lowered, head))
    lines = without_unused(f.lines)
    there = words(lines)
    unused = [f"  (void){p};" for p in head.parameters if p not in there]
    keeps = "storage" in there
    helpers = used_helpers(f.helpers, there | {"release_storage"})
    text = [f"{head.signature} {{", *unused, *lines, "}", ""]
    text.append(release(f"{head.name}_release", keeps))
    return "\n".join([HEADER, C_STRUCTS, *helpers, "", *text])


def _function(f: Text, lowered: Lowered, head: Head) -> None:
    foreign = {
        foreign_name(f, n) for n in nodes(lowered.body) if isinstance(n, E.Extern)
    }
    _check_name(f, head.name, foreign)
    f.taken.update((head.name, f"{head.name}_release", *head.parameters, *foreign))
    regions = {**lowered.required, **lowered.written}
    read = {n.buffer for n in nodes(lowered.body) if isinstance(n, E.Load)}
    f.read = read
    used = {n for n in nodes(lowered.body) if isinstance(n, Var)}
    for region in regions.values():
        for r in region:
            used |= {n for e in (r.min, r.max) for n in nodes(e) if type(n) is Var}
    f.indent = 1
    symbols = [a.symbol for a in lowered.args]
    buffers = [b for b in symbols if isinstance(b, BufferSym)]
    given = [b for b in buffers if b not in head.constants]
    if given:
        missing = " || ".join([f"!{head.by_symbol[b]}" for b in given])
        f.out(f"if ({missing}) return {CODES['no struct']};  // no buffer")
        structs = {b: head.by_symbol[b] for b in given}
        _check_buffers(f, structs)
    for s in symbols:
        if isinstance(s, ParamSym):
            _scalar(f, s, head.by_symbol[s])
        elif s in head.constants:
            image = head.constants[s]
            if s in read:
                _pixels(f, s, image)
            _shape(f, s, image, used)
        else:
            _buffer(f, s, head.by_symbol[s], used)
    if given:
        _answer_queries(f, structs, regions, lowered)
        none = " || ".join([f"!{struct}->host" for struct in structs.values()])
        f.out(f"if ({none}) return {CODES['no pixels']};  // no pixels in memory")
    f.stmt(lowered.body)
    f.out("return 0;")


def _scalar(f: Text, s: ParamSym, given: str) -> None:
    f.names[s.var] = given
    if s.type.is_float() and s.type.width == 16 and not s.type.is_bfloat():
        # It travels as its bits.
        made = f.need("bits", UInt(16), s.type)
        f.define(s.var, f"{made}({given})")


def _pixels(f: Text, b: BufferSym, image: Constant) -> None:
    host, t = f.name(b, b.name), c_type(b.type)
    f.out(f"static const {t} {host}[] = {{")
    texts = [f.text(build.imm(v, b.type)) for v in image.pixels] or ["0"]
    for at in range(0, len(texts), 8):
        f.out(f"  {', '.join(texts[at : at + 8])},")
    f.out("};")


def _shape(f: Text, b: BufferSym, image: Constant, used: set[Var]) -> None:
    stride = 1
    for d, (lo, extent) in enumerate(zip(image.mins, image.extents, strict=True)):
        for what, value in (("min", lo), ("extent", extent), ("stride", stride)):
            _side(f, b, d, what, str(value), used)
        stride *= extent


def _buffer(f: Text, b: BufferSym, struct: str, used: set[Var]) -> None:
    const = "const " if b.role == "input" else ""
    t = c_type(b.type)
    host = f.name(b, b.name)
    f.out(f"{const}{t} *{host} = ({const}{t} *){struct}->host;")
    for d in range(len(b.dims)):
        for what in ("min", "extent", "stride"):
            _side(f, b, d, what, f"{struct}->dim[{d}].{what}", used)


def _side(f: Text, b: BufferSym, d: int, what: str, value: str, used: set[Var]) -> None:
    """Names the min, extent or stride of a dimension, if anything mentions it."""
    var = getattr(b.dims[d], what)
    if var in used:
        name = f.name(var, f"{b.name}_{what}_{d}")
        f.out(f"const int32_t {name} = {value};")


def _answer_queries(
    f: Text,
    structs: Mapping[BufferSym, str],
    regions: Mapping[BufferSym, Sequence[Region]],
    lowered: Lowered,
) -> None:
    """Writes the answers to buffers without pixels, which ask for the region to
    allocate.

    The checks of the schedule's numbers come first, as the regions mean nothing
    without.
    """
    asks, tell = f.runtime("asks"), f.runtime("tell")
    some = " || ".join([f"{asks}({struct})" for struct in structs.values()])
    f.out(f"if ({some}) {{")
    f.indent += 1
    for one in of_params(lowered.demands):
        f.stmt(one)
    count, mentioned = passes(list(structs), lowered.assumptions)
    names = {v: f.names[v] for v in mentioned if v in f.names}
    for v in mentioned:
        # As it is told, not as it was when the function was called.
        owner, what, d = v.origin
        f.names[v] = f"{structs[owner]}->dim[{d}].{what}"
    if count > 1:
        turn = f.name("turn", "turn")
        f.out(f"for (int {turn} = 0; {turn} < {count}; {turn}++) {{")
        f.indent += 1
    failing: list[tuple[str, Expr]] = []
    for b, struct in structs.items():
        f.out(f"if ({asks}({struct})) {{")
        f.indent += 1
        f.out(f"{struct}->type.code = {int(b.type.kind)};")
        f.out(f"{struct}->type.bits = {b.type.width};")
        f.out(f"{struct}->type.lanes = 1;")
        f.out(f"{struct}->dimensions = {len(b.dims)};")
        sides = answer(b, regions.get(b), lowered.assumptions)
        # The promised strides first, as others are dense over them.
        for d, side in sorted(enumerate(sides), key=lambda s: s[1].late):
            numbers = [side.min, side.extent]
            dense = "1"
            for below in side.below:
                dense = f"{f.runtime('beyond')}({struct}, {below}, {dense})"
            if side.own is not None:
                f.names[side.own] = dense
            numbers += [] if side.stride is None else [side.stride]
            f.begin(*numbers)
            texts = [f.text(n) for n in numbers]
            texts += [dense] if side.stride is None else []
            f.out(f"{tell}({struct}, {d}, {', '.join(texts)});")
            if side.own is not None:
                f.names[side.own] = f"{struct}->dim[{d}].stride"
            if side.fits is not None:
                failing.append((struct, side.fits))
        f.indent -= 1
        f.out("}")
    if count > 1:
        f.indent -= 1
        f.out("}")
    for struct, fits in failing:
        f.begin(fits)
        small = f"{asks}({struct}) && !({f.text(fits)})"
        f.out(f"if ({small}) return {CODES['promised less']};  // less than is needed")
    for v, text in names.items():
        f.names[v] = text
    f.out("return 0;")
    f.indent -= 1
    f.out("}")


def _check_buffers(f: Text, structs: Mapping[BufferSym, str]) -> None:
    """Writes the checks of all buffers that have pixels, before anything is
    read."""
    f.runtime("asks")
    check, wrong = f.runtime("check_buffer"), f.name("wrong", "wrong")
    start = f"int {wrong} ="
    for b, struct in structs.items():
        kind = f"{int(b.type.kind)}, {b.type.width}, {len(b.dims)}"
        read = "true" if b.role == "input" else "false"
        f.out(f"{start} {check}({struct}, {kind}, {read});")
        start = f"if (!{wrong}) {wrong} ="
    f.out(f"if ({wrong}) return {wrong};")


def _check_name(f: Text, name: str, foreign: set[str]) -> None:
    """Raises HalideError if the function has the name of one that it calls."""
    own = is_own(f, name)
    if own or not foreign.isdisjoint((name, f"{name}_release")):
        what = "that C text has of its own" if own else "that it calls"
        raise HalideError(
            f"the function {name!r} has the name of one {what}",
            at=here(),
            hint="give it a name of its own (fn_name); else it is called as the first "
            "output",
        )


__all__ = ["Constant", "Head", "emit_c"]
