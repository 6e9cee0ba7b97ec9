"""The C interface of a program: a function of pointers, and its header (paper, section
3.2.3).

The function takes the inputs, the parameters, and where each result is to be put. C and
CUDA have the same, whose text differs in what is behind it.
"""

from __future__ import annotations

from parhelion.aot.interface import c_type
from parhelion.forma.c_sizes import Names, c_size
from parhelion.forma.images import has_channels, pixels_of
from parhelion.forma.sizes import size_text
from parhelion.forma.stages import Graph, Source
from parhelion.forma.types import Element, Struct
from parhelion.ir.expr import Var


class Domain:
    """An input or an output, and the names of its C variables.

    name: of the argument. counts: of its sizes. planes: of its buffers, one for each
    field where these are of several types, as is_apart says. channels: how many fields
    a point has side by side; else 0.
    """

    def __init__(
        self, source: Source, name: str, names: Names, is_output: bool
    ) -> None:
        self.name = names.name(name)
        self.kind, self.sizes, self.is_output = source.type, source.sizes, is_output
        self.counts = [names.name(f"{self.name}_n{d}") for d in range(len(self.sizes))]
        self.pixels = pixels_of(self.kind)
        self.channels = len(self.pixels) if has_channels(self.kind) else 0
        self.is_apart = isinstance(self.kind, Struct) and not self.channels
        self.planes = [self.name]
        if isinstance(self.kind, Struct) and self.is_apart:
            fields = [field for field, _ in self.kind.fields]
            self.planes = [names.name(f"{self.name}_{field}") for field in fields]

    @property
    def points(self) -> str:
        """How many there are, in C."""
        return " * ".join(self.counts)

    def stride(self, d: int) -> str:
        """How many values further the next point along a dimension is."""
        factors = [str(self.channels)] if self.channels else []
        return " * ".join([*factors, *self.counts[:d]]) or "1"


class Interface:
    """The function of a program, and what it and its arguments are called in C.

    name: of the function. structs and fields: of the program's structs. numbers: the
    parameters; longs: those of sizes, as ints of 64 bits. names: all that are taken.
    """

    #: What the header says of what is returned, beside 0.
    failures: tuple[str, ...] = (
        "It returns 0, or else a negative number: -1 for parameters with which the",
        "program makes no sense, -6 for too large arrays, -11 without memory, -12",
        "for pointers that are NULL.",
    )

    def __init__(self, graph: Graph, name: str) -> None:
        names = Names()
        self.graph = graph
        self.name = names.name(name)
        self.structs = {one: names.name(one.name) for one in graph.structs}
        self.fields = {one: _fields(one) for one in graph.structs}
        self.inputs = [
            Domain(Source(one), one.name, names, False) for one in graph.inputs
        ]
        self.numbers = [(names.name(one.name), one) for one in graph.parameters]
        self.outputs = [
            Domain(one.source, one.name, names, True) for one in graph.outputs
        ]
        self.longs: dict[Var, str] = {
            one.var: names.name(f"{word}_size")
            for word, one in self.numbers
            if one.var is not None
        }
        self.names = names

    # The header

    def header(self) -> str:
        """The header: the function, and the sizes of what it takes."""
        guard = f"FORMA_{self.name.upper()}_H"
        lines = [
            f"#ifndef {guard}",
            f"#define {guard}",
            f"// Made by Parhelion from {_one_line(self.graph.file)}.",
            "#include <stdint.h>",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
        ]
        for struct, name in self.structs.items():
            fields = zip(self.fields[struct], struct.fields, strict=True)
            inside = " ".join([f"{c_type(s.pixel)} {f};" for f, (_, s) in fields])
            lines += [f"struct {name} {{ {inside} }};", ""]
        lines += [f"// {line}".rstrip() for line in self._explained()]
        lines += [
            f"{self.signature()};",
            *self.also(),
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def also(self) -> list[str]:
        """What the header has after the function."""
        return []

    def _explained(self) -> list[str]:
        lines = ["Arrays are dense, the first dimension being the fastest.", ""]
        lines += [f"  {self._told(one)}" for one in self.inputs]
        lines += [f"  {name}: a parameter, {one.type}" for name, one in self.numbers]
        for one in self.outputs:
            lines.append(f"  {self._told(one)}")
            many = " * ".join([f"({size_text(s)})" for s in one.sizes])
            lines.append(f"    so the caller allocates {many} of them")
        return [*lines, "", *self.failures]

    def _told(self, one: Domain) -> str:
        sizes = ", ".join([size_text(s) for s in one.sizes])
        what = "output" if one.is_output else "input"
        return f"{one.name}: {what}, {one.kind}, [{sizes}]"

    def signature(self) -> str:
        args = [f"const {self._pointer(one)}" for one in self.inputs]
        args += [f"{c_type(p.type.pixel)} {name}" for name, p in self.numbers]
        args += [self._pointer(one) for one in self.outputs]
        return f"int {self.name}({', '.join(args)})"

    def checks(self) -> list[str]:
        """The beginning of the function: it returns what is wrong with the arguments,
        and names the sizes. They are counted by ints, as are all values of a domain."""
        domains = [*self.inputs, *self.outputs]
        nulls = " || ".join([f"!{one.name}" for one in domains])
        lines = [f"if ({nulls}) return -12;"]
        for name, parameter in self.numbers:
            if parameter.var is not None:
                long = self.longs[parameter.var]
                least = 1 if parameter.var.lo is not None else "INT32_MIN"
                lines.append(f"const int64_t {long} = {name};")
                lines.append(f"if ({long} < {least}) return -1;")
        for requirement in self.graph.requirements:
            lines.append(f"// Not so that {_one_line(requirement.what)}.")
            lines.append(
                f"if (!{c_size(requirement.condition, self.longs)}) return -1;"
            )
        for one in domains:
            lines += self._sizes(one)
        return lines

    def _pointer(self, one: Domain) -> str:
        return f"{self.element(one.kind)} *{one.name}"

    def element(self, kind: Element) -> str:
        if isinstance(kind, Struct):
            return f"struct {self.structs[kind]}"
        return c_type(kind.pixel)

    def _sizes(self, one: Domain) -> list[str]:
        """The sizes of a domain: all of its values are counted by an int."""
        lines = []
        for d, (count, size) in enumerate(zip(one.counts, one.sizes, strict=True)):
            lines.append(f"const int64_t {count} = {c_size(size, self.longs)};")
            all_ = f"{count} * {one.stride(d)}"
            lines.append(f"if ({count} > INT32_MAX || {all_} > INT32_MAX) return -6;")
        return lines


def _fields(struct: Struct) -> tuple[str, ...]:
    names = Names()
    return tuple([names.name(name) for name, _ in struct.fields])


def _one_line(text: str) -> str:
    """Text for a comment: a name of a file may have any characters."""
    return "".join([c if c.isprintable() and c != "\\" else "?" for c in text])


__all__ = ["Domain", "Interface"]
