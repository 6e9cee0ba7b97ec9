"""The kinds of Func that random pipelines are made of.

A kind builds a Func from a `Stage` and the Funcs it reads. Values stay where every
schedule must give the same bits: floats are never NaN, float to integer saturates, and
32- and 64-bit signed integers are kept small, because arithmetic that may be an index
is assumed not to overflow. Some stages of floats are `strict_float`, and some have
functions and quotients by coordinates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import parhelion as hl
from tests.fuzz.case import Choices, Stage
from tests.fuzz.foreign import MovedSum

Expr = hl.Expr
Coordinate = hl.Expr | hl.Var | hl.RVar | int

TYPES: dict[str, hl.Type] = {
    "u8": hl.UInt(8),
    "i8": hl.Int(8),
    "u16": hl.UInt(16),
    "i16": hl.Int(16),
    "u32": hl.UInt(32),
    "i32": hl.Int(32),
    "u64": hl.UInt(64),
    "i64": hl.Int(64),
    "f32": hl.Float(32),
    "f64": hl.Float(64),
    "f16": hl.Float(16),
    "bf16": hl.BFloat(16),
    "bool": hl.Bool(),
}

#: What `required` stages require: 1 lets them pass, 0 breaks all of them.
LAWFUL = hl.Param(hl.Int(32), "lawful", 1)

#: Signed integers that an index may be made of stay below this.
_SMALL = 1 << 14
_FLOATS = 1 << 10


@dataclass
class Built:
    """A Func, or a boundary-conditioned input, that later stages read."""

    func: hl.Func
    dims: int
    type: hl.Type
    values: int = 1
    wrappers: dict[str, hl.Var | hl.RVar] = field(default_factory=dict)
    stage: bool = True


def convert(e: Expr, to: hl.Type) -> Expr:
    """`e` as `to`, by a conversion that is defined for every value."""
    of = e.type()
    if of.is_float() and to.is_int_or_uint():
        return hl.saturating_cast(to, e)
    return hl.cast(to, e)


def settle(e: Expr, t: hl.Type, strict: bool = False) -> Expr:
    """`e` as a value of type `t` within the bounds that the module promises."""
    if e.type().is_float() and not t.is_float():
        e = hl.saturating_cast(hl.Int(32), e)
    e = hl.cast(t, e)
    if t.is_float():
        e = hl.clamp(e, hl.cast(t, -float(_FLOATS)), hl.cast(t, float(_FLOATS)))
        return hl.strict_float(e) if strict else e
    if t.is_int() and t.bits() >= 32:
        return e % hl.cast(t, _SMALL)
    return e


def read(source: Built, at: Sequence[Coordinate], choices: Choices) -> Expr:
    """A value of `source`: coordinates that it lacks are dropped, those that it has
    more are small constants."""
    index: list[Coordinate] = list(at[: source.dims])
    while len(index) < source.dims:
        index.append(choices.between(0, 2))
    value = source.func[tuple(index)] if index else source.func[()]
    if source.values > 1:
        return value[choices.upto(source.values - 1)]
    return hl.Expr(value)


class Maker:
    """What a kind of stage has at hand while it builds its Func."""

    def __init__(self, name: str, stage: Stage, sources: Sequence[Built]) -> None:
        self.stage = stage
        self.sources = sources
        self.choices = Choices(stage.numbers)
        self.type = TYPES[stage.type]
        self.func = hl.Func(name)
        self.vars = [hl.Var(n) for n in "xyc"[: stage.dims]]
        self.values = 1
        kind = sum(stage.numbers) % 3
        #: Whether floats are rounded one by one, and whether there are more ways.
        self.strict, self.wild = kind == 0, kind == 1

    def source(self, at: Sequence[Coordinate], which: int = 0) -> Expr:
        return read(self.sources[which % len(self.sources)], at, self.choices)

    def here(self, which: int = 0) -> Expr:
        """The source at the point itself, as the stage's type."""
        return convert(self.source(self.vars, which), self.type)

    def moved(self, dim: int, by: Coordinate) -> list[Coordinate]:
        """The point itself, moved along one dimension."""
        at: list[Coordinate] = list(self.vars)
        at[dim] = at[dim] + by
        return at

    def dim(self) -> int:
        return self.choices.upto(self.stage.dims - 1)

    def pure(self, *values: Expr) -> None:
        settled = [self.settled(v) for v in values]
        self.func[tuple(self.vars)] = (
            settled[0] if len(settled) == 1 else tuple(settled)
        )
        self.values = len(settled)

    def settled(self, e: Expr) -> Expr:
        return settle(e, self.type, self.strict)


def _wide(t: hl.Type) -> hl.Type:
    """A type in which a few numbers of `t` can be summed."""
    if t.is_float():
        return t
    if t.bits() >= 32:
        return t
    return hl.Int(32)


def combine(m: Maker, a: Expr, b: Expr) -> Expr:
    """Two values of the stage's type, put together in one of many ways."""
    t = m.type
    if t.is_bool():
        ways: list[Callable[[], Expr]] = [
            lambda: a & b,
            lambda: a | b,
            lambda: a != b,
            lambda: hl.select(a, ~b, b),
        ]
    elif t.is_float():
        ways = [
            lambda: a + b,
            lambda: a - b,
            lambda: a * hl.cast(t, 0.3) + b,
            lambda: hl.min(a, b),
            lambda: hl.max(a, b * hl.cast(t, 0.5)),
            lambda: hl.abs(a - b),
            lambda: hl.select(a < b, a + hl.cast(t, 1), b),
            lambda: hl.floor(a * hl.cast(t, 0.25)) - b,
            lambda: hl.sqrt(hl.abs(a)) + b / hl.cast(t, 7),
        ]
        if m.wild:
            # What is rounded once or not, by constants that unrolling makes too.
            v = m.vars[m.dim()]
            k = hl.cast(t, 5 if m.func.defined() else v % 7 + 3)
            ways = [
                lambda: a / k + b,
                lambda: a * k - b * a,
                lambda: b - a * k / hl.cast(t, 3),
                lambda: hl.select(a * b + k < b, a * b + k, b / k),
                lambda: hl.sin(a) * b + hl.exp(hl.min(b, k)),
                lambda: hl.strict_float(a * b + k) * k + a,
                lambda: hl.fast_exp(hl.f32(hl.min(a, k))) * hl.f32(k) + hl.atan(b),
                lambda: (a * k + b) * (a * b + a * k) - b * b,
                lambda: hl.abs(a * b - a * b) + a % k,
                lambda: hl.pow(hl.abs(a) + k, k) + hl.log(hl.abs(b) + k),
                *ways,
            ]
    else:
        n = m.choices.between(1, min(t.bits() - 1, 7))
        k = hl.cast(t, n)
        ways = [
            lambda: a + b,
            lambda: a - b,
            lambda: a * b,
            lambda: hl.min(a, b),
            lambda: hl.max(a, b),
            lambda: hl.cast(t, hl.absd(a, b)),
            lambda: hl.select(a < b, a + hl.cast(t, 1), b),
            lambda: a / k + b,
            lambda: a % k - b,
            lambda: a / b,
            lambda: (a % b) ^ a,
            lambda: (a >> k) | (b & hl.cast(t, 15)),
            lambda: (a << k) + b,
            lambda: hl.select((a > b) & (b != k), a ^ b, ~a),
            lambda: hl.clamp(a, k, hl.cast(t, n + 40)) + b,
        ]
    # Functions of a BFloat16 are float32.
    return hl.cast(t, ways[m.choices.upto(len(ways) - 1)]())


# The kinds.


def coordinates(m: Maker) -> None:
    """Of the coordinates alone."""
    e: Expr = hl.Expr(m.choices.between(0, 9))
    for v in m.vars:
        e = e * m.choices.between(1, 5) + v
    m.pure(e % 251)


def pointwise(m: Maker) -> None:
    m.pure(combine(m, m.here(0), m.here(1)))


def stencil(m: Maker) -> None:
    """A weighted sum of neighbours along one dimension, or across two."""
    wide = _wide(m.type)
    dim, taps = m.dim(), m.choices.between(1, 4)
    total: Expr | None = None
    for _ in range(taps + 1):
        at = m.moved(dim, m.choices.between(-3, 3))
        if m.stage.dims > 1 and m.choices.chance():
            other = (dim + 1) % m.stage.dims
            at[other] = at[other] + m.choices.between(-2, 2)
        value = convert(m.source(at), wide) * hl.cast(wide, m.choices.between(1, 4))
        total = value if total is None else total + value
    assert total is not None
    if m.choices.chance():
        total = total / hl.cast(wide, m.choices.between(1, 6))
    m.pure(total)


def downsample(m: Maker) -> None:
    dim = m.dim()
    factor = m.choices.between(2, 3)
    at = list[Coordinate](m.vars)
    at[dim] = m.vars[dim] * factor + m.choices.between(-1, 1)
    more = list(at)
    more[dim] = more[dim] + 1
    value = combine(m, convert(m.source(at), m.type), convert(m.source(more), m.type))
    if m.stage.dims > 1 and m.choices.chance():
        # Beside what is the same along another dimension, as alpha is for all channels.
        at[(dim + 1) % m.stage.dims] = m.choices.between(0, 3)
        value = combine(m, convert(m.source(at), m.type), value)
    m.pure(value)


def upsample(m: Maker) -> None:
    dim = m.dim()
    factor = m.choices.between(2, 3)
    at = list[Coordinate](m.vars)
    at[dim] = m.vars[dim] / factor
    more = list(at)
    more[dim] = (m.vars[dim] + m.choices.between(1, 2)) / factor
    m.pure(combine(m, convert(m.source(at), m.type), convert(m.source(more), m.type)))


def transpose(m: Maker) -> None:
    at = list[Coordinate](reversed(m.vars))
    m.pure(combine(m, convert(m.source(at), m.type), m.here(1)))


def mirror(m: Maker) -> None:
    """Read backwards."""
    dim = m.dim()
    at = list[Coordinate](m.vars)
    at[dim] = m.choices.between(0, 20) - m.vars[dim]
    m.pure(combine(m, convert(m.source(at), m.type), m.here(1)))


def lookup(m: Maker) -> None:
    """One source, at a place that the other decides."""
    dim = m.dim()
    at = list[Coordinate](m.vars)
    place = convert(m.source(m.vars, 1), hl.Int(32))
    at[dim] = hl.clamp(place, m.choices.between(-2, 2), m.choices.between(3, 30))
    m.pure(convert(m.source(at), m.type))


def choose(m: Maker) -> None:
    """One source or the other, by the coordinates."""
    v = m.vars[m.dim()]
    k = m.choices.between(1, 12)
    conditions = [v % 2 == 0, v < k, v > k, (v < k) | (m.vars[0] > k), v == k]
    cond = conditions[m.choices.upto(len(conditions) - 1)]
    m.pure(hl.select(cond, m.here(0), m.here(1)))


def guarded(m: Maker) -> None:
    """A neighbour, where the coordinate is inside a range."""
    dim = m.dim()
    v, last = m.vars[dim], m.choices.between(1, 20)
    near = convert(m.source(m.moved(dim, m.choices.between(-2, 2))), m.type)
    inside = (v >= m.choices.between(0, 3)) & (v <= last)
    m.pure(hl.select(hl.likely(inside), near, hl.cast(m.type, m.choices.upto(99))))


def channels(m: Maker) -> None:
    """Other values for other channels."""
    last = m.vars[-1]
    a, b = m.here(0), m.here(1)
    m.pure(hl.mux(last, [a, b, combine(m, a, b)]))


def pair(m: Maker) -> None:
    a, b = m.here(0), m.here(1)
    m.pure(a, combine(m, a, b))


def _domain(m: Maker, dims: int, least: int = 0) -> hl.RDom:
    ranges = []
    for _ in range(dims):
        low = m.choices.between(-2, 2)
        ranges.append((low, m.choices.between(max(1, least), 6)))
    return hl.RDom(ranges)


def _window(m: Maker, r: hl.RDom) -> list[Coordinate]:
    """The point itself, moved by the RDom's variables."""
    at = list[Coordinate](m.vars)
    for k in range(len(r)):
        dim = k % len(at)
        at[dim] = at[dim] + r[k]
    return at


def _where(m: Maker, r: hl.RDom) -> None:
    kind = m.choices.upto(3)
    if kind == 1:
        r.where(r[0] <= m.choices.between(0, 3))
    elif kind == 2 and len(r) > 1:
        r.where(r[0] + r[1] < m.choices.between(0, 4))
    elif kind == 3:
        r.where((r[0] % 2 == 0) | (r[0] == m.vars[0] % 3))


def inline_sum(m: Maker) -> None:
    r = _domain(m, m.choices.between(1, 2))
    if m.choices.chance():
        r.where(r[0] <= m.choices.between(0, 3))
    value = convert(m.source(_window(m, r)), _wide(m.type))
    fold = [hl.sum, hl.maximum, hl.minimum][m.choices.upto(2)]
    if value.type().is_float() and m.strict:
        value = hl.strict_float(value)
    m.pure(fold(value))


def inline_argmin(m: Maker) -> None:
    r = _domain(m, 1)
    value = convert(m.source(_window(m, r)), m.type)
    found = (hl.argmin if m.choices.chance() else hl.argmax)(value)
    m.pure(found[0], found[1]) if m.choices.chance() else m.pure(found[1])


def accumulate(m: Maker) -> None:
    """A sum, maximum or recurrence over a window, as an update."""
    r = _domain(m, m.choices.between(1, 2))
    _where(m, r)
    m.pure(m.here(1))
    value = convert(m.source(_window(m, r)), m.type)
    f = m.func
    at = tuple(m.vars)
    kind = m.choices.upto(3)
    if kind == 0:
        f[at] = m.settled(f[at] + value)
    elif kind == 1:
        f[at] = m.settled(hl.max(f[at], value))
    elif kind == 2:
        f[at] = m.settled(hl.min(f[at], value))
    else:
        f[at] = m.settled(f[at] - value * hl.cast(m.type, 3))


def scan(m: Maker) -> None:
    """Each value from the one before it along a dimension."""
    dim = m.dim()
    r = hl.RDom([(m.choices.between(1, 3), m.choices.between(3, 24))])
    m.pure(m.here(0))
    at, before = list[Coordinate](m.vars), list[Coordinate](m.vars)
    at[dim] = r[0]
    before[dim] = r[0] - m.choices.between(1, 3)
    f = m.func
    f[tuple(at)] = m.settled(
        combine(m, hl.Expr(f[tuple(before)]), hl.Expr(f[tuple(at)]))
    )


def histogram(m: Maker) -> None:
    """Counts of the source's values, by row where the stage has two dimensions."""
    bins = m.choices.between(4, 30)
    r = hl.RDom([(m.choices.between(-2, 2), m.choices.between(4, 20))] * 2)
    at: list[Coordinate] = [r[0], r[1]]
    if m.stage.dims > 1:
        at[1] = m.vars[1]
    m.func[tuple(m.vars)] = hl.cast(m.type, 0)
    place = hl.clamp(convert(m.source(at), hl.Int(32)), 0, bins)
    index = [place, *m.vars[1:]]
    if m.stage.dims == 1 and m.choices.chance():
        r.where(r[0] < r[1])
    one = hl.cast(m.type, m.choices.between(1, 3))
    f = m.func
    f[tuple(index)] = m.settled(f[tuple(index)] + one)


def scatter(m: Maker) -> None:
    """Writes where the last to come counts."""
    r = hl.RDom([(m.choices.between(-2, 2), m.choices.between(4, 20))])
    m.pure(m.here(1))
    at = list[Coordinate](m.vars)
    at[0] = r[0]
    place = hl.clamp(convert(m.source(at), hl.Int(32)), -1, m.choices.between(3, 25))
    m.func[(place, *m.vars[1:])] = m.settled(convert(r[0] * 3, m.type))


def updates(m: Maker) -> None:
    """Several updates: a row, a column, a point, and the whole once more."""
    m.pure(m.here(0))
    f, dims = m.func, m.stage.dims
    for _ in range(m.choices.between(1, 3)):
        dim = m.dim()
        kind = m.choices.upto(3)
        at = list[Coordinate](m.vars)
        if kind == 0:
            at[dim] = hl.Expr(m.choices.between(-1, 12))
            new = convert(m.source(at, 1), m.type)
            f[tuple(at)] = m.settled(combine(m, hl.Expr(f[tuple(at)]), new))
        elif kind == 1:
            r = hl.RDom([(m.choices.between(-1, 4), m.choices.between(1, 9))])
            at[dim] = r[0]
            f[tuple(at)] = m.settled(hl.Expr(f[tuple(at)]) + hl.cast(m.type, 1))
        elif kind == 2:
            f[tuple(at)] = m.settled(combine(m, hl.Expr(f[tuple(at)]), m.here(1)))
        else:
            point = [hl.Expr(m.choices.between(-1, 9)) for _ in range(dims)]
            f[tuple(point)] = hl.cast(m.type, m.choices.upto(100))


def tuple_update(m: Maker) -> None:
    """A running minimum and where it is."""
    r = _domain(m, 1)
    f, at = m.func, tuple(m.vars)
    m.pure(m.here(0), hl.cast(m.type, 0) if not m.type.is_bool() else m.here(1))
    value = convert(m.source(_window(m, r), 1), m.type)
    old = f[at]
    better = value < old[0]
    f[at] = (
        m.settled(hl.select(better, value, old[0])),
        m.settled(hl.select(better, convert(hl.Expr(r[0]), m.type), old[1])),
    )


def promised(m: Maker) -> None:
    """One source, at a place that is promised to be in a range, and is."""
    dim = m.dim()
    low, high = m.choices.between(-2, 2), m.choices.between(3, 30)
    place = hl.clamp(convert(m.source(m.vars, 1), hl.Int(32)), low, high)
    at = list[Coordinate](m.vars)
    at[dim] = hl.unsafe_promise_clamped(place + 1, low + 1, high + 1)
    m.pure(combine(m, convert(m.source(at), m.type), m.here(0)))


def tagged(m: Maker) -> None:
    """Behind a tag, which lets what follows be memoized, whatever the sources read."""
    value = combine(m, m.here(0), m.here(1))
    m.pure(hl.memoize_tag(value, m.choices.upto(9)))


def foreign(m: Maker) -> None:
    """Computed by a Python function, which is given Funcs that have storage."""
    if m.type is TYPES["bf16"]:
        m.type = TYPES["f32"]
    given, moves = [], []
    for source in m.sources:
        func = source.func
        if not source.stage or source.type is TYPES["bf16"]:
            # The boundary of an input has no storage, and NumPy no BFloat16.
            func = hl.Func(f"{m.func.name()}_given")
            at = [hl.Var(n) for n in "xyc"[: source.dims]]
            func[tuple(at)] = settle(read(source, at, m.choices), TYPES["f32"])
            func.compute_root()
        given.append(func)
        moves.append(tuple([m.choices.between(-2, 2) for _ in range(source.dims)]))
    values = [f.outputs() for f in given]
    ranks = [s.dims for s, n in zip(m.sources, values, strict=True) for _ in range(n)]
    each = [by for by, n in zip(moves, values, strict=True) for _ in range(n)]
    whole = m.type.is_int_or_uint() or m.type.is_bool()
    most = 2 if m.type.is_bool() else _SMALL if whole else _FLOATS
    work = MovedSum(tuple(ranks), tuple(each), most)
    m.func.define_extern(work, given, m.type, m.vars, bounds=work.needs)


def required(m: Maker) -> None:
    """The source at the point, of which something is required that depends on a Param
    and on another value; `tests.fuzz.kernels` draws these."""
    value, other = m.here(), convert(m.source(m.vars, 1), hl.Int(32))
    kept = hl.require(other % 4 < 4 * LAWFUL, value, "other is", other, "at", m.vars[0])
    m.pure(combine(m, kept, m.here(1)) if m.choices.chance() else kept)


OPS: dict[str, Callable[[Maker], None]] = {
    f.__name__: f
    for f in (
        coordinates,
        pointwise,
        stencil,
        downsample,
        upsample,
        transpose,
        mirror,
        lookup,
        choose,
        guarded,
        channels,
        pair,
        inline_sum,
        inline_argmin,
        accumulate,
        scan,
        histogram,
        scatter,
        updates,
        tuple_update,
        promised,
        tagged,
        foreign,
        required,
    )
}


def make(name: str, stage: Stage, sources: Sequence[Built]) -> Built:
    """The Func of a stage."""
    m = Maker(name, stage, sources)
    with warnings.catch_warnings():
        # An update such as f[x] = f[x] % 1 folds to one that does not read f.
        warnings.simplefilter("ignore", hl.RedefinitionWarning)
        OPS[stage.op](m)
    wrappers: dict[str, hl.Var | hl.RVar] = {v.name(): v for v in m.vars}
    return Built(m.func, stage.dims, m.type, m.values, wrappers)
