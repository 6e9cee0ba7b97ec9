"""The device code of a program: functions that are inlined, and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import InternalError
from parhelion.forma.c_interface import Interface
from parhelion.forma.c_sizes import c_size
from parhelion.forma.cuda.c_text import (
    TermWriter,
    number_text,
)
from parhelion.forma.cuda.plan import Domain, Kernel, Plan
from parhelion.forma.sizes import Size
from parhelion.forma.stages import (
    Apply,
    Boundary,
    BoundaryKind,
    Compose,
    Crop,
    Place,
    Source,
)
from parhelion.forma.terms import Access, Read, Term
from parhelion.forma.types import Scalar
from parhelion.ir import expr as I
from parhelion.ir.expr import Var

#: What textures do beyond the edge, by the name of CUDA's address mode.
MODES = {
    BoundaryKind.NONE: "Clamp",
    BoundaryKind.CLAMPED: "Clamp",
    BoundaryKind.CONSTANT: "Border",
    BoundaryKind.WRAP: "Wrap",
    BoundaryKind.MIRROR: "Mirror",
}


@dataclass(frozen=True, slots=True)
class Texture:
    """A texture that kernels read a domain through. border: the text of what is read
    outside, in the host's code."""

    id: str
    domain: Domain
    mode: str
    border: str


@dataclass(slots=True)
class Fields:
    """What device code takes from the host: in its arguments, by their names their
    types and the host's texts; the textures among them, and the domains."""

    longs: Mapping[Var, str]
    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    textures: dict[str, Texture] = field(default_factory=dict)
    domains: dict[Domain, None] = field(default_factory=dict)

    def update(self, other: Fields) -> None:
        self.values.update(other.values)
        self.textures.update(other.textures)
        self.domains.update(other.domains)

    def use(self, name: str, kind: str, host: str) -> str:
        self.values[name] = kind, host
        return f"a.{name}"

    def size(self, size: Size, name: str) -> str:
        """The text of a size in device code: a number, or an argument."""
        if isinstance(size, I.Imm):
            return number_text(int(size.value), Scalar.INT)
        return self.use(name, "int", f"(int){c_size(size, self.longs)}")


class DeviceCode:
    """Writes the device code of a plan."""

    def __init__(self, plan: Plan, words: Interface) -> None:
        self.plan = plan
        self.words = words
        self.numbers = {one.name: (word, one.type) for word, one in words.numbers}
        self.textures: dict[tuple[Domain, str, str], Texture] = {}
        self._fields: dict[Source, Fields] = {}
        self._texts: dict[Source, str] = {}

    def function(self, source: Source) -> str:
        """The function that computes a point of a domain which is not stored."""
        self._fields_of(source)
        return self._texts[source]

    def kernel(self, kernel: Kernel) -> tuple[str, Fields]:
        """A kernel, and all that its arguments hold."""
        fields = Fields(self.words.longs)
        for source in self.plan.inlined(kernel):
            fields.update(self._fields_of(source))
        point = _Point(self, fields, len(kernel.sizes))
        point.fill(kernel)
        return _KERNEL.format(
            id=kernel.id,
            dimensions=len(kernel.sizes),
            arguments="".join([f"  {t} {n};\n" for n, (t, _) in fields.values.items()]),
            coordinates=_coordinates(len(kernel.sizes)),
            body="".join([f"      {line}\n" for line in point.lines]),
        ), fields

    def texture(self, domain: Domain, mode: str, value: Term | None) -> Texture:
        """The texture by which a domain is read; value: of what is outside."""
        border = "0.0f"
        if value is not None:
            border = TermWriter(self.words, _reads_nothing, self._number).value(value)
        key = domain, mode, border
        found = self.textures.get(key)
        if found is None:
            name = self.words.names.name(f"t{len(self.textures)}_{domain.id}")
            found = self.textures[key] = Texture(name, *key)
        return found

    def _number(self, name: str) -> str:
        """What a parameter is called in the host's code."""
        return self.numbers[name][0]

    def _fields_of(self, source: Source) -> Fields:
        found = self._fields.get(source)
        if found is None:
            found = self._fields[source] = Fields(self.words.longs)
            point = _Point(self, found, source.dimensions)
            point.result(source)
            given = ", ".join([f"int i{d}" for d in range(source.dimensions)])
            self._texts[source] = _FUNCTION.format(
                id=self.plan.id_of(source),
                type=self.words.element(source.type),
                given=given,
                body="".join([f"  {line}\n" for line in point.lines]),
            )
        return found


def _reads_nothing(e: Read) -> str:
    raise InternalError("internal error: a constant that reads a domain")


_FUNCTION = """
template <bool clean, class Arguments>
static __device__ __forceinline__ {type} f_{id}(const Arguments &a, {given}) {{
{body}}}
"""

_KERNEL = """
struct a_{id} {{
{arguments}}};

template <bool clean>
static __global__ void k_{id}(const a_{id} a, const forma_box<{dimensions}> box) {{
{coordinates}{body}    }}
}}
"""


def _coordinates(dimensions: int) -> str:
    """From threads to the points i0, i1, …"""
    lines = [
        "  const int x = blockIdx.x * blockDim.x + threadIdx.x;",
        "  if (x >= box.count[0]) return;",
    ]
    rest = " * ".join(["1LL", *[f"box.count[{d}]" for d in range(2, dimensions)]])
    high = "box.count[1]" if dimensions > 1 else "1"
    lines += [
        f"  for (long long z = blockIdx.z; z < {rest}; z += gridDim.z)",
        "    for (int y = blockIdx.y * blockDim.y + threadIdx.y; "
        f"y < {high}; y += gridDim.y * blockDim.y) {{",
        "      const int i0 = box.first[0] + x;",
    ]
    if dimensions > 1:
        lines.append("      const int i1 = box.first[1] + y;")
    left = "z"
    for d in range(2, dimensions):
        place = left if d == dimensions - 1 else f"{left} % box.count[{d}]"
        lines.append(f"      const int i{d} = box.first[{d}] + (int)({place});")
        left = f"({left} / box.count[{d}])"
    return "\n".join([*lines, ""])


class _Point:
    """Writes what is computed at one point (i0, i1, …)."""

    def __init__(self, code: DeviceCode, fields: Fields, dimensions: int) -> None:
        self.code, self.plan, self.words = code, code.plan, code.words
        self.fields = fields
        self.at = [f"i{d}" for d in range(dimensions)]
        self.lines: list[str] = []

    def result(self, source: Source) -> None:
        """Returns a result of a stage that is not stored."""
        stage = source.stage
        if isinstance(stage, Apply):
            self._outside(stage, f"return {self._zero(source)};")
            writer = self._evaluated(stage)
            value = writer.value(stage.body.results[source.result])
            self.lines += [*writer.lines, f"return {value};"]
        elif isinstance(stage, Crop):
            self.lines.append(f"return {self._cropped(stage)};")
        else:
            assert isinstance(stage, Compose)
            self._composed(stage, source)

    def fill(self, kernel: Kernel) -> None:
        """Stores what a kernel computes."""
        stage, part = kernel.stage, kernel.part
        if part is not None:
            (domain,) = kernel.domains
            value = self._domain(part.source, self.at)
            thick = [*self.at, *["0"] * (len(part.place) - len(self.at))]
            places = zip(thick, part.place, strict=True)
            id = f"{kernel.id}_at"
            at = [self._placed(p, i, f"{id}_{d}") for d, (i, p) in enumerate(places)]
            self.lines.append(f"{self._element(domain, at)} = {value};")
        elif isinstance(stage, Crop):
            (domain,) = kernel.domains
            target = self._element(domain, self.at)
            self.lines.append(f"{target} = {self._cropped(stage)};")
        else:
            assert isinstance(stage, Apply)
            targets = [self._element(one, self.at) for one in kernel.domains]
            zeros = [
                f"{t} = {self._zero(one.source)};"
                for t, one in zip(targets, kernel.domains, strict=True)
            ]
            self._outside(stage, f"{{ {' '.join(zeros)} continue; }}")
            writer = self._evaluated(stage)
            values = [writer.value(one) for one in stage.body.results]
            self.lines += writer.lines
            self.lines += [f"{t} = {v};" for t, v in zip(targets, values, strict=True)]

    # Stencils

    def _outside(self, stage: Apply, otherwise: str) -> None:
        """Leaves where the stencil is not applied."""
        id = self.plan.ids[stage]
        tests = []
        sides = zip(self.at, stage.interior, stage.sizes, strict=True)
        for d, (i, inside, size) in enumerate(sides):
            if not _is_number(inside.first, 0):
                tests.append(f"{i} < {self.fields.size(inside.first, f'lo_{id}_{d}')}")
            if inside.stop is not size:
                tests.append(f"{i} >= {self.fields.size(inside.stop, f'hi_{id}_{d}')}")
        if tests:
            self.lines.append(f"if (!clean && ({' || '.join(tests)})) {otherwise}")

    def _evaluated(self, stage: Apply) -> TermWriter:
        writer = self._terms(stage)
        for one in stage.body.assignments:
            writer.assign(one)
        return writer

    def _terms(self, stage: Apply | None) -> TermWriter:
        def read(e: Read) -> str:
            assert stage is not None  # numbers of the program read nothing
            return self._read(stage, e)

        def parameter(name: str) -> str:
            word, kind = self.code.numbers[name]
            return self.fields.use(f"p_{word}", self.words.element(kind), word)

        return TermWriter(self.words, read, parameter)

    def _read(self, stage: Apply, e: Read) -> str:
        source, boundary = stage.arguments[e.source], stage.boundaries[e.source]
        at = [_accessed(i, a) for i, a in zip(self.at, e.at, strict=True)]
        if boundary.kind is BoundaryKind.NONE:
            return self._domain(source, at)
        if self.plan.by_hardware(stage, e.source):
            return self._texture(source, at, boundary)
        tests = [
            (d, self._size(source, d))
            for d, (a, size) in enumerate(zip(e.at, source.sizes, strict=True))
            if a != Access(0) or stage.sizes[d] is not size
        ]
        if not tests:
            return self._domain(source, at)
        if boundary.kind is BoundaryKind.CONSTANT:
            assert boundary.value is not None
            inside = [f"forma_inside({at[d]}, {n})" for d, n in tests]
            value = self._terms(None).value(boundary.value)
            there = self._domain(source, at)
            return f"(clean || ({' && '.join(inside)}) ? {there} : {value})"
        function = {
            BoundaryKind.CLAMPED: "forma_clamped",
            BoundaryKind.WRAP: "forma_wrapped",
            BoundaryKind.MIRROR: "forma_mirrored",
        }[boundary.kind]
        for d, n in tests:
            at[d] = f"(clean ? {at[d]} : {function}({at[d]}, {n}))"
        return self._domain(source, at)

    # Domains

    def _domain(self, source: Source, at: list[str]) -> str:
        """The text of a point of a domain, which is inside of it."""
        if self.plan.has_texture(source):
            return self._texture(source, at, Boundary())
        stored = self.plan.domains.get(source)
        if stored is not None:
            return self._element(stored, at)
        return f"f_{self.plan.id_of(source)}<clean>(a, {', '.join(at)})"

    def _element(self, domain: Domain, at: list[str]) -> str:
        """A place in memory."""
        kind = self.words.element(domain.type)
        self.fields.domains[domain] = None
        data = self.fields.use(f"d_{domain.id}", f"{kind} *", f"d_{domain.id}")
        index = [f"(long long){at[0]}"]
        for d in range(1, len(at)):
            name = f"s_{domain.id}_{d}"
            step = self.fields.use(name, "long long", name)
            index.append(f"{at[d]} * {step}")
        return f"{data}[{' + '.join(index)}]"

    def _texture(self, source: Source, at: list[str], boundary: Boundary) -> str:
        mode = MODES[boundary.kind]
        texture = self.code.texture(self.plan.domains[source], mode, boundary.value)
        self.fields.textures[texture.id] = texture
        self.fields.domains[texture.domain] = None
        name = self.fields.use(texture.id, "cudaTextureObject_t", texture.id)
        places = [f"({i} + 0.5f)" for i in at]
        if mode in ("Wrap", "Mirror"):
            sizes = [self._size(source, d) for d in range(2)]
            places = [f"{p} / {n}" for p, n in zip(places, sizes, strict=True)]
        return f"tex2D<{self.words.element(source.type)}>({name}, {', '.join(places)})"

    def _size(self, source: Source, d: int) -> str:
        return self.fields.size(source.sizes[d], f"n_{self.plan.id_of(source)}_{d}")

    def _cropped(self, stage: Crop) -> str:
        id = self.plan.ids[stage]
        at = [
            _sum(i, self.fields.size(first, f"first_{id}_{d}"))
            for d, (i, first) in enumerate(zip(self.at, stage.first, strict=True))
        ]
        return self._domain(stage.source, at)

    def _composed(self, stage: Compose, source: Source) -> None:
        id = self.plan.ids[stage]
        for k, part in enumerate(stage.parts):
            tests, at = [], []
            sizes = [
                *part.source.sizes,
                *[None] * (len(part.place) - part.source.dimensions),
            ]
            for d, (i, place, size) in enumerate(
                zip(self.at, part.place, sizes, strict=True)
            ):
                offset = self.fields.size(place.offset, f"at_{id}_{k}_{d}")
                moved = i if offset == "0" else f"({i} - {offset})"
                count = "1" if size is None else self._size(part.source, d)
                tests.append(f"{moved} >= 0")
                if place.scale != 1:
                    tests.append(f"{moved} % {place.scale} == 0")
                    moved = f"({moved} / {place.scale})"
                tests.append(f"{moved} < {count}")
                if size is not None:
                    at.append(moved)
            value = self._domain(part.source, at)
            self.lines.append(f"if ({' && '.join(tests)}) return {value};")
        self.lines.append(f"return {self._zero(source)};")

    def _zero(self, source: Source) -> str:
        kind = source.type
        if isinstance(kind, Scalar):
            return f"({self.words.element(kind)})0"
        zeros = ", ".join(["0"] * len(kind.fields))
        return f"forma_made_{self.words.structs[kind]}({zeros})"

    def _placed(self, place: Place, i: str, name: str) -> str:
        scaled = i if place.scale == 1 else f"{i} * {place.scale}"
        return _sum(scaled, self.fields.size(place.offset, name))


def _accessed(i: str, a: Access) -> str:
    scaled = i if a.scale == 1 else f"{i} * {a.scale}"
    return _sum(scaled, number_text(a.offset, Scalar.INT))


def _sum(a: str, b: str) -> str:
    if b == "0":
        return a if " " not in a else f"({a})"
    if b.startswith("(-") and b.endswith(")"):
        return f"({a} - {b[2:-1]})"
    return f"({a} + {b})"


def _is_number(size: Size, value: int) -> bool:
    return isinstance(size, I.Imm) and size.value == value


__all__ = ["DeviceCode", "Fields", "Texture"]
