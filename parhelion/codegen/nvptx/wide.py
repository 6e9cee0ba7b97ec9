"""Which vectors of callers' images lie at multiples of 16 bytes, if what the host can
check holds.

A GPU loads and stores up to 16 bytes of a thread at once, from addresses that are
multiples of as many. Where an image begins and how far apart its lines are is known
when the pipeline runs: usually all is a multiple of 16 bytes, and the vectors of a
kernel are as well. So such a kernel gets a second version, which the host launches if
addresses, strides and mins are such multiples. The same holds of scalars that a thread
uses side by side, as unrolled loops leave them: where LLVM knows that the first is at a
multiple, it makes one access of them.

Of each place, an index, its residue modulo a power of two is found in terms of what the
host knows: sums and multiples of residues are those of sums and multiples, a product
with a number of the host's is 0 if that number is, which becomes a condition, and two
values of which one is taken have the same residue, or that becomes one. (Residues
modulo a power of two stay right where int32 arithmetic wraps.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from math import gcd

from parhelion.analysis.linear import linear
from parhelion.analysis.modulus import alignment
from parhelion.analysis.rank import reads_data
from parhelion.codegen.memory import as_ramp
from parhelion.codegen.nvptx.module import WIDEST, Kernels, Places
from parhelion.dataclass import dataclass
from parhelion.ir import build
from parhelion.ir import expr as E
from parhelion.ir import stmt as S
from parhelion.ir.expr import Expr, Var
from parhelion.ir.rewrite import free_vars, nodes
from parhelion.ir.symbols import BufferSym
from parhelion.simplify.simplifier import simplify


@dataclass(frozen=True, slots=True)
class Wide:
    """When a kernel's second version can run. conditions: of the host's. buffers: those
    whose addresses on the device are to be multiples of WIDEST. places: what that makes
    of places in them, in bytes."""

    conditions: tuple[Expr, ...]
    buffers: tuple[BufferSym, ...]
    places: Places


#: A number that is to be a multiple of a power of two.
_Condition = tuple[Expr, int]


@dataclass(slots=True)
class _Access:
    """A vector at a place whose residue is known: `rest` of the host's and a constant.
    modulus: in elements, what it would be a multiple of at best. begins: whether a
    whole vector begins here, as one of scalars does at the first of these."""

    buffer: BufferSym
    index: Expr
    modulus: int
    rest: Expr
    constant: int
    conditions: dict[_Condition, None]
    begins: bool = True


@dataclass(slots=True)
class _Residues:
    """lets: what those of the kernel stand for. inside: what the kernel binds."""

    lets: Mapping[Var, Expr]
    inside: frozenset[Var]
    conditions: dict[_Condition, None] = field(default_factory=dict)

    def of(self, e: Expr, m: int) -> Expr | None:
        """What the host knows that is `e` modulo m; None if it is not found."""
        if m == 1:
            return build.imm(0, e.type)
        if self.inside.isdisjoint(free_vars(e)) and not reads_data(e):
            return e
        if isinstance(e, Var) and e in self.lets:
            return self.of(self.lets[e], m)
        if isinstance(e, E.Add | E.Sub):
            a, b = self.of(e.a, m), self.of(e.b, m)
            if a is not None and b is not None:
                return build.add(a, b) if isinstance(e, E.Add) else build.sub(a, b)
        elif isinstance(e, E.Mul):
            made = self.product(e, m)
            if made is not None:
                return made
        elif isinstance(e, E.Min | E.Max | E.Select):
            return self.either(e.a, e.b, m)
        modulus, rest = alignment(e)
        return build.imm(rest % m, e.type) if modulus % m == 0 else None

    def product(self, e: E.Mul, m: int) -> Expr | None:
        for a, b in ((e.a, e.b), (e.b, e.a)):
            factor = build.const_int(b)
            if factor is not None:
                one = self.of(a, m // gcd(factor, m))
                return None if one is None else build.mul(one, b)
        for a, b in ((e.a, e.b), (e.b, e.a)):
            if not self.inside.isdisjoint(free_vars(b)) or reads_data(b):
                continue
            modulus, rest = alignment(a)
            if modulus % m == 0:
                return build.mul(build.imm(rest % m, e.type), b)
            self.conditions[b, m] = None
            return build.imm(0, e.type)
        return None

    def either(self, a: Expr, b: Expr, m: int) -> Expr | None:
        one, two = self.of(a, m), self.of(b, m)
        if one is None or two is None:
            return None
        self.conditions[build.sub(one, two), m] = None
        return one


def wide_places(kernels: Kernels, kernel: S.For) -> Wide | None:
    """What a second version of a kernel could rely on; None if nothing is gained."""
    lets, inside, own = _bound(kernel)
    found: list[_Access] = []
    scalars: list[E.Load | S.Store] = []
    for n in nodes(kernel):
        if not isinstance(n, E.Load | S.Store) or n.buffer in own:
            continue
        if n.index.type.count == 1:
            scalars.append(n)
            continue
        made = _access(n, _Residues(lets, inside))
        if made is not None:
            found.append(made)
    for n, begins in _side_by_side(scalars):
        made = _scalar(n, begins, _Residues(lets, inside))
        if made is not None:
            found.append(made)
    chosen = _residues(found)
    places: dict[tuple[BufferSym, Expr], int] = {}
    conditions: dict[_Condition, None] = {}
    buffers: dict[BufferSym, None] = {}
    for a in found:
        size = a.buffer.type.bytes()
        apart = a.constant - chosen[a.rest]
        bytes_of_place = size * gcd(a.modulus, apart)
        if bytes_of_place <= kernels.alignment(a.buffer, a.index, 0):
            continue
        key = (a.buffer, a.index)
        places[key] = max(places.get(key, 0), bytes_of_place)
        conditions |= a.conditions
        if build.const_int(a.rest) is None:
            rest = build.add(a.rest, build.imm(chosen[a.rest], a.rest.type))
            conditions[simplify(rest), a.modulus] = None
        if kernels.base_alignment(a.buffer) < WIDEST:
            buffers[a.buffer] = None
    if not places:
        return None
    return Wide(_conditions(conditions), tuple(buffers), places)


def _bound(kernel: S.For) -> tuple[dict[Var, Expr], frozenset[Var], set[BufferSym]]:
    """The lets of a kernel that have one value, all that it binds, and its storage."""
    lets: dict[Var, Expr] = {}
    twice: set[Var] = set()
    inside: set[Var] = set()
    own: set[BufferSym] = set()
    for n in nodes(kernel):
        if isinstance(n, S.LetStmt):
            if n.var in inside:
                twice.add(n.var)
            lets[n.var] = n.value
        if isinstance(n, S.LetStmt | S.For | E.Let):
            inside.add(n.var)
        if isinstance(n, S.Allocate):
            own.add(n.buffer)
    single = {v: e for v, e in lets.items() if v not in twice}
    return single, frozenset(inside), own


def _side_by_side(
    scalars: Sequence[E.Load | S.Store],
) -> Iterator[tuple[E.Load | S.Store, bool]]:
    """The scalars that are in a run of as many beside each other as the widest access
    takes, and whether a run begins with them."""
    runs: dict[object, dict[int, E.Load | S.Store]] = {}
    for n in scalars:
        if _is_masked(n):
            continue
        form = linear(n.index)
        terms = frozenset(form.terms.items())
        runs.setdefault((type(n), n.buffer, terms), {})[form.const] = n
    for places in runs.values():
        count = WIDEST // next(iter(places.values())).buffer.type.bytes()
        if count < 2:
            continue
        first = [c for c in places if all([c + k in places for k in range(count)])]
        inside = {c + k for c in first for k in range(count)}
        for c in sorted(inside):
            yield places[c], c in first


def _is_masked(n: E.Load | S.Store) -> bool:
    return not (n.predicate is None or build.is_true(n.predicate))


def _access(n: E.Load | S.Store, known: _Residues) -> _Access | None:
    """A dense vector whose place is known to be a multiple of less than it has bytes,
    and in terms of the host's."""
    lanes = n.index.type.count
    if _is_masked(n):
        return None
    ramp = as_ramp(n.index)
    if ramp is None or build.const_int(ramp[1]) != 1:
        return None
    base, size = ramp[0], n.buffer.type.bytes()
    total = lanes * size
    modulus = min(total & -total, WIDEST) // size
    if modulus < 2:
        return None
    return _at(n.buffer, base, modulus, known)


def _scalar(n: E.Load | S.Store, begins: bool, known: _Residues) -> _Access | None:
    """The same of a scalar in a run."""
    modulus = WIDEST // n.buffer.type.bytes()
    made = _at(n.buffer, n.index, modulus, known)
    return None if made is None else replace(made, begins=begins)


def _at(
    buffer: BufferSym, base: Expr, modulus: int, known: _Residues
) -> _Access | None:
    residue = known.of(base, modulus)
    if residue is None:
        return None
    form = linear(simplify(residue))
    rest = simplify(build.sub(residue, build.imm(form.const, residue.type)))
    for e, m in known.conditions:
        value = build.const_int(simplify(e))
        if value is not None and value % m:
            return None
    return _Access(buffer, base, modulus, rest, form.const, known.conditions)


def _residues(found: Sequence[_Access]) -> dict[Expr, int]:
    """The constant that goes with what the host knows in most places, so that as many
    as possible are multiples."""
    counts: dict[Expr, Counter[int]] = {}
    most: dict[Expr, int] = {}
    for a in found:
        most[a.rest] = max(most.get(a.rest, 1), a.modulus)
    for a in found:
        constant = 0 if build.const_int(a.rest) is not None else a.constant
        counts.setdefault(a.rest, Counter())[constant % most[a.rest]] += a.begins
    return {rest: min(c, key=lambda k: (-c[k], k)) for rest, c in counts.items()}


def _conditions(found: Mapping[_Condition, None]) -> tuple[Expr, ...]:
    """What the host is to check, the strictest of those of one number."""
    most: dict[Expr, int] = {}
    for e, m in found:
        e = simplify(e)
        if build.const_int(e) is None:
            most[e] = max(most.get(e, 1), m)
    return tuple(
        [
            build.eq(build.mod(e, build.imm(m, e.type)), build.imm(0, e.type))
            for e, m in most.items()
        ]
    )


__all__ = ["Wide", "wide_places"]
