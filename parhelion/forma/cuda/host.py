"""A program as CUDA C: a file of kernels and of the function that calls them, and its
header (section 3.2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from parhelion.forma.cuda.c_text import parameter_name, size_c, type_text
from parhelion.forma.cuda.kernels import DeviceCode, Fields, Texture
from parhelion.forma.cuda.plan import Domain, Kernel, Plan
from parhelion.forma.cuda.support import SUPPORT, TEXTURES
from parhelion.forma.sizes import size_text
from parhelion.forma.stages import Compose, Graph, Input, Output, Source, Stage
from parhelion.forma.types import Struct
from parhelion.ir.deep import run_deep

#: Threads of a block, along the first two dimensions.
BLOCK = (32, 8)
#: Rows of what is read through textures begin at multiples of so many bytes: all
#: devices take that.
PITCH = 512


@dataclass(frozen=True, slots=True)
class CudaText:
    """source: of a .cu file. header: of the .h file, C or C++."""

    source: str
    header: str


def emit_cuda(
    graph: Graph, name: str, stored: Collection[Stage], *, textures: bool = False
) -> CudaText:
    """Return a program as a function `name` of CUDA C.

    stored: the stages whose results are kept in memory, one kernel each; all others are
    computed by those that read them. textures: whether domains of two dimensions are
    read through texture units, whose boundary conditions are the hardware's.
    """
    return run_deep(lambda: _Writer(graph, name, stored, textures).text())


class _Writer:
    def __init__(
        self, graph: Graph, name: str, stored: Collection[Stage], textures: bool
    ) -> None:
        self.graph = graph
        self.name = name
        self.plan = Plan(graph, stored, textures=textures)
        self.code = DeviceCode(self.plan)

    def text(self) -> CudaText:
        plan = self.plan
        functions: dict[Source, str] = {}
        kernels: list[tuple[Kernel, str, Fields]] = []
        for kernel in plan.kernels:
            for source in plan.inlined(kernel):
                functions.setdefault(source, self.code.function(source))
            kernels.append((kernel, *self.code.kernel(kernel)))
        parts = [
            f'#include "{self.name}.h"\n',
            SUPPORT,
            TEXTURES if self.code.textures else "",
            *functions.values(),
            *[text for _, text, _ in kernels],
            self._host([(kernel, fields) for kernel, _, fields in kernels]),
        ]
        return CudaText("".join(parts), self._header())

    # The header

    def _header(self) -> str:
        guard = f"FORMA_{self.name.upper()}_H"
        told = [
            f" * {one.name}: {_shape(one)} of {type_text(one.source.type)}\n"
            for one in self.graph.outputs
        ]
        rules = [
            f" * -{k}: {one.what}\n" for k, one in enumerate(self.graph.requirements, 1)
        ]
        return _HEADER.format(
            guard=guard,
            name=self.name,
            file=self.graph.file,
            outputs="".join(told),
            rules="".join(rules),
            structs="".join(map(_struct, self.graph.structs)),
            prototype=self._prototype(),
        )

    def _prototype(self) -> str:
        inputs = [
            f"const {type_text(one.types[0])} *{self._argument(one)}"
            for one in self.graph.inputs
        ]
        numbers = [
            f"{type_text(one.type)} {parameter_name(one.name)}"
            for one in self.graph.parameters
        ]
        outputs = [
            f"{type_text(one.source.type)} *out{k}_{_word(one.name)}"
            for k, one in enumerate(self.graph.outputs)
        ]
        given = ", ".join([*inputs, *numbers, *outputs])
        return f"int {self.name}({given})"

    def _argument(self, one: Input) -> str:
        return f"in_{_word(one.name)}"

    # The function

    def _host(self, kernels: list[tuple[Kernel, Fields]]) -> str:
        plan = self.plan
        out: list[str] = ["  int forma_status = 0;"]
        for k, rule in enumerate(self.graph.requirements, 1):
            out.append(f"  if (!{size_c(rule.condition)}) return -{k};")
        for domain in plan.domains.values():
            out += _declared(domain)
        out += [
            f"  cudaTextureObject_t {t.id} = 0;" for t in self.code.textures.values()
        ]
        last = _last_uses(kernels)
        for one in self.graph.inputs:
            source = Source(one)
            if source in plan.domains:
                out += self._copied_in(plan.domains[source], self._argument(one))
        begun: set[str] = set()
        for at, (kernel, fields) in enumerate(kernels):
            out += self._launched(kernel, fields, begun)
            ends = [d for d, end in last.items() if end == at and not self._returned(d)]
            for texture in self.code.textures.values():
                if texture.domain in ends and texture.id in begun:
                    out.append(f"  FORMA_TRY(cudaDestroyTextureObject({texture.id}));")
                    out.append(f"  {texture.id} = 0;")
            for domain in ends:
                out.append(f"  FORMA_TRY(cudaFreeAsync(d_{domain.id}, 0));")
                out.append(f"  d_{domain.id} = NULL;")
        for k, output in enumerate(self.graph.outputs):
            out += self._copied_out(output, f"out{k}_{_word(output.name)}")
        out += ["  FORMA_TRY(cudaStreamSynchronize(0));", "forma_end:"]
        for texture in self.code.textures.values():
            out.append(f"  if ({texture.id}) cudaDestroyTextureObject({texture.id});")
        for domain in plan.domains.values():
            out.append(f"  if (d_{domain.id}) cudaFreeAsync(d_{domain.id}, 0);")
        out.append("  return forma_status;")
        body = "\n".join(out)
        return f'\nextern "C" {self._prototype()} {{\n{body}\n}}\n'

    def _returned(self, domain: Domain) -> bool:
        return any([one.source == domain.source for one in self.graph.outputs])

    def _copied_in(self, domain: Domain, given: str) -> list[str]:
        return [
            *self._allocated(domain),
            f"  FORMA_TRY({_copy(f'd_{domain.id}', domain, given, True)});",
        ]

    def _copied_out(self, output: Output, given: str) -> list[str]:
        domain = self.plan.domains[output.source]
        return [f"  FORMA_TRY({_copy(given, domain, f'd_{domain.id}', False)});"]

    def _allocated(self, domain: Domain) -> list[str]:
        id, n = domain.id, len(domain.sizes)
        width = f"(long long)n_{id}_0"
        out = []
        if self.plan.has_texture(domain.source):
            size = f"(int)sizeof(*d_{id})"
            whole = f"({width} * {size} + {PITCH - 1}) / {PITCH} * {PITCH}"
            width = f"{whole} / {size}"
        out.append(f"  w_{id} = {width};")
        step = f"w_{id}"
        for d in range(1, n):
            out.append(f"  s_{id}_{d} = {step};")
            step = f"s_{id}_{d} * n_{id}_{d}"
        out.append(f"  b_{id} = (size_t)({step}) * sizeof(*d_{id});")
        out.append(f"  FORMA_TRY(cudaMallocAsync((void **)&d_{id}, b_{id}, 0));")
        return out

    def _launched(self, kernel: Kernel, fields: Fields, begun: set[str]) -> list[str]:
        out: list[str] = []
        first = kernel.part is None or kernel.part is _first_part(kernel)
        for domain in kernel.domains if first else ():
            out += self._allocated(domain)
            if isinstance(kernel.stage, Compose) and not kernel.stage.covers:
                id = domain.id
                out.append(f"  FORMA_TRY(cudaMemsetAsync(d_{id}, 0, b_{id}, 0));")
        for texture in fields.textures.values():
            if texture.id not in begun:
                begun.add(texture.id)
                out.append(f"  FORMA_TRY({_texture(texture)});")
        return [*out, *_launch(kernel, fields)]


_HEADER = """/* Generated from the Forma program {file}.
 *
 * Arrays lie in the caller's memory, x fastest, without gaps. What is returned:
{outputs} *
 * The function returns 0, an error of CUDA (cudaError_t), or of the parameters:
{rules} */
#ifndef {guard}
#define {guard}

{structs}#ifdef __cplusplus
extern "C"
#endif
{prototype};

#endif
"""


def _shape(output: Output) -> str:
    return f"[{', '.join(map(size_text, output.source.sizes))}]"


def _struct(one: Struct) -> str:
    fields = "".join([f"  {type_text(kind)} {name};\n" for name, kind in one.fields])
    return f"typedef struct {one.name} {{\n{fields}}} {one.name};\n\n"


def _word(name: str) -> str:
    """A name as part of a word of C."""
    return "".join([c if c.isalnum() and c.isascii() else "_" for c in name])


def _declared(domain: Domain) -> list[str]:
    """What is known of a domain: data, bytes, sizes, elements in a row, and from one
    row, plane, … to the next."""
    id, n = domain.id, len(domain.sizes)
    out = [
        f"  {type_text(domain.type)} *d_{id} = NULL;",
        f"  size_t b_{id} = 0;",
        f"  long long w_{id} = 0;",
    ]
    for d, size in enumerate(domain.sizes):
        out.append(f"  const int n_{id}_{d} = {size_c(size)};")
    return out + [f"  long long s_{id}_{d} = 0;" for d in range(1, n)]


def _copy(to: str, domain: Domain, source: str, inwards: bool) -> str:
    """A call that copies rows between memories, without gaps in the host's."""
    id = domain.id
    own, row = f"w_{id} * sizeof(*d_{id})", f"(size_t)n_{id}_0 * sizeof(*d_{id})"
    rows = " * ".join(
        ["(size_t)1", *[f"n_{id}_{d}" for d in range(1, len(domain.sizes))]]
    )
    pitches = (own, row) if inwards else (row, own)
    kind = "cudaMemcpyHostToDevice" if inwards else "cudaMemcpyDeviceToHost"
    return (
        f"cudaMemcpy2DAsync({to}, {pitches[0]}, {source}, {pitches[1]}, {row}, {rows}, "
        f"{kind}, 0)"
    )


def _texture(texture: Texture) -> str:
    id = texture.domain.id
    return (
        f"forma_texture(&{texture.id}, d_{id}, n_{id}_0, n_{id}_1, "
        f"w_{id} * sizeof(*d_{id}), cudaAddressMode{texture.mode}, "
        f"(float){texture.border})"
    )


def _launch(kernel: Kernel, fields: Fields) -> list[str]:
    """The kernel on the points whose reads are inside, and on what is left."""
    n = len(kernel.sizes)
    x, y = BLOCK if n > 1 else (BLOCK[0] * BLOCK[1], 1)
    given = ", ".join([host for _, host in fields.values.values()])
    sizes, first, stop = [
        ", ".join(texts)
        for texts in (
            map(size_c, kernel.sizes),
            [size_c(one.first) for one in kernel.clean],
            [size_c(one.stop) for one in kernel.clean],
        )
    ]
    lines = f"""{{
  const a_{kernel.id} given = {{{given}}};
  const dim3 block({x}, {y});
  const int sizes[] = {{{sizes}}}, zeros[{n}] = {{0}};
  const int first[] = {{{first}}}, stop[] = {{{stop}}};
  const forma_box<{n}> whole = forma_cut<{n}>(zeros, sizes, sizes);
  const forma_box<{n}> clean = forma_cut<{n}>(first, stop, sizes);
  forma_box<{n}> slabs[{2 * n}];
  const int rest = forma_slabs<{n}>(whole, clean, slabs);
  if (!clean.empty()) {{
    FORMA_LAUNCH(k_{kernel.id}<true>, forma_grid(clean, block), block, given, clean);
    FORMA_TRY(cudaGetLastError());
  }}
  for (int k = 0; k < rest; ++k) {{
    FORMA_LAUNCH(k_{kernel.id}<false>, forma_grid(slabs[k], block), block, given,
                 slabs[k]);
    FORMA_TRY(cudaGetLastError());
  }}
}}"""
    return [f"  {line}" for line in lines.splitlines()]


def _first_part(kernel: Kernel) -> object:
    assert isinstance(kernel.stage, Compose)
    return kernel.stage.parts[0]


def _last_uses(kernels: Iterable[tuple[Kernel, Fields]]) -> dict[Domain, int]:
    """The number of the last kernel that reads or fills a domain."""
    last: dict[Domain, int] = {}
    for at, (kernel, fields) in enumerate(kernels):
        for domain in kernel.domains:
            last[domain] = at
        for domain in fields.domains:
            last[domain] = at
    return last


__all__ = ["BLOCK", "CudaText", "emit_cuda"]
