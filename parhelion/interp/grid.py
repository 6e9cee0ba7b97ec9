"""Evaluates expressions over a grid of points, a NumPy array for each distinct node.

A grid has one axis for each variable that runs over it; the array of a node has size
1 along the axes it does not depend on. Nodes are computed once for each condition
under which they are needed: a branch of a `Select` is evaluated under the branch's
`Guard`, so that what it reads elsewhere neither counts nor fails.

A read that fails (outside an image, a false `require`) does not raise here, for the
point may belong to no result: it spoils its point of the grid. Whoever reads a
spoiled point is spoiled too; an output that is, raises the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from parhelion.errors import BoundsError, HalideError, internal_assert
from parhelion.interp import libm
from parhelion.interp import values as V
from parhelion.interp.operations import BINARY, OPERATIONS
from parhelion.interp.region import Box, Mask, bounds_of, covers, gather
from parhelion.interp.values import Array
from parhelion.ir import expr as E
from parhelion.ir.expr import Expr, Var
from parhelion.ir.failures import FAILURES
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym


class Realization:
    """The values of a Func over a box, one array per value of its Tuple.

    spoiled: for each value, the points where it could not be computed, for `reason`;
        None where there are none.
    """

    __slots__ = ("box", "reason", "spoiled", "values")

    def __init__(self, box: Box, values: list[Array]) -> None:
        self.box = box
        self.values = values
        self.spoiled: list[Mask | None] = [None] * len(values)
        self.reason: HalideError | None = None


class OutOfBox(Exception):
    """An update reads its own Func outside of the box that is being computed."""

    def __init__(self, box: Box) -> None:
        self.box = box


class Source(Protocol):
    """Where a grid gets what lies outside of its expression."""

    def scalar(self, var: Var) -> int | float | bool:
        """The value of a parameter, or of an image's min, extent or stride."""

    def image(self, image: BufferSym) -> tuple[Array, tuple[int, ...]]:
        """An input's pixels in dimension order, and its min coordinates."""

    def realization(self, func: Function, box: Box) -> Realization:
        """The values of another Func over at least `box`."""

    def expansion(self, e: E.Intrinsic) -> Expr | None:
        """`e` in simpler nodes, where the language defines it so."""


class Guard:
    """A condition under which a node is needed, and the points where it `holds`."""

    __slots__ = ("holds", "variant")

    def __init__(self, holds: Mask, variant: bool = False) -> None:
        self.holds = holds
        self.variant = variant


#: The guard of what is needed nowhere.
_NEVER = Guard(np.zeros((1,), np.bool_))

_READS = 1  # the node reads an image or a Func, or may fail
_VARIES = 2  # its value changes from step to step (`Grid.advance`)

_Key = tuple[Expr, Guard | None]

#: What needs its second operand only where the first does not decide.
_LOGIC = (E.And, E.Or)


class Grid:
    """The values of expressions where the variables of `env` run over their arrays.

    own: the Func that is being updated, whose `current` values are read as they are.
    steps: variables that `advance` will change; what depends on them or reads `own`
        is forgotten at each step, everything else is kept.
    """

    def __init__(
        self,
        source: Source,
        env: Mapping[Var, Array],
        axes: int,
        own: Function | None = None,
        current: Realization | None = None,
        steps: frozenset[Var] = frozenset(),
    ) -> None:
        self.source = source
        self.env = dict(env)
        self.axes = max(axes, 1)
        self.own, self.current = own, current
        self.steps = steps
        self.lets: dict[Var, Expr] = {}
        self.traits: dict[Expr, int] = {}
        self.kept: dict[_Key, Array] = {}
        self.step: dict[_Key, Array] = {}
        self.guards: dict[tuple[Guard | None, Expr, bool], Guard | None] = {}
        # Spoiled by what is kept, and by this step alone.
        self.spoiled_kept: Mask | None = None
        self.spoiled_step: Mask | None = None
        self.reason: HalideError | None = None

    def advance(self, env: Mapping[Var, Array]) -> None:
        """Goes on to other values of the `steps` variables."""
        self.env.update(env)
        self.step.clear()
        self.spoiled_step = None
        for key in [k for k, g in self.guards.items() if self._guard_varies(k, g)]:
            del self.guards[key]

    def _guard_varies(
        self, key: tuple[Guard | None, Expr, bool], made: Guard | None
    ) -> bool:
        parent, cond, _ = key
        return bool(self._traits(cond) & _VARIES) or any(
            g is not None and g.variant for g in (parent, made)
        )

    @property
    def spoiled(self) -> Mask | None:
        if self.spoiled_kept is None or self.spoiled_step is None:
            return self.spoiled_step if self.spoiled_kept is None else self.spoiled_kept
        return self.spoiled_kept | self.spoiled_step

    def spoils(
        self, roots: Sequence[Expr], guard: Guard | None = None
    ) -> list[Mask | None]:
        """For each of several expressions, whose values are known, where it is
        spoiled."""
        if self.spoiled is None:
            return [None] * len(roots)
        if len(roots) == 1:
            return [self.spoiled]
        made = []
        for root in roots:
            # Rare enough to be computed once more, each by itself.
            alone = Grid(
                self.source, self.env, self.axes, self.own, self.current, self.steps
            )
            alone.value(root, guard)
            made.append(alone.spoiled)
        return made

    # Facts about nodes.

    def _traits(self, root: Expr) -> int:
        known = self.traits
        if root in known:
            return known[root]
        stack = [root]
        while stack:
            e = stack[-1]
            if e in known:
                stack.pop()
                continue
            if isinstance(e, E.Let):
                self.lets[e.var] = e.value
            waiting = [c for c in self._parts(e) if c not in known]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            known[e] = self._own_traits(e)
        return known[root]

    def _parts(self, e: Expr) -> tuple[Expr, ...]:
        if isinstance(e, Var):
            value = self.lets.get(e)
            return () if value is None else (value,)
        if isinstance(e, E.Let):
            # The value first: the Var's traits are the value's.
            return (e.body,) if e.value in self.traits else (e.value,)
        return e.children()

    def _own_traits(self, e: Expr) -> int:
        made = 0
        for c in self._parts(e):
            made |= self.traits[c]
        if isinstance(e, E.FuncCall):
            made |= _READS | (_VARIES if e.func is self.own else 0)
        elif isinstance(e, E.ImageLoad) or (
            isinstance(e, E.Intrinsic) and e.op == "require"
        ):
            made |= _READS
        elif isinstance(e, Var) and e in self.steps:
            made |= _VARIES
        return made

    def reads(self, e: Expr) -> bool:
        return bool(self._traits(e) & _READS)

    # Guards.

    def guard(self, parent: Guard | None, cond: Expr, wanted: bool) -> Guard | None:
        """`parent` narrowed to where the known value of `cond` is `wanted`."""
        key = (parent, cond, wanted)
        if key in self.guards:
            return self.guards[key]
        value = self._known(cond, parent)
        holds = value if wanted else ~value
        if parent is not None:
            holds = holds & parent.holds
        varies = bool(self._traits(cond) & _VARIES)
        made: Guard | None
        if bool(holds.all()):
            made = parent
        elif not bool(holds.any()):
            made = _NEVER
        else:
            made = Guard(holds, varies or (parent is not None and parent.variant))
        self.guards[key] = made
        return made

    def _branch(
        self, e: Expr, parent: Guard | None, cond: Expr, wanted: bool
    ) -> Guard | None:
        """The guard of an operand that counts only where `cond` is `wanted`."""
        return self.guard(parent, cond, wanted) if self.reads(e) else None

    # Evaluation: a loop with a stack of its own, as user expressions may be deep.

    def value(self, root: Expr, guard: Guard | None = None) -> Array:
        """The values of `root` where `guard` holds (elsewhere, of no meaning)."""
        stack: list[_Key] = [(root, guard)]
        while stack:
            e, g = stack[-1]
            key, memo = self._slot(e, g)
            if key in memo:
                stack.pop()
                continue
            waiting = self._waiting(e, g)
            if waiting:
                stack.extend(waiting)
                continue
            memo[key] = self._compute(e, g)
            stack.pop()
        return self._known(root, guard)

    def _slot(self, e: Expr, g: Guard | None) -> tuple[_Key, dict[_Key, Array]]:
        traits = self.traits.get(e)
        if traits is None:
            traits = self._traits(e)
        if not traits & _READS:
            g = None
        varies = traits & _VARIES or (g is not None and g.variant)
        return (e, g), self.step if varies else self.kept

    def _is_known(self, e: Expr, g: Guard | None) -> bool:
        key, memo = self._slot(e, g)
        return key in memo

    def _known(self, e: Expr, g: Guard | None) -> Array:
        if g is _NEVER and self.reads(e):
            return np.zeros((1,) * self.axes, V.dtype_of(e.type))
        key, memo = self._slot(e, g)
        return memo[key]

    def _waiting(self, e: Expr, g: Guard | None) -> list[_Key]:
        """What is still to be known before `e`; for a branch, the condition first."""
        return [
            (part, under)
            for part, under in self._operands(e, g)
            if not self._is_known(part, under)
            and (under is not _NEVER or not self.reads(part))
        ]

    def _operands(self, e: Expr, g: Guard | None) -> Sequence[_Key]:
        if isinstance(e, E._Binary):
            if not isinstance(e, _LOGIC):
                return (e.a, g), (e.b, g)
            if not self._is_known(e.a, g):
                return ((e.a, g),)
            return (e.a, g), (e.b, self._branch(e.b, g, e.a, isinstance(e, E.And)))
        if isinstance(e, E.Select):
            if not self._is_known(e.cond, g):
                return ((e.cond, g),)
            then = self._branch(e.a, g, e.cond, True)
            other = self._branch(e.b, g, e.cond, False)
            return (e.cond, g), (e.a, then), (e.b, other)
        if isinstance(e, E.Let):
            return ((e.body, g),)
        parts = self._arguments(e) if isinstance(e, E.Intrinsic) else self._parts(e)
        return [(part, g) for part in parts]

    def _arguments(self, e: E.Intrinsic) -> tuple[Expr, ...]:
        expanded = self.source.expansion(e)
        if expanded is not None:
            return (expanded,)
        if e.op in ("print", "memoize_tag"):
            return e.args[:1]
        if e.op == "print_when":
            return e.args[1:2]
        return tuple([a for a in e.args if not isinstance(a, E.StringImm)])

    # One node, its operands known.

    def _compute(self, e: Expr, g: Guard | None) -> Array:
        kind = type(e)
        if isinstance(e, E._Binary) and not isinstance(e, _LOGIC):
            made = BINARY[kind](self._known(e.a, g), self._known(e.b, g), e.a.type)
        elif isinstance(e, E.Imm | E.FloatImm):
            made = self._constant(e.value, e)
        elif isinstance(e, Var):
            made = self._variable(e, g)
        elif isinstance(e, E.Select):
            a = self._known(e.a, self._branch(e.a, g, e.cond, True))
            b = self._known(e.b, self._branch(e.b, g, e.cond, False))
            made = np.where(self._known(e.cond, g), a, b)
        elif isinstance(e, _LOGIC):
            b = self._known(e.b, self._branch(e.b, g, e.a, isinstance(e, E.And)))
            made = BINARY[kind](self._known(e.a, g), b, e.type)
        elif isinstance(e, E.Cast):
            made = V.cast(self._known(e.a, g), e.a.type, e.type)
        elif isinstance(e, E.FuncCall):
            made = self._call(e, g)
        elif isinstance(e, E.ImageLoad):
            made = self._load(e, g)
        elif isinstance(e, E.Not):
            made = ~self._known(e.a, g)
        elif isinstance(e, E.Let):
            made = self._known(e.body, g)
        elif isinstance(e, E.Intrinsic):
            made = self._intrinsic(e, g)
        elif isinstance(e, E.Reinterpret):
            made = V.reinterpret(self._known(e.a, g), e.a.type, e.type)
        elif isinstance(e, E.Extern):
            args = [self._known(a, g) for a in e.args]
            made = libm.extern(e, args)
        else:
            internal_assert(False, f"{kind.__name__} in an algorithm")
        if made.dtype != V.dtype_of(e.type):  # text of a dtype takes long to make
            internal_assert(
                False,
                f"the interpreter made {made.dtype} of a {kind.__name__} of type"
                f" {e.type}",
            )
        return made

    def _constant(self, value: int | float | bool, e: Expr) -> Array:
        return np.full((1,) * self.axes, value, V.dtype_of(e.type))

    def _variable(self, e: Var, g: Guard | None) -> Array:
        if e in self.env:
            return self.env[e]
        if e in self.lets:
            return self._known(self.lets[e], g)
        return self._constant(self.source.scalar(e), e)

    def _intrinsic(self, e: E.Intrinsic, g: Guard | None) -> Array:
        expanded = self.source.expansion(e)
        if expanded is not None:
            return self._known(expanded, g)
        if e.op == "require":
            return self._require(e, g)
        args = self._arguments(e)
        if e.op in ("print_when", "memoize_tag"):
            return self._known(args[0], g)
        values = [self._known(a, g) for a in args]
        return OPERATIONS[e.op](values, [a.type for a in args], e.type)

    # Reads, and what they spoil.

    def _spoil(self, bad: Mask, reason: HalideError, key: _Key) -> None:
        if self._slot(*key)[1] is self.step:
            old = self.spoiled_step
            self.spoiled_step = bad if old is None else old | bad
        else:
            old = self.spoiled_kept
            self.spoiled_kept = bad if old is None else old | bad
        if self.reason is None:
            self.reason = reason

    def _require(self, e: E.Intrinsic, g: Guard | None) -> Array:
        bad = ~self._known(e.args[0], g)
        if g is not None:
            bad = bad & g.holds
        if bool(bad.any()):
            parts = [
                a.value
                if isinstance(a, E.StringImm)
                else str(self._at_first(bad, self._known(a, g)))
                for a in e.args[2:]
            ]
            failure = FAILURES["require"]
            text = failure.template.format("".join(parts))
            self._spoil(bad, failure.error(text), (e, g))
        return self._known(e.args[1], g)

    def _at_first(self, bad: Mask, value: Array) -> int | float | bool:
        """`value` at the first point where `bad` holds."""
        bad, value = np.broadcast_arrays(bad, value)
        found: int | float | bool = value.ravel()[int(np.argmax(bad.ravel()))].item()
        return found

    def _box(self, index: list[Array], g: Guard | None) -> Box | None:
        """The least box around the active indices; None if no point is active."""
        ranges = [bounds_of(i, None if g is None else g.holds) for i in index]
        if any([r is None for r in ranges]):
            return None
        return tuple([r for r in ranges if r is not None])

    def _call(self, e: E.FuncCall, g: Guard | None) -> Array:
        index = [self._known(a, g) for a in e.args]
        box = self._box(index, g)
        if box is None:
            return np.zeros((1,) * self.axes, V.dtype_of(e.type))
        if e.func is self.own:
            assert self.current is not None
            found = self.current
            if not covers(found.box, box):
                raise OutOfBox(box)
        else:
            found = self.source.realization(e.func, box)
        mins = [b[0] for b in found.box]
        places = self._places(index, mins, box, g is not None)
        spoiled = found.spoiled[e.index]
        if spoiled is not None:
            assert found.reason is not None
            bad = gather(spoiled, places, self.axes)
            if g is not None:
                bad = bad & g.holds
            if bool(bad.any()):
                self._spoil(bad, found.reason, (e, g))
        made = gather(found.values[e.index], places, self.axes)
        # The values of the Func under update change after this read.
        return made.copy() if e.func is self.own else made

    def _places(
        self, index: list[Array], mins: Iterable[int], within: Box, clip: bool
    ) -> list[Array]:
        """Indices into an array that begins at `mins`; if `clip`, those that do not
        count are moved into the box `within`."""
        places = []
        for i, low, (first, last) in zip(index, mins, within, strict=True):
            if clip:
                i = np.clip(i, first, last)
            places.append(i.astype(np.int64) - low)
        return places

    def _load(self, e: E.ImageLoad, g: Guard | None) -> Array:
        pixels, mins = self.source.image(e.image)
        index = [self._known(a, g) for a in e.args]
        box = self._box(index, g)
        if box is None:
            return np.zeros((1,) * self.axes, V.dtype_of(e.type))
        limits = tuple(
            [(m, m + n - 1) for m, n in zip(mins, pixels.shape, strict=True)]
        )
        spilled = not covers(limits, box)
        if spilled:
            for d, (i, (low, high)) in enumerate(zip(index, limits, strict=True)):
                bad = (i < low) | (high < i)
                if g is not None:
                    bad = bad & g.holds
                if bool(bad.any()):
                    self._spoil(bad, self._outside(e, d, bad, index, limits), (e, g))
        if 0 in pixels.shape:
            return np.zeros((1,) * self.axes, V.dtype_of(e.type))
        places = self._places(index, mins, limits, spilled or g is not None)
        return gather(pixels, places, self.axes)

    def _outside(
        self, e: E.ImageLoad, d: int, bad: Mask, index: list[Array], limits: Box
    ) -> HalideError:
        at = ", ".join([str(self._at_first(bad, i)) for i in index])
        low, high = limits[d]
        return BoundsError(
            f"the algorithm reads input image {e.image.name!r} at ({at}), but in "
            f"dimension {d} the image covers {low} to {high}",
            hint=FAILURES["input_too_small"].hint,
        )

    # Which regions of other Funcs will be read.

    def demands(
        self, root: Expr, guard: Guard | None = None
    ) -> Iterator[tuple[Function, Box]]:
        """The boxes of Funcs (`own` too) that `root` reads, as far as the indices
        depend on no pixel. Conditions on pixels are taken to go either way."""
        seen: set[_Key] = set()
        stack: list[_Key] = [(root, guard)]
        while stack:
            key = stack.pop()
            e, g = key
            if key in seen or g is _NEVER or not self.reads(e):
                continue
            seen.add(key)
            if isinstance(e, E.Select | E.And | E.Or):
                stack.extend(self._branches(e, g))
            elif isinstance(e, E.FuncCall) and not any([self.reads(a) for a in e.args]):
                box = self._box([self.value(a) for a in e.args], g)
                if box is not None:
                    yield e.func, box
            else:
                stack.extend([(c, g) for c in self._parts(e)])

    def _branches(self, e: E.Select | E.And | E.Or, g: Guard | None) -> Iterator[_Key]:
        cond = e.cond if isinstance(e, E.Select) else e.a
        static = not self.reads(cond)
        if static:
            self.value(cond)
        yield cond, g
        if isinstance(e, E.Select):
            yield e.a, self.guard(g, cond, True) if static else g
            yield e.b, self.guard(g, cond, False) if static else g
        else:
            wanted = isinstance(e, E.And)
            yield e.b, self.guard(g, cond, wanted) if static else g
