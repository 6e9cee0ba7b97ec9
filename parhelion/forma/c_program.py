"""Programs as C: a function of pointers, and its header (paper, section 3.2).

The function takes the inputs, the parameters, and where each result is to be put. It
makes the buffers for the function of the pipeline, which stands before it in the file;
structs of several types are taken apart and put together around that.
"""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.aot.interface import c_type
from parhelion.forma.c_sizes import HELPERS, Names, c_size
from parhelion.forma.images import has_channels, pixels_of
from parhelion.forma.sizes import size_text
from parhelion.forma.stages import Graph, Source
from parhelion.forma.types import Element, Struct
from parhelion.ir.expr import Var


class _Domain:
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


class CProgram:
    """The C text of a program. name: of the function; pipeline: of the one that it
    calls, whose text is given to `source`."""

    def __init__(self, graph: Graph, name: str) -> None:
        names = Names()
        self.graph = graph
        self.name = names.name(name)
        self.pipeline = names.name(f"{name}_pipeline")
        self.structs = {one: names.name(one.name) for one in graph.structs}
        self.fields = {one: _fields(one) for one in graph.structs}
        self.inputs = [
            _Domain(Source(one), one.name, names, False) for one in graph.inputs
        ]
        self.numbers = [(names.name(one.name), one) for one in graph.parameters]
        self.outputs = [
            _Domain(one.source, one.name, names, True) for one in graph.outputs
        ]
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
            f"{self._signature()};",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def _explained(self) -> list[str]:
        lines = ["Arrays are dense, the first dimension being the fastest.", ""]
        lines += [f"  {self._told(one)}" for one in self.inputs]
        lines += [f"  {name}: a parameter, {one.type}" for name, one in self.numbers]
        for one in self.outputs:
            lines.append(f"  {self._told(one)}")
            many = " * ".join([f"({size_text(s)})" for s in one.sizes])
            lines.append(f"    so the caller allocates {many} of them")
        return [
            *lines,
            "",
            "It returns 0, or else a negative number: -1 for parameters with which the",
            "program makes no sense, -6 for too large arrays, -11 without memory, -12",
            "for pointers that are NULL.",
        ]

    def _told(self, one: _Domain) -> str:
        sizes = ", ".join([size_text(s) for s in one.sizes])
        what = "output" if one.is_output else "input"
        return f"{one.name}: {what}, {one.kind}, [{sizes}]"

    def _signature(self) -> str:
        args = [f"const {self._pointer(one)}" for one in self.inputs]
        args += [f"{c_type(p.type.pixel)} {name}" for name, p in self.numbers]
        args += [self._pointer(one) for one in self.outputs]
        return f"int {self.name}({', '.join(args)})"

    def _pointer(self, one: _Domain) -> str:
        return f"{self._element(one.kind)} *{one.name}"

    def _element(self, kind: Element) -> str:
        if isinstance(kind, Struct):
            return f"struct {self.structs[kind]}"
        return c_type(kind.pixel)

    # The source

    def source(self, pipeline: str) -> str:
        """The file: the pipeline's function, given as text, and the one of pointers."""
        lines = [pipeline.rstrip(), "", f'#include "{self.name}.h"', "", HELPERS]
        lines.append(f"{self._signature()} {{")
        lines += [f"  {line}" for line in self._body()]
        return "\n".join(lines) + "\n}\n"

    def _body(self) -> list[str]:
        domains = [*self.inputs, *self.outputs]
        nulls = " || ".join([f"!{one.name}" for one in domains])
        lines = [f"if ({nulls}) return -12;"]
        longs: dict[Var, str] = {}
        for name, parameter in self.numbers:
            if parameter.var is not None:
                longs[parameter.var] = long = self.names.name(f"{name}_size")
                least = 1 if parameter.var.lo is not None else "INT32_MIN"
                lines.append(f"const int64_t {long} = {name};")
                lines.append(f"if ({long} < {least}) return -1;")
        for requirement in self.graph.requirements:
            lines.append(f"// Not so that {_one_line(requirement.what)}.")
            lines.append(f"if (!{c_size(requirement.condition, longs)}) return -1;")
        for one in domains:
            lines += self._sizes(one, longs)
        for one in domains:
            lines += self._buffers(one)
        apart = [one for one in domains if one.is_apart]
        given = [f"&{p}_buffer" for one in self.inputs for p in one.planes]
        given += [name for name, _ in self.numbers]
        given += [f"&{p}_buffer" for one in self.outputs for p in one.planes]
        call = f"{self.pipeline}({', '.join(given)})"
        if not apart:
            return [*lines, f"return {call};"]
        made = [plane for one in apart for plane in one.planes]
        lines.append(f"int result = {' && '.join(made)} ? 0 : -11;")
        lines.append("if (!result) {")
        for one in apart:
            if not one.is_output:
                lines += self._copies(one, "{plane}[i] = {name}[i].{field};")
        lines.append(f"  result = {call};")
        lines.append("}")
        for one in apart:
            if one.is_output:
                lines.append("if (!result) {")
                lines += self._copies(one, "{name}[i].{field} = {plane}[i];")
                lines.append("}")
        return [*lines, *[f"free({plane});" for plane in made], "return result;"]

    def _sizes(self, one: _Domain, longs: Mapping[Var, str]) -> list[str]:
        """The sizes of a domain: all of its values are counted by an int."""
        lines = []
        for d, (count, size) in enumerate(zip(one.counts, one.sizes, strict=True)):
            lines.append(f"const int64_t {count} = {c_size(size, longs)};")
            all_ = f"{count} * {one.stride(d)}"
            lines.append(f"if ({count} > INT32_MAX || {all_} > INT32_MAX) return -6;")
        return lines

    def _buffers(self, one: _Domain) -> list[str]:
        """The buffers of a domain: of the caller's memory, or of our own."""
        lines = []
        for plane, pixel in zip(one.planes, one.pixels, strict=False):
            if one.is_apart:
                kind = c_type(pixel)
                size = f"(size_t)({one.points}) * sizeof({kind})"
                lines.append(f"{kind} *{plane} = malloc({size});")
            dims = [
                f"{{0, (int32_t){count}, (int32_t)({one.stride(d)}), 0}}"
                for d, count in enumerate(one.counts)
            ]
            if one.channels:
                dims.append(f"{{0, {one.channels}, 1, 0}}")
            code = 2 if pixel.is_float() else 0
            lines += [
                f"struct halide_dimension_t {plane}_dim[] = {{{', '.join(dims)}}};",
                f"struct halide_buffer_t {plane}_buffer = {{",
                f"  .host = (uint8_t *){plane}, .type = {{{code}, {pixel.width}, 1}},",
                f"  .dimensions = {len(dims)}, .dim = {plane}_dim}};",
            ]
        return lines

    def _copies(self, one: _Domain, copy: str) -> list[str]:
        """The loop that takes structs apart, or puts them together."""
        assert isinstance(one.kind, Struct)
        count = " * ".join([f"{one.name}_n{d}" for d in range(len(one.sizes))])
        lines = [
            "  #pragma omp parallel for",
            f"  for (int64_t i = 0; i < {count}; i++) {{",
        ]
        for plane, field in zip(one.planes, self.fields[one.kind], strict=True):
            told = copy.format(plane=plane, name=one.name, field=field)
            lines.append(f"    {told}")
        return [*lines, "  }"]


def _fields(struct: Struct) -> tuple[str, ...]:
    names = Names()
    return tuple([names.name(name) for name, _ in struct.fields])


def _one_line(text: str) -> str:
    """Text for a comment: a name of a file may have any characters."""
    return "".join([c if c.isprintable() and c != "\\" else "?" for c in text])


__all__ = ["CProgram"]
