"""The stages of programs: their sizes, where they are computed, and their names."""

from __future__ import annotations

import pytest

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.sizes import size_text, value_of
from parhelion.forma.stages import (
    Apply,
    BoundaryKind,
    Compose,
    Crop,
    Graph,
    Input,
    Place,
    Stage,
)
from parhelion.forma.terms import (
    Access,
    Arithmetic,
    Compare,
    Convert,
    Literal,
    Made,
    ParameterValue,
    Read,
)
from parhelion.forma.types import Scalar
from tests.forma.listings import LISTINGS, PYRAMID


def sizes(graph: Graph) -> dict[str, str]:
    return {
        stage.name: ", ".join([size_text(size) for size in stage.sizes])
        for stage in graph.stages
    }


def apply(graph: Graph, name: str) -> Apply:
    (stage,) = [one for one in graph.stages if one.name == name]
    assert isinstance(stage, Apply)
    return stage


SIZES = {
    3: {"input": "M, N"},
    4: {"x": "M, N", "y": "M, N"},
    5: {"image": "M, N", "temp": "M/2, N", "sample_y": "M/2, N/2"},
    6: {"image": "M, N", "upsample_x_even": "M, N", "temp": "2*M, N"},
    8: {"x": "M, N", "y": "23, 25", "z": "M+3, N+5"},
    9: {"x": "M, N", "y": "M, N", "z": "M, N", "stack": "M, N, 3"},
    14: {"input": "M, N", "emboss": "M, N"},
    15: {"input": "M, N", "blurx": "M, N", "blury": "M, N"},
}


@pytest.mark.parametrize("number", SIZES)
def test_sizes_of_the_listings(number: int) -> None:
    graph = forma.check(LISTINGS[number])
    assert sizes(graph) == SIZES[number]


@pytest.mark.parametrize("number", LISTINGS)
def test_all_listings_pass(number: int) -> None:
    graph = forma.check(LISTINGS[number], f"listing{number}.forma")
    assert graph.outputs and graph.file == f"listing{number}.forma"
    assert len({stage.name for stage in graph.stages}) == len(graph.stages)
    assert set(graph.needed()) <= set(graph.stages)
    seen: set[Stage] = set()
    for stage in graph.stages:
        assert {source.stage for source in stage.sources} <= seen
        seen.add(stage)


def test_composes_of_the_listings() -> None:
    graph = forma.check(LISTINGS[7])
    temp, output = [one for one in graph.stages if isinstance(one, Compose)]
    assert (temp.name, output.name) == ("temp", "output")
    assert temp.covers and output.covers
    assert [part.place[0].scale for part in output.parts] == [1, 1]
    assert [part.place[1].scale for part in output.parts] == [2, 2]
    assert sizes(graph)["output"] == "2*M, 2*N"
    one = forma.check(LISTINGS[6]).stages[-1]
    assert isinstance(one, Compose) and not one.covers
    stack = forma.check(LISTINGS[9]).stages[-1]
    assert isinstance(stack, Compose) and stack.covers
    assert [size_text(part.place[2].offset) for part in stack.parts] == ["0", "1", "2"]


def test_the_custom_boundary() -> None:
    graph = forma.check(LISTINGS[10])
    b = graph.stages[-1]
    assert isinstance(b, Compose) and b.covers
    assert sizes(graph)["b"] == "N, N"
    assert [size_text(part.place[0].offset) for part in b.parts] == ["0", "1", "N-1"]
    assert [one.what for one in graph.requirements] == [
        "the crop [0..1] ends outside of 'a', which has the size N",
        "the crop [1..N-2] is empty",
        "the parts of the compose overlap that are assigned in lines 12 and 14",
    ]


def test_the_custom_boundary_as_the_paper_has_it() -> None:
    """Its first part is two columns wide, and overlaps with the second."""
    text = LISTINGS[10].replace("[0..0,0..N-1]", "").replace("[1..1,0..N-1]", "")
    with pytest.raises(FormaError) as caught:
        forma.check(text, "listing10.forma")
    assert (
        str(caught.value)
        == """\
the parts of the compose overlap that are assigned in lines 12 and 13
  --> listing10.forma:13:6
   |  [1..,0..] = jacobi1d(a)[1..N-2,0..N-1];
   |  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
they are [0..1, 0..N-1] and [1..N-2, 0..N-1]
hint: crop them so that each point is assigned once"""
    )


def test_the_pyramid() -> None:
    graph = forma.check(PYRAMID)
    assert sizes(graph)["gaussian<3>"] == "M/8, N/8"
    assert sizes(graph)["laplacian<0>"] == "2*(M/2), 2*(N/2)"
    names = [name for name, _ in graph.variables]
    assert names == [
        *("image", "gaussian<0>", "gaussian<1>", "gaussian<2>", "gaussian<3>"),
        *("laplacian<0>", "laplacian<1>", "laplacian<2>", "laplacian<3>"),
    ]
    assert len(graph.requirements) == 6
    first = graph.requirements[0]
    assert first.what == (
        "the domain 'gaussian<1>.sample_x' has a size of M/2, and needs a point at "
        "least"
    )
    assert size_text(first.sizes[0]) == "M/2"
    m = next(one.var for one in graph.parameters if one.name == "M")
    assert m is not None and value_of(first.sizes[0], {m: 9}) == 4


def test_a_stage_of_exposure_fusion() -> None:
    """Figure 2 has 11 stages."""
    graph = forma.check(LISTINGS[11])
    stages = [one for one in graph.needed() if isinstance(one, Apply)]
    assert len(stages) == 11
    pointwise = {one.stencil: one.is_pointwise for one in stages}
    assert pointwise.pop("laplacian") is False
    assert all(pointwise.values())
    laplacian = apply(graph, "weights1.laplacian")
    assert [(size_text(i.first), size_text(i.stop)) for i in laplacian.interior] == [
        ("1", "M-1"),
        ("1", "N-1"),
    ]
    assert laplacian.arguments[0].name == "weights1.grey"
    combine = apply(graph, "combine")
    assert isinstance(combine.body.results[0], Made)
    assert [source.name for source in combine.arguments] == [
        *("weights1", "image1", "weights2", "image2")
    ]


def test_boundaries() -> None:
    graph = forma.check(
        """
        struct P { float a; int8 b; }
        stencil f(vector#2 float X, vector#2 P Y) { return X@[-2,0] + Y@[0,1].a; }
        parameter M; parameter float t;
        vector#2 float x[M, 9];
        vector#2 P p[M, 9];
        a = f(x:constant(2*t), p:mirror);
        b = f(x:clamped, p:constant(3));
        c = f(x, p:wrap);
        return a, b, c;
        """
    )
    a, b, c = [apply(graph, name) for name in "abc"]
    kinds = [one.kind for one in a.boundaries]
    assert kinds == [BoundaryKind.CONSTANT, BoundaryKind.MIRROR]
    value = a.boundaries[0].value
    assert isinstance(value, Arithmetic) and value.type is Scalar.FLOAT
    assert isinstance(value.b, ParameterValue)
    made = b.boundaries[1].value
    assert isinstance(made, Made)
    assert [(one.type, one) for one in made.values] == [
        (Scalar.FLOAT, Literal(Scalar.FLOAT, made.span, 3.0)),
        (Scalar.INT8, Literal(Scalar.INT8, made.span, 3)),
    ]
    assert [(size_text(i.first), size_text(i.stop)) for i in c.interior] == [
        ("2", "M"),
        ("0", "9"),
    ]
    assert all([size_text(i.first) == "0" for i in a.interior])
    assert [read.at for read in a.body.reads] == [
        (Access(-2), Access(0)),
        (Access(0), Access(1)),
    ]


def test_conversions_are_written_out() -> None:
    graph = forma.check(
        """
        stencil f(vector#1 int8 X, vector#1 double Y, float u) {
          low = X < 3;
          return X + X, X * 2.5, u * Y, low + 1, low, X;
        }
        parameter M; vector#1 int8 x[M]; vector#1 double y[M];
        a, b, c, d, e, g = f(x, y, 2);
        return a;
        """
    )
    stage = apply(graph, "a")
    kinds = [str(one) for one in stage.types]
    assert kinds == ["int", "float", "double", "int", "int", "int8"]
    (low,) = stage.body.assignments
    assert isinstance(low.value, Compare) and low.value.a.type is Scalar.INT
    total = stage.body.results[0]
    assert isinstance(total, Arithmetic)
    assert isinstance(total.a, Convert) and isinstance(total.a.of, Read)
    scaled = stage.body.results[2]
    assert isinstance(scaled, Arithmetic) and isinstance(scaled.a, Convert)
    assert isinstance(scaled.a.of, Literal) and scaled.a.of.type is Scalar.FLOAT
    assert [name for name, _ in graph.variables] == ["x", "y", *"abcdeg"]


def test_where_scaled_reads_are_inside() -> None:
    graph = forma.check(
        """
        stencil f(vector#1 int X) { return X@[(-3,2)] + X@[(4,2)] + X@[(0,3)]; }
        parameter M; vector#1 int x[M];
        return f(x);
        """
    )
    stage = apply(graph, "f")
    for m in range(3, 40):
        var = graph.parameters[0].var
        assert var is not None
        size = value_of(stage.sizes[0], {var: m})
        assert size == m // 3
        interior = stage.interior[0]
        inside = [
            i
            for i in range(size)
            if all(0 <= a < m for a in (2 * i - 3, 2 * i + 4, 3 * i))
        ]
        first = value_of(interior.first, {var: m})
        stop = value_of(interior.stop, {var: m})
        assert list(range(first, stop)) == inside


def test_names_and_aliases() -> None:
    graph = forma.check(
        """
        stencil f(vector#1 int X) { return X; }
        vector twice(vector#1 int X) { a = f(X); return f(a); }
        parameter M; vector#1 int x[M];
        y = x;
        f = twice(f(y));
        return f, y, y, f(x), f(x)[0..0];
        """
    )
    assert [stage.name for stage in graph.stages] == [
        *("x", "f", "f.a", "f#2", "f#3", "f#4", "crop")
    ]
    assert [one.name for one in graph.outputs] == ["f", "y", "y#2", "f#3", "crop"]
    assert isinstance(graph.stages[-1], Crop) and isinstance(graph.stages[0], Input)
    assert graph.outputs[1].source.stage is graph.stages[0]
    assert len(graph.needed()) == len(graph.stages)


def test_loops_count_down_and_their_variables_are_numbers() -> None:
    graph = forma.check(
        """
        stencil scale(vector#1 int X, int k) { return k * X; }
        parameter M; vector#1 int x[M];
        g<3> = x;
        for i = 2..0 by -1
          for j = 0..0
            g<i>[i + j..] = scale(g<i+1>, 10*i + j)[0..M-1];
          endfor
        endfor
        return x;
        """
    )
    assert sizes(graph)["g<2>"] == "M+2"
    composed = [one for one in graph.stages if isinstance(one, Compose)]
    assert [one.name for one in composed] == ["g<2>", "g<1>", "g<0>"]
    assert [size_text(one.parts[0].place[0].offset) for one in composed] == [*"210"]
    assert isinstance(composed[0].parts[0].place[0], Place)


def test_numbers_are_variables_too() -> None:
    graph = forma.check(
        """
        stencil scale(vector#1 float X, float k) { return k * X; }
        vector soft(vector#1 float X, float k, int n) {
          half = k / 2;
          return scale(X, half)[n..n + 1];
        }
        parameter M; parameter float t; vector#1 float x[M];
        u = 2 * t; n = M - 2;
        return soft(x, u, n);
        """
    )
    assert sizes(graph)["soft"] == "2"
    crop = graph.stages[-1]
    assert isinstance(crop, Crop) and size_text(crop.first[0]) == "M-2"


def test_functions_that_nothing_applies_are_checked_as_far_as_possible() -> None:
    forma.check(
        """
        stencil f(vector#1 float X) { return X; }
        vector u(vector#1 float X, int n) { return X[0..n]; }
        vector v(vector#1 float X, int n) { g<n> = X; return f(g<n>); }
        parameter M; vector#1 float x[M];
        return x;
        """
    )
    with pytest.raises(FormaError, match="there is no variable 'Y'"):
        forma.check(
            "vector u(vector#1 float X, int n) { y = Y; g<n> = X; return X; }"
            "parameter M; vector#1 float x[M]; return x;"
        )


def test_gaps_and_overlaps_that_the_parameters_decide() -> None:
    graph = forma.check(
        """
        parameter M, N, K; vector#1 int x[M], y[N];
        z = ([0..] = x; [K..] = y;);
        return z;
        """
    )
    given = {one.name: one.var for one in graph.parameters}

    def holds(m: int, n: int, k: int) -> bool:
        values = {given["M"]: m, given["N"]: n, given["K"]: k}
        return all(
            [
                value_of(one.condition, {v: x for v, x in values.items() if v})
                for one in graph.requirements
            ]
        )

    for m in range(1, 6):
        for n in range(1, 6):
            for k in range(-2, 8):
                assert holds(m, n, k) == (k == m), (m, n, k)


def test_many_stages() -> None:
    lines = "".join([f"x{i + 1} = f(x{i}:mirror);\n" for i in range(10_000)])
    graph = forma.check(
        "stencil f(vector#2 float X) { return X@[-1,0] + X@[1,0]; }\n"
        f"parameter M, N; vector#2 float x0[M,N];\n{lines} return x10000;"
    )
    assert len(graph.stages) == 10_001
    doubling = "".join(
        [
            f"vector v{i}(vector#1 int X) {{ return v{i - 1}(v{i - 1}(X)); }}\n"
            for i in range(1, 40)
        ]
    )
    with pytest.raises(FormaError, match="more than 20000 stages"):
        forma.check(
            "stencil f(vector#1 int X) { return X; }"
            "vector v0(vector#1 int X) { return f(X); }"
            f"{doubling} parameter M; vector#1 int x[M]; return v39(x);"
        )


def test_deep_expressions() -> None:
    for deep in (
        "(X + " * 5000 + "X" + ")" * 5000,
        "-" * 20_000 + "X",
        "X + " * 20_000,
    ):
        whole = deep if not deep.endswith("+ ") else deep + "X"
        graph = forma.check(
            f"stencil f(vector#1 int X, int k) {{ return k * ({whole}); }}"
            "parameter M; vector#1 int x[M]; return f(x, 3);"
        )
        assert len(graph.stages) == 2
    nested = "f(" * 2000 + "x" + ")" * 2000
    graph = forma.check(
        "stencil f(vector#1 int X) { return X; }"
        f"parameter M; vector#1 int x[M]; return {nested};"
    )
    assert len(graph.stages) == 2001
