"""`propagate_adjoints` and `Derivative`: the gradients of a pipeline, as Funcs.

Names and signatures are those of Halide 21's Python module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from parhelion.adjoint.gradients import Gradients, coordinates
from parhelion.adjoint.handles import Adjoint, guarded, new_func
from parhelion.adjoint.regions import Region
from parhelion.errors import (
    BoundsError,
    DefinitionError,
    TypeMismatchError,
    here,
)
from parhelion.ir.build import add, cast, const_int, imm, int32, sub
from parhelion.ir.expr import Expr as Node
from parhelion.ir.expr import FuncCall, ImageLoad
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import a_kind
from parhelion.lang.convert import node_of
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.rdom import RangeLike, pair_of
from parhelion.types import INT32


class Derivative:
    """The gradients of one number with respect to all that a pipeline computes it of:
    what `propagate_adjoints` returns.

    ``d[f]``, ``d[image]`` and ``d[param]`` are Funcs of the dimensions and the type of
    what they belong to, 0 where nothing depends on it. ``d[f, k]`` is of the values of
    a Func after its update `k`; ``d[f]`` is ``d[f, -1]``, of those that its pure
    definition gives.

    >>> image = hl.Buffer(np.array([1, 2, 3], np.float32))
    >>> r, loss = hl.RDom([(0, 3)]), hl.Func("loss")
    >>> loss[()] = hl.f32(0)
    >>> loss[()] += image[r] * image[r]
    >>> d = hl.propagate_adjoints(loss)
    >>> np.asarray(d[image].realize([3])).tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(self, gradients: Gradients, output: Func) -> None:
        self._gradients = gradients
        self._output = output
        self._made: dict[object, Func] = {}

    def __getitem__(
        self, key: Func | Buffer | ImageParam | Param | tuple[Func, int]
    ) -> Func:
        """Returns the gradient with respect to a Func, an image or a Param.

        Raises DefinitionError for what the pipeline does not have, and for integers,
        which have no gradient, and TypeMismatchError for keys of other kinds.
        """
        number = -1
        if isinstance(key, tuple) and len(key) == 2:
            key, number = key
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeMismatchError(
                    f"an update is numbered by an int, not {number!r:.60}", at=here()
                )
        if isinstance(key, Func):
            image = _image_of(key._function)
            if image is not None and not self._gradients.knows(key._function):
                return self._leaf(image)
            return self._func(key._function, number)
        if isinstance(key, Buffer | ImageParam | Param):
            return self._leaf(key._sym)
        raise TypeMismatchError(
            "a Derivative has the gradients of Funcs, Buffers, ImageParams and Params,"
            f" not of {a_kind(key)}",
            at=here(),
        )

    def _leaf(self, sym: BufferSym | ParamSym) -> Func:
        what = f"{'Param' if isinstance(sym, ParamSym) else 'image'} {sym.name!r}"
        self._check(sym, what)
        if not sym.type.is_float():
            raise _of_integers(what, str(sym.type))
        found = self._made.get(sym)
        if found is None:
            adjoint = self._gradients.of_leaf(sym)
            if adjoint.func is None:
                count = len(sym.dims) if isinstance(sym, BufferSym) else 0
                args = coordinates(count)
                f = new_func(f"d_{sym.name}", args, [adjoint.at(args)], sym.site)
                found = Func._of(f)
            else:
                found = Func._of(adjoint.func)
            self._made[sym] = found
        return found

    def _func(self, f: Function, number: int) -> Func:
        what = f"Func {f.name!r}"
        self._check(f, what)
        if not any([t.is_float() for t in f.types]):
            raise _of_integers(what, ", ".join(map(str, f.types)))
        count = len(f.as_written())
        if not -1 <= number < count - 1:
            raise DefinitionError(
                f"{what} has no update {number}; it has {count - 1}",
                at=here(),
                hint="-1 stands for its pure definition",
            )
        found = self._made.get((f, number))
        if found is None:
            adjoints = self._gradients.of_func(f, number + 1)
            found = self._made[f, number] = Func._of(self._cut(f, adjoints))
        return found

    def _cut(self, f: Function, adjoints: Sequence[Adjoint]) -> Function:
        """Adjoints as one Func, which may be read anywhere."""
        first = adjoints[0]
        if len(adjoints) == 1 and first.func is not None and first.everywhere:
            return first.func
        region = self._gradients.regions.of(f)
        values = [
            a.at(f.args) if a.everywhere else guarded(a.at(f.args), f.args, region)
            for a in adjoints
        ]
        values = [
            imm(0, t) if not t.is_float() else v
            for t, v in zip(f.types, values, strict=True)
        ]
        return new_func(f"d_{f.label}", f.args, values, f.site)

    def _check(self, source: Function | BufferSym | ParamSym, what: str) -> None:
        if not self._gradients.knows(source):
            raise DefinitionError(
                f"{self._output.name()!r} does not depend on the {what}: it is in none"
                " of its definitions",
                at=here(),
            )

    def __repr__(self) -> str:
        return f"<parhelion.Derivative of {self._output.name()}>"


def _of_integers(what: str, types: str) -> DefinitionError:
    return DefinitionError(
        f"the {what} holds {types}, and integers have no gradient",
        at=here(),
        hint="give the values as floats",
    )


def _image_of(f: Function) -> BufferSym | None:
    """The image that a Func only hands on, as ``hl.Func(image)`` does."""
    if f.pure is None or f.updates or len(f.pure.values) != 1:
        return None
    value = f.pure.values[0]
    if isinstance(value, ImageLoad) and value.args == f.args:
        return value.image
    return None


@overload
def propagate_adjoints(output: Func) -> Derivative: ...
@overload
def propagate_adjoints(output: Func, adjoint: Buffer) -> Derivative: ...
@overload
def propagate_adjoints(
    output: Func, adjoint: Func, output_bounds: Sequence[RangeLike]
) -> Derivative: ...
def propagate_adjoints(
    output: Func,
    adjoint: Func | Buffer | None = None,
    output_bounds: Sequence[RangeLike] | None = None,
) -> Derivative:
    """Differentiates a pipeline in reverse mode: returns Funcs that compute gradients.

    The number whose gradients they are is the sum of ``adjoint[x, y] * output[x, y]``
    over `output_bounds`, a (min, extent) for each dimension. A Buffer brings its own
    bounds. Without an adjoint it is 1, and the bounds are those that
    ``output.output_buffer()`` is promised to have; a Func without dimensions needs
    none.

    The gradients use the Funcs of the pipeline, with their schedules, and have none of
    their own. `docs/differentiation.md` says what has a derivative, and what it is
    where a function has a kink. After Li, Gharbi, Adams, Durand and Ragan-Kelley,
    "Differentiable programming for image processing and deep learning in Halide", 2018.

    Raises DefinitionError for what has no derivative, BoundsError where bounds are not
    known, and TypeMismatchError for adjoints of other types or dimensions.

    >>> f, one = hl.Func("f"), hl.Func("one")
    >>> image = hl.Buffer(np.array([1, 2, 3, 4], np.float32))
    >>> f[x] = image[x] * image[x + 1]
    >>> one[x] = hl.f32(1)
    >>> d = hl.propagate_adjoints(f, one, [(0, 3)])
    >>> np.asarray(d[image].realize([4])).tolist()
    [2.0, 4.0, 6.0, 3.0]
    """
    if not isinstance(output, Func) or not output.defined():
        what = "a Func that is not defined" if isinstance(output, Func) else None
        raise TypeMismatchError(
            f"propagate_adjoints takes a defined Func, not {what or a_kind(output)}",
            at=here(),
        )
    f = output._function
    if not all([t.is_float() for t in f.types]):
        raise _of_integers(f"Func {f.name!r}", ", ".join(map(str, f.types)))
    if adjoint is not None and not isinstance(adjoint, Func | Buffer):
        raise TypeMismatchError(
            f"the adjoint of an output is a Func or a Buffer, not {a_kind(adjoint)}",
            at=here(),
        )
    if adjoint is not None:
        _check_adjoint(output, adjoint)
    region = _region(output, adjoint, output_bounds)
    return Derivative(Gradients({f: (region, seeds(f, adjoint, region))}), output)


def seeds(
    f: Function, adjoint: Func | Buffer | ImageParam | None, region: Region
) -> list[Adjoint]:
    """The adjoint of each value of an output, 0 outside of its region."""
    made = []
    for i, t in enumerate(f.types):
        if adjoint is None:
            value = imm(1.0, t)
        elif isinstance(adjoint, Func):
            value = FuncCall(t, adjoint._function, f.args, i)
        else:
            value = ImageLoad(t, adjoint._sym, f.args)
        if not f.args:
            made.append(Adjoint(t, constant=value))
            continue
        value = guarded(value, f.args, region)
        g = new_func(f"d_{f.label}_given", f.args, [value], f.site)
        made.append(Adjoint(t, g))
    if isinstance(adjoint, Func):
        adjoint._function.frozen = True
    return made


def _check_adjoint(output: Func, adjoint: Func | Buffer) -> None:
    types = adjoint.types() if isinstance(adjoint, Func) else [adjoint.type()]
    if adjoint.dimensions() != output.dimensions() or types != output.types():
        told = ", ".join(map(str, types))
        wanted = ", ".join(map(str, output.types()))
        raise TypeMismatchError(
            f"the adjoint of Func {output.name()!r} has {adjoint.dimensions()}"
            f" dimensions and holds {told}, and the Func has {output.dimensions()} and"
            f" holds {wanted}",
            at=here(),
            hint="both have the same number of dimensions and the same types",
        )


def _region(
    output: Func,
    adjoint: Func | Buffer | None,
    bounds: Sequence[RangeLike] | None,
) -> Region:
    count = output.dimensions()
    if bounds is not None and len(bounds) != count:
        raise BoundsError(
            f"Func {output.name()!r} has {count} dimensions, and output_bounds has"
            f" {len(bounds)}",
            at=here(),
        )
    if bounds is not None:
        pairs = [pair_of(one, "output_bounds") for one in bounds]
        return tuple([_side(*pair) for pair in pairs])
    if isinstance(adjoint, Buffer):
        sides = [adjoint.dim(d) for d in range(count)]
        return tuple([_side(s.min(), s.extent()) for s in sides])
    found = []
    for d in range(count):
        dims = [b.dims[d] for b in output._function.buffers]
        lo, extent = dims[0].fixed_min, dims[0].fixed_extent
        if lo is None or extent is None:
            raise BoundsError(
                f"the gradient sums over all of Func {output.name()!r} that is"
                f" computed, and how much that is in dimension {d} is not known",
                at=here(),
                hint="give the adjoint and bounds: hl.propagate_adjoints(f, adjoint,"
                " [(0, width), (0, height)]), or promise them by"
                " f.output_buffer().dim(0).set_bounds(0, width)",
            )
        found.append((lo, sub(add(lo, extent), int32(1))))
    return tuple(found)


def _side(low: object, extent: object) -> tuple[Node, Node]:
    lo, size = (cast(INT32, node_of(e)) for e in (low, extent))
    known = const_int(size)
    if known is not None and known < 0:
        raise BoundsError(f"an extent of output_bounds is {known}", at=here())
    return lo, sub(add(lo, size), int32(1))


__all__ = ["Derivative", "propagate_adjoints", "seeds"]
