"""Programs as C: the function of pointers around that of the pipeline (paper, section
3.2).

It makes the buffers for the function of the pipeline, which stands before it in the
file; structs of several types are taken apart and put together around that.
"""

from __future__ import annotations

from parhelion.aot.interface import c_type
from parhelion.errors import internal_assert
from parhelion.forma.c_interface import Domain, Interface
from parhelion.forma.c_sizes import HELPERS
from parhelion.forma.stages import Graph
from parhelion.forma.types import Struct

#: In place of what the text of a pipeline has as its first line. Indices are checked
#: not to overflow; with -fwrapv, gcc 12 takes them for what may, and loops are 5 to 15
#: times slower.
_OPTIONS = (
    "// Compile with -O3 -march=native -fopenmp, and without -fwrapv: ints that",
    "// overflow have no value in Forma, and where they wrap, gcc vectorises no loop.",
)


class CProgram(Interface):
    """The C text of a program. pipeline: the name of the function that it calls, whose
    text is given to `source`."""

    def __init__(self, graph: Graph, name: str) -> None:
        super().__init__(graph, name)
        self.pipeline = self.names.name(f"{name}_pipeline")
        self.release = self.names.name(f"{name}_release")
        self.names.name(f"{self.pipeline}_release")

    def also(self) -> list[str]:
        return [
            "// Frees the memory that is kept for the next call, at any time.",
            f"void {self.release}(void);",
        ]

    def source(self, pipeline: str) -> str:
        """The file: the pipeline's function, given as text, and the one of pointers."""
        first, _, rest = pipeline.rstrip().partition("\n")
        internal_assert(first.startswith("// Compile with"), "how C is compiled")
        lines = [*_OPTIONS, rest, "", f'#include "{self.name}.h"', "", HELPERS]
        lines.append(f"{self.signature()} {{")
        lines += [f"  {line}" for line in self._body()]
        lines += [
            "}",
            "",
            f"void {self.release}(void) {{ {self.pipeline}_release(); }}",
        ]
        return "\n".join(lines) + "\n"

    def _body(self) -> list[str]:
        domains = [*self.inputs, *self.outputs]
        lines = self.checks()
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

    def _buffers(self, one: Domain) -> list[str]:
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

    def _copies(self, one: Domain, copy: str) -> list[str]:
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


__all__ = ["CProgram"]
