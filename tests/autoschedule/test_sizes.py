"""Where sizes come from, and which of several sources is believed."""

from __future__ import annotations

import numpy as np
import pytest

import parhelion as hl
from parhelion.autoschedule.pipeline.sizes import Box, Given, Sizes, find_sizes
from parhelion.ir.names import plain_name

x, y, c = hl.vars("x y c")


def sizes_of(*outputs: hl.Func, given: Given | None = None) -> Sizes:
    return find_sizes([f._function for f in outputs], given)


def output(sizes: Sizes) -> Box:
    (found,) = sizes.outputs.values()
    return found


def images(sizes: Sizes) -> dict[str, Box | None]:
    return {plain_name(s.name): box for s, box in sizes.images.items()}


def values(sizes: Sizes) -> dict[str, object]:
    return {plain_name(p.name): v for p, v in sizes.params.items()}


def pointwise(*image: hl.ImageParam | hl.Buffer) -> hl.Func:
    f = hl.Func("f")
    f[x, y] = sum(one[x, y] for one in image)
    return f


def image(name: str = "image") -> hl.ImageParam:
    return hl.ImageParam(hl.Float(32), 2, name)


# Outputs.


def test_estimates_of_an_output() -> None:
    f = pointwise(image())
    f.set_estimates([(2, 10), (-3, 20)])
    assert output(sizes_of(f)) == ((2, 11), (-3, 16))
    f.set_estimate(x, 0, 5)
    assert output(sizes_of(f)) == ((0, 4), (-3, 16))


def test_estimates_of_an_output_buffer_serve_as_well() -> None:
    f = pointwise(image())
    f.output_buffer().set_estimates([(1, 10), (1, 20)])
    assert output(sizes_of(f)) == ((1, 10), (1, 20))
    f.set_estimates([(0, 7), (0, 8)])
    assert output(sizes_of(f)) == ((0, 6), (0, 7))


def test_promises_come_before_estimates() -> None:
    f = pointwise(image())
    f.set_estimates([(5, 10), (5, 20)])
    f.bound(x, 0, 64)
    f.output_buffer().dim(1).set_bounds(1, 32)
    assert output(sizes_of(f)) == ((0, 63), (1, 32))


def test_an_extent_alone_begins_where_the_estimate_says_or_at_0() -> None:
    f = pointwise(image())
    f.bound_extent(x, 64).bound_extent(y, 32)
    assert output(sizes_of(f)) == ((0, 63), (0, 31))
    f.set_estimate(y, 4, 1000)
    assert output(sizes_of(f)) == ((0, 63), (4, 35))


def test_what_is_given_comes_first_from_the_promised_min_on() -> None:
    f = pointwise(image())
    f.set_estimates([(5, 10), (5, 20)])
    f.output_buffer().dim(0).set_min(3)
    given = Given({f._function: [(None, 8), (None, 9)]})
    assert output(sizes_of(f, given=given)) == ((3, 10), (0, 8))
    given = Given({f._function: [(-1, 8), (-2, 9)]})
    assert output(sizes_of(f, given=given)) == ((-1, 6), (-2, 6))


def test_alignment_says_nothing_of_sizes() -> None:
    f = pointwise(image())
    f.align_bounds(x, 8).align_extent(y, 4)
    f.set_estimates([(0, 10), (0, 20)])
    assert output(sizes_of(f)) == ((0, 9), (0, 19))


def test_promises_in_terms_of_images_and_params() -> None:
    a, size = image(), hl.Param(hl.Int(32), "size", 12)
    f = pointwise(a)
    f.output_buffer().dim(0).set_extent(a.width() - 2)
    f.bound(y, size, a.height() * 2)
    a.set_estimates([(0, 100), (0, 50)])
    assert output(sizes_of(f)) == ((0, 97), (12, 111))
    # Without the size of the image there is nothing to go by but the estimates.
    a.dim(0).set_estimate(hl.Expr(), hl.Expr())
    with pytest.raises(hl.ScheduleError, match="how large the output f.* is in x"):
        sizes_of(f)
    f.set_estimate(x, 0, 30)
    assert output(sizes_of(f)) == ((0, 29), (12, 111))


def test_promises_that_refer_to_each_other_say_nothing() -> None:
    a, b = image("a"), image("b")
    a.dim(0).set_extent(b.dim(0).extent())
    b.dim(0).set_extent(a.dim(0).extent())
    f = pointwise(a, b)
    f.set_estimates([(0, 10), (0, 10)])
    assert images(sizes_of(f)) == {"a": None, "b": None}


def test_outputs_without_dimensions_and_with_several_values() -> None:
    f, g = hl.funcs("f g")
    f[()] = 3.0
    g[x] = hl.Tuple(x, f[()])
    g.output_buffers()[1].dim(0).set_bounds(1, 6)
    found = sizes_of(g, f)
    assert found.outputs == {g._function: ((1, 6),), f._function: ()}


# Images.


def test_images_that_nobody_knows_are_left_open() -> None:
    a = image()
    f = pointwise(a)
    f.set_estimates([(0, 10), (0, 10)])
    assert images(sizes_of(f)) == {"image": None}
    a.dim(0).set_estimate(0, 100)
    assert images(sizes_of(f)) == {"image": None}, "one dimension is no box"


def test_sources_of_the_size_of_an_image() -> None:
    a = image()
    f = pointwise(a)
    f.set_estimates([(0, 10), (0, 10)])
    array = hl.Buffer(np.zeros((30, 40), np.float32))
    array.set_min([1, 2])
    a.set(array)
    real = ((1, 40), (2, 31))
    assert images(sizes_of(f)) == {"image": real}
    a.set_estimates([(0, 100), (0, 90)])
    assert images(sizes_of(f)) == {"image": ((0, 99), (0, 89))}
    a.dim(1).set_bounds(3, 80)
    assert images(sizes_of(f)) == {"image": ((0, 99), (3, 82))}
    # Where the pipeline will run on what is set, that is what it runs on.
    assert images(sizes_of(f, given=Given(real=True))) == {"image": real}
    other = hl.Buffer(np.zeros((3, 4), np.float32))
    given = Given(images={a._sym: other})
    assert images(sizes_of(f, given=given)) == {"image": ((0, 3), (0, 2))}


def test_a_buffer_in_the_algorithm_is_as_large_as_it_is() -> None:
    b = hl.Buffer(np.zeros((30, 40), np.float32), "data")
    f = pointwise(b)
    f.set_estimates([(0, 10), (0, 10)])
    assert list(sizes_of(f).images.values()) == [((0, 39), (0, 29))]


# Params.


def loops(size: hl.Param) -> hl.Func:
    f = hl.Func("f")
    r = hl.RDom([(0, size)])
    f[x] = 0
    f[x] += r
    f.set_estimate(x, 0, 10)
    return f


def test_sources_of_the_value_of_a_param() -> None:
    size = hl.Param(hl.Int(32), "size")
    f = loops(size)
    size.set_range(3, 10)
    assert values(sizes_of(f)) == {"size": 6}
    size.set(4)
    assert values(sizes_of(f)) == {"size": 4}
    size.set_estimate(9)
    assert values(sizes_of(f)) == {"size": 9}
    assert values(sizes_of(f, given=Given(real=True))) == {"size": 4}
    assert values(sizes_of(f, given=Given(params={size._sym: 7}))) == {"size": 7}


def test_half_a_range_has_no_middle() -> None:
    size = hl.Param(hl.Int(32), "size")
    size.set_min_value(3)
    with pytest.raises(hl.ScheduleError, match="a value of the Param 'size"):
        sizes_of(loops(size))


def test_values_on_which_no_size_depends_may_be_unknown() -> None:
    gain = hl.Param(hl.Float(32), "gain")
    negative = hl.Param(hl.Bool(), "negative")
    f = hl.Func("f")
    f[x] = hl.select(negative, -1.0, 1.0) * gain * hl.f32(x)
    f.set_estimate(x, 0, 10)
    assert values(sizes_of(f)) == {}
    negative.set_estimate(False)
    gain.set_range(1.0, 2.0)
    assert values(sizes_of(f)) == {"negative": False, "gain": 1.5}


def test_params_in_the_middle_of_a_pipeline() -> None:
    shift, size = hl.Param(hl.Int(32), "shift"), hl.Param(hl.Int(32), "size", 5)
    f, g = hl.funcs("f g")
    f[x] = x
    r = hl.RDom([(0, size)], "r")
    g[x] = hl.maximum(f[x + r * shift])
    g.set_estimate(x, 0, 10)
    with pytest.raises(hl.ScheduleError, match="place where maximum.* reads f"):
        sizes_of(g)
    shift.set_estimate(2)
    assert values(sizes_of(g)) == {"shift": 2, "size": 5}
