"""Evaluates the stages of a program with NumPy, slowly: what back ends are tested with.

Each stage is computed whole, one term after the other, by the definitions in `terms`
and `stages` and by nothing else. Inside, arrays are indexed [x, y, …], as domains are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from parhelion.errors import InternalError
from parhelion.forma import terms as E
from parhelion.forma.sizes import value_of
from parhelion.forma.stages import (
    Apply,
    Boundary,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Input,
    Source,
    Stage,
)
from parhelion.forma.terms import Term
from parhelion.forma.types import Element, Scalar, Struct
from parhelion.ir.deep import run_deep
from parhelion.ir.expr import Var

Array = npt.NDArray[Any]
#: The values of a term at all points: one array, or one for each field of a struct.
Points = Array | dict[str, Array]

_TYPES: dict[Scalar, type[np.generic]] = {
    Scalar.CONDITION: np.bool_,
    Scalar.INT8: np.int8,
    Scalar.INT16: np.int16,
    Scalar.INT: np.int32,
    Scalar.FLOAT: np.float32,
    Scalar.DOUBLE: np.float64,
}


def dtype_of(kind: Element) -> np.dtype[Any]:
    """What NumPy calls a type; structs are structured, without gaps."""
    if isinstance(kind, Struct):
        return np.dtype([(name, _TYPES[one]) for name, one in kind.fields])
    return np.dtype(_TYPES[kind])


def evaluate(
    graph: Graph, inputs: Mapping[str, Array], parameters: Mapping[str, int | float]
) -> list[Array]:
    """Return what a program returns, of inputs and parameters by their names.

    The shape of an array is the sizes of its domain in the opposite order. Raises
    FormaError for parameters and arrays that do not fit.
    """
    sizes = graph.verify(parameters)
    return run_deep(lambda: _Evaluation(graph, sizes, parameters).outputs(inputs))


class _Evaluation:
    """One run. domains: the results of the stages so far."""

    def __init__(
        self, graph: Graph, sizes: dict[Var, int], given: Mapping[str, int | float]
    ) -> None:
        self.graph = graph
        self.sizes = sizes
        self.numbers = {
            one.name: _TYPES[one.type](given[one.name]) for one in graph.parameters
        }
        self.domains: dict[Stage, list[Array]] = {}

    def outputs(self, inputs: Mapping[str, Array]) -> list[Array]:
        with np.errstate(all="ignore"):
            for stage in self.graph.needed():
                if isinstance(stage, Input):
                    results = [self._input(stage, inputs[stage.name])]
                elif isinstance(stage, Apply):
                    results = self._apply(stage)
                elif isinstance(stage, Crop):
                    results = [self._crop(stage)]
                elif isinstance(stage, Compose):
                    results = [self._compose(stage)]
                else:
                    raise InternalError(f"internal error: a stage {type(stage)}")
                self.domains[stage] = results
        return [
            np.ascontiguousarray(self._domain(one.source).T)
            for one in self.graph.outputs
        ]

    def _shape(self, stage: Stage) -> tuple[int, ...]:
        return tuple([value_of(size, self.sizes) for size in stage.sizes])

    def _domain(self, source: Source) -> Array:
        return self.domains[source.stage][source.result]

    def _input(self, stage: Input, given: Array) -> Array:
        shape, kind = self._shape(stage)[::-1], dtype_of(stage.types[0])
        if given.shape != shape or given.dtype != kind:
            raise stage.span.error(
                f"the input '{stage.name}' is an array of {given.dtype} with the shape "
                f"{given.shape}",
                detail=f"here it is one of {kind} with the shape {shape}",
                hint="the shape has the last dimension first: (N, M) for [M, N]",
            )
        return given.T

    def _crop(self, stage: Crop) -> Array:
        firsts = [value_of(first, self.sizes) for first in stage.first]
        pairs = zip(firsts, self._shape(stage), strict=True)
        return self._domain(stage.source)[tuple([slice(a, a + n) for a, n in pairs])]

    def _compose(self, stage: Compose) -> Array:
        whole = np.zeros(self._shape(stage), dtype_of(stage.types[0]))
        for part in stage.parts:
            values = self._domain(part.source)
            thick = (*values.shape, *[1] * (len(part.place) - values.ndim))
            values = values.reshape(thick)
            places = []
            for place, count in zip(part.place, thick, strict=True):
                offset = value_of(place.offset, self.sizes)
                stop = offset + (count - 1) * place.scale + 1
                places.append(slice(offset, stop, place.scale))
            whole[tuple(places)] = values
        return whole

    # Stencils

    def _apply(self, stage: Apply) -> list[Array]:
        shape = self._shape(stage)
        point = _Stencil(self, stage, shape)
        for one in stage.body.assignments:
            point.locals[one.name] = point.value(one.value)
        inside = tuple(
            [
                slice(
                    value_of(i.first, self.sizes), max(value_of(i.stop, self.sizes), 0)
                )
                for i in stage.interior
            ]
        )
        results = []
        for term in stage.body.results:
            values = _joined(point.value(term), term.type, shape)
            whole = np.zeros(shape, dtype_of(term.type))
            whole[inside] = values[inside]
            results.append(whole)
        return results


class _Stencil:
    """The values of terms at all points of one stage."""

    def __init__(
        self, evaluation: _Evaluation, stage: Apply, shape: tuple[int, ...]
    ) -> None:
        self.evaluation = evaluation
        self.stage = stage
        self.shape = shape
        self.locals: dict[str, Points] = {}
        self._by_kind: dict[type[Term], Callable[[Any], Points]] = {
            E.Literal: lambda e: np.asarray(_type(e)(e.value)),
            E.ParameterValue: lambda e: np.asarray(evaluation.numbers[e.name]),
            E.Read: self._read,
            E.Local: lambda e: self.locals[e.name],
            E.Convert: lambda e: _converted(self._number(e.of), _type(e)),
            E.Negate: lambda e: np.negative(self._number(e.of)),
            E.Not: lambda e: np.logical_not(self._number(e.of)),
            E.Arithmetic: self._arithmetic,
            E.Compare: self._compare,
            E.Logic: self._logic,
            E.Choose: self._choose,
            E.Member: self._member,
            E.Made: self._made,
            E.MathCall: self._math,
        }

    def value(self, term: Term) -> Points:
        return self._by_kind[type(term)](term)

    def _number(self, term: Term) -> Array:
        value = self.value(term)
        assert not isinstance(value, dict)
        return value

    def _read(self, e: E.Read) -> Points:
        domain = self.evaluation._domain(self.stage.arguments[e.source])
        boundary = self.stage.boundaries[e.source]
        indices, outside = [], []
        for d, (a, n) in enumerate(zip(e.at, domain.shape, strict=True)):
            at = a.offset + a.scale * np.arange(self.shape[d])
            indices.append(_INSIDE[boundary.kind](at, n))
            shape = [-1 if d == k else 1 for k in range(domain.ndim)]
            outside.append(((at < 0) | (at >= n)).reshape(shape))
        read = _split(domain[np.ix_(*indices)], e.type)
        if boundary.kind is not BoundaryKind.CONSTANT:
            return read
        is_outside = np.logical_or.reduce(np.broadcast_arrays(*outside))
        return _chosen(is_outside, self._constant(boundary), read)

    def _constant(self, boundary: Boundary) -> Points:
        assert boundary.value is not None
        return self.value(boundary.value)

    def _arithmetic(self, e: E.Arithmetic) -> Points:
        a, b = self._number(e.a), self._number(e.b)
        if e.op in ("+", "-", "*"):
            compute = {"+": np.add, "-": np.subtract, "*": np.multiply}[e.op]
            return np.asarray(compute(a, b))
        if _scalar(e).is_float:
            return np.asarray(a / b)
        wide, by = a.astype(np.int64), b.astype(np.int64)
        quotient = np.abs(wide) // np.where(by == 0, 1, np.abs(by))
        quotient = np.where((wide < 0) == (by < 0), quotient, -quotient)
        value = quotient if e.op == "/" else wide - by * quotient
        return np.where(by == 0, 0, value).astype(np.int32)

    def _compare(self, e: E.Compare) -> Points:
        compare = {
            "==": np.equal,
            "!=": np.not_equal,
            "<": np.less,
            "<=": np.less_equal,
            ">": np.greater,
            ">=": np.greater_equal,
        }[e.op]
        return np.asarray(compare(self._number(e.a), self._number(e.b)))

    def _logic(self, e: E.Logic) -> Points:
        join = np.logical_and if e.op == "&&" else np.logical_or
        return np.asarray(join(self._number(e.a), self._number(e.b)))

    def _choose(self, e: E.Choose) -> Points:
        condition = self._number(e.condition)
        return _chosen(condition, self.value(e.yes), self.value(e.no))

    def _member(self, e: E.Member) -> Points:
        of = self.value(e.of)
        assert isinstance(of, dict)
        return of[e.name]

    def _made(self, e: E.Made) -> Points:
        assert isinstance(e.type, Struct)
        names = [name for name, _ in e.type.fields]
        return dict(zip(names, [self._number(one) for one in e.values], strict=True))

    def _math(self, e: E.MathCall) -> Points:
        args = [self._number(one) for one in e.args]
        return np.asarray(_MATH[e.function](*args)).astype(_type(e))


def _rounded(x: Array) -> Array:
    """To the nearest integer; from the middle between two away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1, x), whole)


_MATH: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("sqrt", "exp", "log", "floor", "ceil")},
    **{name: getattr(np, name) for name in ("trunc", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "abs")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan")},
    "atan2": np.arctan2,
    "pow": np.power,
    "round": _rounded,
    "min": lambda a, b: np.where(b < a, b, a),
    "max": lambda a, b: np.where(a < b, b, a),
}


def _mirrored(at: Array, n: int) -> Array:
    place = at % (2 * n)
    return np.where(place < n, place, 2 * n - 1 - place)


def _clamped(at: Array, n: int) -> Array:
    return np.clip(at, 0, n - 1)


#: What coordinates are read in place of those that are outside of n points. What is
#: read outside without a condition, or with a constant, is not used.
_INSIDE: dict[BoundaryKind, Callable[[Array, int], Array]] = {
    BoundaryKind.NONE: _clamped,
    BoundaryKind.CONSTANT: _clamped,
    BoundaryKind.CLAMPED: _clamped,
    BoundaryKind.WRAP: lambda at, n: at % n,
    BoundaryKind.MIRROR: _mirrored,
}


def _converted(value: Array, to: type[np.generic]) -> Array:
    if to is np.bool_:
        return np.not_equal(value, 0)
    if value.dtype.kind == "f" and np.dtype(to).kind == "i":
        return np.trunc(value).astype(np.int64).astype(to)
    return value.astype(to)


def _split(values: Array, kind: Element) -> Points:
    if isinstance(kind, Struct):
        return {name: values[name] for name, _ in kind.fields}
    return values


def _joined(value: Points, kind: Element, shape: tuple[int, ...]) -> Array:
    if isinstance(value, dict):
        whole = np.empty(shape, dtype_of(kind))
        for name, values in value.items():
            whole[name] = values
        return whole
    return np.broadcast_to(value, shape)


def _chosen(condition: Array, yes: Points, no: Points) -> Points:
    if isinstance(yes, dict) and isinstance(no, dict):
        return {name: np.where(condition, yes[name], no[name]) for name in yes}
    assert not isinstance(yes, dict) and not isinstance(no, dict)
    return np.where(condition, yes, no)


def _scalar(term: Term) -> Scalar:
    assert isinstance(term.type, Scalar)
    return term.type


def _type(term: Term) -> type[np.generic]:
    return _TYPES[_scalar(term)]


__all__ = ["dtype_of", "evaluate"]
