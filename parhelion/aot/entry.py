"""The exported functions of an object file: the pipeline as C callers see it.

``int NAME(…)`` checks the buffers it is given, answers bounds queries, sets up the
context that compiled code wants (`runtime.context`), runs it, and reports a failure:
the message goes to ``halide_error``, the code of Halide's public header is the result.
``NAME_argv`` takes an array of addresses, ``NAME_metadata`` tells of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parhelion.aot.forms import printf_form
from parhelion.aot.interface import Interface, Parameter
from parhelion.aot.module_text import Text
from parhelion.aot.query import FITS, NUMBERS
from parhelion.codegen.asked import checked, passes
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.module import quoted
from parhelion.codegen.structs import DEVICE_DIRTY, DIMENSION_BYTES, fields_of
from parhelion.codegen.types import memory_type
from parhelion.ir.bindings import SET
from parhelion.ir.build import const_int
from parhelion.ir.expr import FloatImm, Imm, float_bits
from parhelion.ir.failures import HALIDE_CODES
from parhelion.ir.pipeline import ArgKind, Lowered
from parhelion.ir.rewrite import nodes
from parhelion.ir.stmt import Sync
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.ir.target import Target
from parhelion.runtime.context import CONTEXT_BYTES, Context
from parhelion.types import Type

#: The context that compiled code is given: its bytes, and where its fields are.
_CONTEXT = CONTEXT_BYTES
_SITE, _ARGS = Context.site.offset, Context.args.offset
_PRINT, _USER = Context.print_fn.offset, Context.user.offset
#: Bytes of the longest message.
_MESSAGE = 1024

#: Codes of `halide_error_code_t` for what is checked here.
_BAD_TYPE, _TOO_SMALL, _NO_STRUCT, _NO_HOST, _BAD_DIMENSIONS = -3, -7, -12, -34, -43
_DEVICE_DIRTY = -44


def entry_text(
    interface: Interface,
    lowered: Lowered,
    target: Target,
    target_name: str,
    body: str,
    query: str,
    places: dict[BufferSym, int],
    failures: Sequence[FailureSite],
    asked: Sequence[FailureSite],
) -> str:
    """The module with the exported functions.

    body, query: the compiled functions' symbols. places: see `query.query_of`.
    failures, asked: what the assertions of the body and of the query report.
    """
    made = _Entry(interface, lowered, target, target_name)
    made.report([*failures, *asked])
    made.in_body = len(failures) if asked else None
    made.function(body, query, places)
    made.argv()
    made.metadata()
    lines = [
        f"; entry of {interface.name}",
        f'target triple = "{target.triple}"',
        *made.text.globals,
        *_DECLARED,
        f"declare i32 @{quoted(body)}(ptr, ptr)",
        f"declare i32 @{quoted(query)}(ptr, ptr)",
        *made.text.functions,
    ]
    return "\n".join(lines) + "\n"


_DECLARED = (
    "declare void @halide_error(ptr, ptr)",
    "declare void @halide_print(ptr, ptr)",
    "declare i32 @snprintf(ptr, ptr, ptr, ...)",
    "declare void @llvm.memset.p0.i32(ptr, i8, i32, i1)",
)


def c_argument(p: Parameter) -> str:
    """The LLVM type in which C passes an argument."""
    if p.is_buffer:
        return "ptr"
    # A short float travels as its bits.
    short = p.type.is_float() and p.type.width == 16
    return "i16" if short else memory_type(p.type)


class _Entry:
    def __init__(
        self, interface: Interface, lowered: Lowered, target: Target, target_name: str
    ) -> None:
        self.interface, self.lowered, self.target = interface, lowered, target
        self.target_name = target_name
        #: The buffers that may be on a device, from where they are copied if need be.
        self.on_devices = {s.buffer for s in nodes(lowered.body) if isinstance(s, Sync)}
        self.in_body: int | None = None  # its assertions, if the query has some too
        self.text = Text()
        self.lines: list[str] = []
        self._count = 0
        self.word = f"i{target.bits}"
        #: The values of the parameters, by their names; by number, as LLVM cuts names
        #: of values short at 1,024 characters.
        self.given = {p.name: f"%arg{i}" for i, p in enumerate(interface.parameters)}

    # Writing a function.

    def op(self, text: str) -> str:
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {text}")
        return name

    def out(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, wish: str) -> str:
        self._count += 1
        return f"{wish}{self._count}"

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def at(self, pointer: str, offset: int) -> str:
        if not offset:
            return pointer
        return self.op(f"getelementptr i8, ptr {pointer}, i32 {offset}")

    def end(self, header: str) -> None:
        made = [f"{header} {{\nentry:", *self.lines, "}\n"]
        self.lines = []
        self.text.functions.append("\n".join(made))

    # Failures.

    def report(self, failures: Sequence[FailureSite]) -> None:
        """``i32 report(context, user)``: tells halide_error what the record says."""
        forms = [printf_form(site) for site in failures]
        texts = ", ".join([f"ptr {self.text.string(text)}" for text, _ in forms])
        codes = ", ".join([f"i32 {HALIDE_CODES[s.code]}" for s in failures])
        n = len(forms)
        table = self.text.constant("entry.forms", f"[{n} x ptr] [{texts}]")
        numbers = self.text.constant("entry.codes", f"[{n} x i32] [{codes}]")
        line = self.op(f"alloca [{_MESSAGE} x i8], align 16")
        site = self.op(f"load i32, ptr {self.at('%ctx', _SITE)}")
        place = self.op(f"getelementptr ptr, ptr {table}, i32 {site}")
        form = self.op(f"load ptr, ptr {place}")
        place = self.op(f"getelementptr i32, ptr {numbers}, i32 {site}")
        code = self.op(f"load i32, ptr {place}")
        args = [self.at("%ctx", _ARGS + 8 * i) for i in range(8)]
        done, plain = "done", "plain"
        special = [
            (i, kinds) for i, (_, kinds) in enumerate(forms) if "double" in kinds
        ]
        cases = " ".join([f"i32 {i}, label %real{i}" for i, _ in special])
        self.out(f"switch i32 {site}, label %{plain} [{cases}]")
        for label, kinds in [
            (plain, ["i64"] * 8),
            *[(f"real{i}", kinds) for i, kinds in special],
        ]:
            self.begin(label)
            given = "".join(
                [
                    f", {kind} {self.op(f'load {kind}, ptr {a}, align 8')}"
                    for kind, a in zip(kinds, args, strict=False)
                ]
            )
            self.op(
                f"call i32 (ptr, ptr, ptr, ...) @snprintf(ptr {line}, "
                f"ptr inttoptr ({self.word} {_MESSAGE} to ptr), ptr {form}{given})"
            )
            self.out(f"br label %{done}")
        self.begin(done)
        self.out(f"call void @halide_error(ptr %user, ptr {line})")
        self.out(f"ret i32 {code}")
        self.end("define internal i32 @entry.report(ptr %ctx, ptr %user)")

    def refuse(self, wrong: str, code: int, message: str, *numbers: str) -> None:
        """Leaves with an error if `wrong` (an i1) holds; numbers are i32 values."""
        bad, good = self.label("bad"), self.label("good")
        self.out(f"br i1 {wrong}, label %{bad}, label %{good}")
        self.begin(bad)
        text = self.text.string(message)
        if numbers:
            line = self.op(f"alloca [{_MESSAGE} x i8], align 16")
            given = "".join([f", i32 {n}" for n in numbers])
            self.op(
                f"call i32 (ptr, ptr, ptr, ...) @snprintf(ptr {line}, "
                f"ptr inttoptr ({self.word} {_MESSAGE} to ptr), ptr {text}{given})"
            )
            text = line
        self.out(f"call void @halide_error(ptr %user, ptr {text})")
        self.out(f"ret i32 {code}")
        self.begin(good)

    # The function.

    def function(self, body: str, query: str, places: dict[BufferSym, int]) -> None:
        parameters = self.interface.parameters
        listed = [f"{c_argument(p)} {self.given[p.name]}" for p in parameters]
        if self.interface.user_context:
            listed.insert(0, "ptr %user")
        else:
            self.out("%user = inttoptr i32 0 to ptr")
        by_symbol = {p.argument.symbol: p for p in parameters}
        buffers = [p for p in parameters if p.is_buffer]
        argv = self._arguments(by_symbol)
        context = self._context()
        for p in buffers:
            null = self.op(f"icmp eq ptr {self.given[p.name]}, null")
            self.refuse(null, _NO_STRUCT, f"the buffer argument '{p.name}' is NULL")
        asked = [self._asks(p) for p in buffers]
        for p, one in zip(buffers, asked, strict=True):
            self._check(p, one)
        if buffers:
            self._answer_queries(query, argv, context, buffers, asked, places)
        for p in buffers:
            host = self._field(p, fields_of(self.target).host)
            none = self.op(f"icmp eq ptr {host}, null")
            if p.argument.symbol in self.on_devices:
                # A copy there will do; where it does not, the run time says so.
                device = self.op(f"load i64, ptr {self.given[p.name]}, align 4")
                nowhere = self.op(f"icmp eq i64 {device}, 0")
                none = self.op(f"and i1 {none}, {nowhere}")
            said = f"the buffer '{p.name}' has no pixels in memory: its host is NULL"
            self.refuse(none, _NO_HOST, said)
        result = self.op(f"call i32 @{quoted(body)}(ptr {context}, ptr {argv})")
        self._branch_if_failed(result, "failed", "fine")
        site = self.op(f"load i32, ptr {self.at(context, _SITE)}")
        foreign = self.op(f"icmp slt i32 {site}, 0")
        self.out(f"br i1 {foreign}, label %foreign, label %told")
        self.begin("foreign")
        # The run time may have told of it, and has its code in the context.
        known = self.op(f"load i32, ptr {context}")
        own = self.op(f"icmp eq i32 {known}, 0")
        code = self.op(f"select i1 {own}, i32 {result}, i32 {known}")
        self.out(f"ret i32 {code}")
        self.begin("told")
        code = self.op(f"call i32 @entry.report(ptr {context}, ptr %user)")
        self.out(f"ret i32 {code}")
        self.begin("fine")
        self.out("ret i32 0")
        self.end(f"define i32 @{self.interface.name}({', '.join(listed)})")

    def _branch_if_failed(self, result: str, bad: str, good: str) -> None:
        """Goes on in block `bad` if compiled code has failed; else in `good`."""
        failed = self.op(f"icmp ne i32 {result}, 0")
        self.out(f"br i1 {failed}, label %{bad}, label %{good}")
        self.begin(bad)

    def _context(self) -> str:
        context = self.op(f"alloca [{_CONTEXT} x i8], align 16")
        self.out(
            f"call void @llvm.memset.p0.i32(ptr {context}, i8 0, i32 {_CONTEXT}, "
            "i1 false)"
        )
        # Of a failure that is the caller's own, as of its halide_do_par_for.
        self.out(f"store i32 -1, ptr {self.at(context, _SITE)}, align 4")
        self.out(f"store ptr @halide_print, ptr {self.at(context, _PRINT)}, align 8")
        self.out(f"store ptr %user, ptr {self.at(context, _USER)}, align 8")
        return context

    def _arguments(self, by_symbol: dict[BufferSym | ParamSym, Parameter]) -> str:
        """The array of addresses that the body takes."""
        args = self.lowered.args
        # One more for the query's table.
        argv = self.op(f"alloca [{len(args) + 1} x ptr], align 8")
        for i, a in enumerate(args):
            p = by_symbol.get(a.symbol)
            if p is None:
                assert isinstance(a.symbol, BufferSym)
                place = self._embedded(a.symbol, i)
            elif p.is_buffer:
                place = self.given[p.name]
            else:
                t = c_argument(p)
                place = self.op(f"alloca {t}, align 8")
                self.out(f"store {t} {self.given[p.name]}, ptr {place}")
            slot = self.at(argv, i * self.target.bits // 8)
            self.out(f"store ptr {place}, ptr {slot}")
        return argv

    def _embedded(self, symbol: BufferSym, number: int) -> str:
        """The struct of an image that is part of the object file."""
        image = SET.of(symbol)
        layout = image._layout()
        # Dimension 0, the array's last axis, is dense there, whatever it is here.
        raw = np.asarray(image).tobytes()
        pixels = self.text.constant(f"entry.pixels.{number}", self.text.bytes(raw), 64)
        stride, dims = 1, []
        for lo, extent in zip(layout.mins, layout.extents, strict=True):
            dims += [lo, extent, stride, 0]
            stride *= extent
        shape = ", ".join([f"i32 {n}" for n in dims])
        table = self.text.constant(
            f"entry.dims.{number}", f"[{len(dims)} x i32] [{shape}]"
        )
        t = symbol.type
        kind = f"i8 {int(t.kind)}, i8 {t.width}, i16 1"
        value = (
            "{ i64, ptr, ptr, i64, i8, i8, i16, i32, ptr, ptr } { i64 0, ptr null, "
            f"ptr {pixels}, i64 0, {kind}, i32 {len(layout.extents)}, "
            f"ptr {table}, ptr null }}"
        )
        return self.text.constant(f"entry.image.{number}", value, 8)

    def _field(self, p: Parameter, offset: int) -> str:
        """A pointer in a buffer struct."""
        return self.op(f"load ptr, ptr {self.at(self.given[p.name], offset)}")

    def _asks(self, p: Parameter) -> str:
        """Whether a buffer asks for its region."""
        host = self._field(p, fields_of(self.target).host)
        device = self.op(f"load i64, ptr {self.given[p.name]}, align 4")
        none = self.op(f"icmp eq ptr {host}, null")
        nowhere = self.op(f"icmp eq i64 {device}, 0")
        return self.op(f"and i1 {none}, {nowhere}")

    def _check(self, p: Parameter, asks: str) -> None:
        """The type and dimensions of a buffer; of one that asks, that there is place
        for the answer."""
        checked, check = self.label("checked"), self.label("check")
        if p.dimensions:
            self._check_place(p, asks)
        self.out(f"br i1 {asks}, label %{checked}, label %{check}")
        self.begin(check)
        self._check_shape(p)
        if not p.is_output and p.argument.symbol not in self.on_devices:
            self._check_current(p)
        self.out(f"br label %{checked}")
        self.begin(checked)

    def _check_place(self, p: Parameter, wanted: str) -> None:
        """That a buffer has an array of dimensions, where that is wanted."""
        dims = self._field(p, fields_of(self.target).dim)
        none = self.op(f"icmp eq ptr {dims}, null")
        said = f"the buffer '{p.name}' has no array of dimensions: its dim is NULL"
        self.refuse(self.op(f"and i1 {wanted}, {none}"), _BAD_DIMENSIONS, said)

    def _check_shape(self, p: Parameter) -> None:
        fields, given, t = fields_of(self.target), self.given[p.name], p.type
        what = f"the buffer '{p.name}'"
        code, bits = (
            self.op(f"load i8, ptr {self.at(given, fields.type + k)}") for k in (0, 1)
        )
        wide = self.op(f"zext i8 {code} to i32"), self.op(f"zext i8 {bits} to i32")
        one = self.op(f"icmp ne i8 {code}, {int(t.kind)}")
        two = self.op(f"icmp ne i8 {bits}, {t.width}")
        lanes = self.op(f"load i16, ptr {self.at(given, fields.type + 2)}")
        three = self.op(f"icmp ne i16 {lanes}, 1")
        many = self.op(f"zext i16 {lanes} to i32")
        self.refuse(
            three, _BAD_TYPE, f"{what} must be of one lane, but its type has %d", many
        )
        self.refuse(
            self.op(f"or i1 {one}, {two}"),
            _BAD_TYPE,
            f"{what} must be of type {t} (code {int(t.kind)}, {t.width} bits), but its "
            "type has code %d and %d bits",
            *wide,
        )
        count = self.op(f"load i32, ptr {self.at(given, fields.dimensions)}")
        wrong = self.op(f"icmp ne i32 {count}, {p.dimensions}")
        self.refuse(
            wrong,
            _BAD_DIMENSIONS,
            f"{what} must have {p.dimensions} dimensions, but it has %d",
            count,
        )
        if not p.dimensions:
            return
        self._check_place(p, "true")
        dims = self._field(p, fields.dim)
        for d in range(p.dimensions):
            place = self.at(dims, DIMENSION_BYTES * d + 4)
            extent = self.op(f"load i32, ptr {place}, align 4")
            negative = self.op(f"icmp slt i32 {extent}, 0")
            said = f"{what} has the negative extent %d in dimension {d}"
            self.refuse(negative, HALIDE_CODES["extent_negative"], said, extent)

    def _check_current(self, p: Parameter) -> None:
        """That the pixels in memory are those of a buffer that is read."""
        place = self.at(self.given[p.name], fields_of(self.target).flags)
        flags = self.op(f"load i8, ptr {place}")
        dirty = self.op(f"icmp ne i8 {self.op(f'and i8 {flags}, {DEVICE_DIRTY}')}, 0")
        said = f"the pixels of the buffer '{p.name}' are on a device: copy them first"
        self.refuse(dirty, _DEVICE_DIRTY, said)

    # Bounds queries.

    def _answer_queries(
        self,
        query: str,
        argv: str,
        context: str,
        buffers: Sequence[Parameter],
        asked: Sequence[str],
        places: dict[BufferSym, int],
    ) -> None:
        fields = fields_of(self.target)
        some = asked[0]
        for one in asked[1:]:
            some = self.op(f"or i1 {some}, {one}")
        yes, no = self.label("asked"), self.label("unasked")
        self.out(f"br i1 {some}, label %{yes}, label %{no}")
        self.begin(yes)
        total = NUMBERS * sum([p.dimensions for p in buffers])
        table = self.op(f"alloca [{max(total, 1)} x i32], align 8")
        struct = self.op(f"alloca [{fields.size} x i8], align 8")
        self.out(f"store ptr {table}, ptr {self.at(struct, fields.host)}")
        dims = self.op(f"alloca [{DIMENSION_BYTES} x i8], align 8")
        self.out(f"store ptr {dims}, ptr {self.at(struct, fields.dim)}")
        for offset, value in ((0, 0), (4, max(total, 1)), (8, 1), (12, 0)):
            self.out(f"store i32 {value}, ptr {self.at(dims, offset)}")
        slot = self.at(argv, len(self.lowered.args) * self.target.bits // 8)
        self.out(f"store ptr {struct}, ptr {slot}")
        count, _ = passes(list(places), self.lowered.assumptions)
        for _ in range(count):
            result = self.op(f"call i32 @{quoted(query)}(ptr {context}, ptr {argv})")
            if self.in_body is not None:
                self._refuse_query(context, result)
            for p, one in zip(buffers, asked, strict=True):
                symbol = p.argument.symbol
                assert isinstance(symbol, BufferSym)
                tell, told = self.label("tell"), self.label("told")
                self.out(f"br i1 {one}, label %{tell}, label %{told}")
                self.begin(tell)
                self._tell(p, table, places[symbol])
                self.out(f"br label %{told}")
                self.begin(told)
        for p, one in zip(buffers, asked, strict=True):
            self._check_told(p, one, table, places)
        self.out(f"ret i32 {result}")
        self.begin(no)

    def _check_told(
        self, p: Parameter, asked: str, table: str, places: dict[BufferSym, int]
    ) -> None:
        """That what a buffer is told holds all that is needed of it."""
        symbol = p.argument.symbol
        assert isinstance(symbol, BufferSym)
        for d in range(p.dimensions):
            if not checked(symbol, d, self.lowered.assumptions):
                continue
            at = self.at(table, 4 * (places[symbol] + NUMBERS * d + FITS))
            bad = self.op(f"icmp eq i32 {self.op(f'load i32, ptr {at}')}, 0")
            self.refuse(
                self.op(f"and i1 {asked}, {bad}"),
                _TOO_SMALL,
                f"what is promised of dimension {d} of the buffer '{p.name}' holds "
                "fewer pixels than are needed of it",
            )

    def _refuse_query(self, context: str, result: str) -> None:
        """Leaves if the query fails; its assertions are told behind the body's."""
        good = self.label("answered")
        self._branch_if_failed(result, self.label("refused"), good)
        place = self.at(context, _SITE)
        site = self.op(f"add i32 {self.op(f'load i32, ptr {place}')}, {self.in_body}")
        self.out(f"store i32 {site}, ptr {place}")
        self.out("br label %told")
        self.begin(good)

    def _tell(self, p: Parameter, table: str, place: int) -> None:
        """Writes an answer into a buffer struct: its type, and its dimensions."""
        fields, given, t = fields_of(self.target), self.given[p.name], p.type
        word = int(t.kind) | t.width << 8 | 1 << 16
        self.out(f"store i32 {word}, ptr {self.at(given, fields.type)}, align 4")
        count = self.at(given, fields.dimensions)
        self.out(f"store i32 {p.dimensions}, ptr {count}, align 4")
        dims = self.op(f"load ptr, ptr {self.at(given, fields.dim)}")
        for d in range(p.dimensions):
            numbers = [
                self.op(
                    f"load i32, ptr {self.at(table, 4 * (place + NUMBERS * d + k))}"
                )
                for k in range(FITS)
            ]
            for k, value in enumerate((*numbers, "0")):
                at = self.at(dims, DIMENSION_BYTES * d + 4 * k)
                self.out(f"store i32 {value}, ptr {at}, align 4")

    # The other functions.

    def argv(self) -> None:
        given: list[str] = []
        if self.interface.user_context:
            # Halide's argv has the address of the context first.
            slot = self.op("load ptr, ptr %args")
            given.append(f"ptr {self.op(f'load ptr, ptr {slot}')}")
        for p in self.interface.parameters:
            at = self.at("%args", len(given) * self.target.bits // 8)
            value = self.op(f"load ptr, ptr {at}")
            if not p.is_buffer:
                value = self.op(f"load {c_argument(p)}, ptr {value}")
            given.append(f"{c_argument(p)} {value}")
        name = self.interface.name
        result = self.op(f"call i32 @{name}({', '.join(given)})")
        self.out(f"ret i32 {result}")
        self.end(f"define i32 @{name}_argv(ptr %args)")

    def metadata(self) -> None:
        """`halide_filter_metadata_t` and what it points to."""
        name = self.interface.name
        kind = "{ ptr, i32, i32, { i8, i8, i16 }, ptr, ptr, ptr, ptr, ptr }"
        rows = [f"{kind} {self._argument(p)}" for p in self.interface.parameters]
        if self.interface.user_context:
            rows.insert(0, f"{kind} {self._context_argument()}")
        table = self.text.constant(
            "entry.arguments", f"[{len(rows)} x {kind}] [{', '.join(rows)}]"
        )
        texts = self.text.string(self.target_name), self.text.string(name)
        whole = self.text.constant(
            "entry.metadata",
            f"{{ i32, i32, ptr, ptr, ptr }} {{ i32 1, i32 {len(rows)}, ptr {table}, "
            f"ptr {texts[0]}, ptr {texts[1]} }}",
        )
        self.out(f"ret ptr {whole}")
        self.end(f"define ptr @{name}_metadata()")

    def _context_argument(self) -> str:
        kind = "{ i8, i8, i16 } { i8 3, i8 64, i16 1 }"
        name = self.text.string("__user_context")
        nulls = ", ".join(["ptr null"] * 5)
        return f"{{ ptr {name}, i32 0, i32 0, {kind}, {nulls} }}"

    def _argument(self, p: Parameter) -> str:
        a, t = p.argument, p.type
        number = {ArgKind.SCALAR: 0, ArgKind.INPUT: 1, ArgKind.OUTPUT: 2}[a.kind]
        described = f"{{ i8, i8, i16 }} {{ i8 {int(t.kind)}, i8 {t.width}, i16 1 }}"
        scalars, boxes = ["ptr null"] * 4, "ptr null"
        if isinstance(a.symbol, ParamSym):
            s = a.symbol
            least, most = (_constant(e) for e in (s.lo, s.hi))
            for i, value in enumerate((SET.of(s), least, most, s.estimate)):
                if isinstance(value, int | float):
                    scalars[i] = f"ptr {self._scalar(value, t)}"
        else:
            boxes = f"ptr {self._estimates(a.symbol)}"
        name = self.text.string(p.name)
        return (
            f"{{ ptr {name}, i32 {number}, i32 {p.dimensions}, {described}, "
            f"{', '.join(scalars)}, {boxes} }}"
        )

    def _scalar(self, value: float, t: Type) -> str:
        """A `halide_scalar_value_t`: eight bytes that begin with the value."""
        bits = float_bits(value, t) if t.is_float() else int(value) & (1 << 64) - 1
        raw = bits.to_bytes(8, "little")
        name = f"entry.scalar.{len(self.text.globals)}"
        return self.text.constant(name, self.text.bytes(raw), 8)

    def _estimates(self, symbol: BufferSym) -> str:
        """Pointers to the estimated min and extent of each dimension, or null."""
        pointers: list[str] = []
        for dim in symbol.dims:
            for e in (dim.estimate_min, dim.estimate_extent):
                known = None if e is None else const_int(e)
                name = f"entry.estimate.{len(self.text.globals)}"
                pointers.append(
                    "ptr null"
                    if known is None
                    else f"ptr {self.text.constant(name, f'i64 {known}')}"
                )
        if all(p == "ptr null" for p in pointers):
            return "null"
        name = f"entry.estimates.{len(self.text.globals)}"
        return self.text.constant(
            name, f"[{len(pointers)} x ptr] [{', '.join(pointers)}]"
        )


def _constant(e: object) -> int | float | None:
    if isinstance(e, FloatImm):
        return e.value
    return e.value if isinstance(e, Imm) else None


__all__ = ["c_argument", "entry_text"]
