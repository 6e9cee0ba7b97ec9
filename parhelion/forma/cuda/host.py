"""A program as CUDA C: a file of kernels and of the function that calls them, and its
header (section 3.2.3 of the paper)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from parhelion.dataclass import dataclass
from parhelion.forma.c_interface import Interface
from parhelion.forma.c_sizes import HELPERS, c_size
from parhelion.forma.cuda.kernels import DeviceCode, Fields, Texture
from parhelion.forma.cuda.plan import Domain, Kernel, Plan
from parhelion.forma.cuda.support import SUPPORT, TEXTURES
from parhelion.forma.fuse import fuse
from parhelion.forma.sizes import Size
from parhelion.forma.stages import Compose, Graph, Output, Source, Stage
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
    graph: Graph,
    name: str,
    stored: Collection[Stage] | None = None,
    *,
    textures: bool = False,
) -> CudaText:
    """Return a program as a function `name` of CUDA C, of pointers as that of C.

    stored: the stages whose results are kept in memory, one kernel each; all others are
    computed by those that read them. By default they are what fusion leaves. textures:
    whether domains of two dimensions are read through texture units, whose boundary
    conditions are the hardware's.
    """
    return run_deep(lambda: _Writer(graph, name, stored, textures).text())


class _Words(Interface):
    failures = (
        "It returns 0, an error of CUDA (cudaError_t), which is positive, or else a",
        "negative number: -1 for parameters with which the program makes no sense,",
        "-6 for too large arrays, -12 for pointers that are NULL.",
    )


class _Writer:
    def __init__(
        self,
        graph: Graph,
        name: str,
        stored: Collection[Stage] | None,
        textures: bool,
    ) -> None:
        if stored is None:
            groups = fuse(graph).groups
            stored = [one.stored for one in groups if isinstance(one.stored, Stage)]
        self.graph = graph
        self.words = _Words(graph, name)
        self.plan = Plan(graph, stored, self.words.names, textures=textures)
        self.code = DeviceCode(self.plan, self.words)

    def text(self) -> CudaText:
        plan = self.plan
        functions: dict[Source, str] = {}
        kernels: list[tuple[Kernel, str, Fields]] = []
        for kernel in plan.kernels:
            for source in plan.inlined(kernel):
                functions.setdefault(source, self.code.function(source))
            kernels.append((kernel, *self.code.kernel(kernel)))
        parts = [
            f'#include "{self.words.name}.h"\n',
            SUPPORT,
            # What is not used is not warned of, if it is not static.
            f"\n{HELPERS.replace('static inline', 'inline')}",
            *map(self._made, self.words.structs.items()),
            TEXTURES if self.code.textures else "",
            *functions.values(),
            *[text for _, text, _ in kernels],
            self._host([(kernel, fields) for kernel, _, fields in kernels]),
        ]
        return CudaText("".join(parts), self.words.header())

    # The function

    def _host(self, kernels: list[tuple[Kernel, Fields]]) -> str:
        plan = self.plan
        out = [f"  {line}" for line in self.words.checks()]
        out.append("  int forma_status = 0;")
        for domain in plan.domains.values():
            out += self._declared(domain)
        out += [
            f"  cudaTextureObject_t {t.id} = 0;" for t in self.code.textures.values()
        ]
        last = _last_uses(kernels)
        for one, given in zip(self.graph.inputs, self.words.inputs, strict=True):
            source = Source(one)
            if source in plan.domains:
                out += self._copied_in(plan.domains[source], given.name)
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
        for output, given in zip(self.graph.outputs, self.words.outputs, strict=True):
            out += self._copied_out(output, given.name)
        out += ["  FORMA_TRY(cudaStreamSynchronize(0));", "forma_end:"]
        for texture in self.code.textures.values():
            out.append(f"  if ({texture.id}) cudaDestroyTextureObject({texture.id});")
        for domain in plan.domains.values():
            out.append(f"  if (d_{domain.id}) cudaFreeAsync(d_{domain.id}, 0);")
        out.append("  return forma_status;")
        body = "\n".join(out)
        return f'\nextern "C" {self.words.signature()} {{\n{body}\n}}\n'

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
        return [*out, *self._launch(kernel, fields)]

    def _declared(self, domain: Domain) -> list[str]:
        """What is known of a domain: data, bytes, sizes, elements in a row, and from
        one row, plane, … to the next."""
        id, n = domain.id, len(domain.sizes)
        out = [
            f"  {self.words.element(domain.type)} *d_{id} = NULL;",
            f"  size_t b_{id} = 0;",
            f"  long long w_{id} = 0;",
        ]
        for d, size in enumerate(domain.sizes):
            out.append(f"  const int n_{id}_{d} = {self._size(size)};")
        return out + [f"  long long s_{id}_{d} = 0;" for d in range(1, n)]

    def _size(self, size: Size) -> str:
        return f"(int){c_size(size, self.words.longs)}"

    def _launch(self, kernel: Kernel, fields: Fields) -> list[str]:
        """The kernel on the points whose reads are inside, and on what is left."""
        n = len(kernel.sizes)
        x, y = BLOCK if n > 1 else (BLOCK[0] * BLOCK[1], 1)
        given = ", ".join([host for _, host in fields.values.values()])
        sizes = ", ".join(map(self._size, kernel.sizes))
        first = ", ".join([self._size(one.first) for one in kernel.clean])
        stop = ", ".join([self._size(one.stop) for one in kernel.clean])
        lines = _LAUNCH.format(
            id=kernel.id,
            n=n,
            x=x,
            y=y,
            most=2 * n,
            given=given,
            sizes=sizes,
            first=first,
            stop=stop,
        )
        return [f"  {line}" for line in lines.splitlines()]

    def _made(self, one: tuple[Struct, str]) -> str:
        """The function that makes a struct of its fields."""
        struct, word = one
        kinds = [self.words.element(kind) for _, kind in struct.fields]
        given = ", ".join([f"{kind} f{k}" for k, kind in enumerate(kinds)])
        values = ", ".join([f"f{k}" for k in range(len(kinds))])
        return (
            f"FORMA_BOTH struct {word} forma_made_{word}({given}) {{\n"
            f"  const struct {word} made = {{{values}}};\n  return made;\n}}\n"
        )


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


_LAUNCH = """\
{{
  const a_{id} given = {{{given}}};
  const dim3 block({x}, {y});
  const int sizes[] = {{{sizes}}}, zeros[{n}] = {{0}};
  const int first[] = {{{first}}}, stop[] = {{{stop}}};
  const forma_box<{n}> whole = forma_cut<{n}>(zeros, sizes, sizes);
  const forma_box<{n}> clean = forma_cut<{n}>(first, stop, sizes);
  forma_box<{n}> slabs[{most}];
  const int rest = forma_slabs<{n}>(whole, clean, slabs);
  if (!clean.empty()) {{
    FORMA_LAUNCH(k_{id}<true>, forma_grid(clean, block), block, given, clean);
    FORMA_TRY(cudaGetLastError());
  }}
  for (int k = 0; k < rest; ++k) {{
    FORMA_LAUNCH(k_{id}<false>, forma_grid(slabs[k], block), block, given, slabs[k]);
    FORMA_TRY(cudaGetLastError());
  }}
}}"""


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
