"""`Pipeline.add_requirement`: conditions that are checked whenever a pipeline runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from tests.aot.builds import HOST

x, y = hl.vars("x y")


def limited(value: int) -> tuple[hl.Pipeline, hl.Param, hl.Func]:
    p = hl.Param(hl.Int(32), "p", value)
    f = hl.Func("limited")
    f[x] = x + p
    pipeline = hl.Pipeline(f)
    pipeline.add_requirement(p > 5, "p is", p, "but must be more than 5")
    return pipeline, p, f


MESSAGE = "requirement failed: p is 3 but must be more than 5"


def test_it_is_checked_each_time() -> None:
    pipeline, p, f = limited(6)
    assert np.asarray(pipeline.realize([3])).tolist() == [6, 7, 8]
    p.set(3)
    with pytest.raises(hl.PipelineRuntimeError, match=MESSAGE):
        pipeline.realize([3])
    # It is the Pipeline's, not the Func's.
    assert np.asarray(f.realize([3])).tolist() == [3, 4, 5]


def test_nothing_is_computed_where_it_fails() -> None:
    pipeline, _, _ = limited(3)
    out = hl.Buffer(np.full(4, 9, np.int32))
    with pytest.raises(hl.PipelineRuntimeError):
        pipeline.realize(out)
    assert np.asarray(out).tolist() == [9] * 4


def test_one_more_after_the_first_run() -> None:
    pipeline, p, _ = limited(7)
    pipeline.realize([3])
    pipeline.add_requirement(p % 2 == 0)
    with pytest.raises(hl.PipelineRuntimeError, match="failed: p % 2 == 0"):
        pipeline.realize([3])
    p.set(8)
    pipeline.realize([3])


@pytest.mark.parametrize(
    "run_it",
    [
        lambda pipeline: pipeline.profile([3]),
        lambda pipeline: list(pipeline.trace([3])),
        lambda pipeline: pipeline.infer_input_bounds([3]) or pipeline.realize([3]),
        lambda pipeline: pipeline.realize([3], hl.Target("host-strict_float")),
    ],
)
def test_however_it_runs(run_it: Callable[[hl.Pipeline], object]) -> None:
    pipeline, p, _ = limited(3)
    with pytest.raises(hl.PipelineRuntimeError, match=MESSAGE):
        run_it(pipeline)
    p.set(6)
    run_it(pipeline)


def test_callables_have_it() -> None:
    pipeline, p, _ = limited(0)
    call = pipeline.compile_to_callable([p])
    out = np.zeros(3, np.int32)
    call(6, out)
    assert out.tolist() == [6, 7, 8]
    with pytest.raises(hl.PipelineRuntimeError, match=MESSAGE):
        call(3, out)


def test_an_image_that_nothing_else_mentions() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f = hl.Func("f")
    f[x] = x
    pipeline = hl.Pipeline(f)
    pipeline.add_requirement(
        image.width() == 2 * image.height(), "sides:", image.width(), image.height()
    )
    assert [a.name for a in pipeline.infer_arguments()] == ["image"]
    image.set(np.zeros((3, 6), np.uint8))
    assert np.asarray(pipeline.realize([2])).tolist() == [0, 1]
    image.set(np.zeros((3, 5), np.uint8))
    with pytest.raises(hl.PipelineRuntimeError, match="sides: 5 3"):
        pipeline.realize([2])


def test_generators_have_it() -> None:
    class Demanding(hl.Generator):
        gain = hl.InputScalar(hl.Float(32))
        out = hl.OutputBuffer(hl.Float(32), 1)

        def generate(self) -> None:
            self.add_requirement(self.gain > 0, "the gain is", self.gain)
            self.out[x] = self.gain * x

    call = Demanding().compile_to_callable()
    out = np.zeros(3, np.float32)
    call(2.0, out)
    assert out.tolist() == [0, 2, 4]
    with pytest.raises(hl.PipelineRuntimeError, match="the gain is -1.5"):
        call(-1.5, out)


def test_ahead_of_time(tmp_path: Path) -> None:
    """The object and the C text refuse with the code of a failed requirement."""
    pipeline, p, _ = limited(0)
    pipeline.compile_to_object(str(tmp_path / "limited.o"), [p], "limited")
    pipeline.compile_to_header(str(tmp_path / "limited.h"), [p], "limited")
    pipeline.compile_to_c(str(tmp_path / "text.c"), [p], "limited")
    (tmp_path / "main.c").write_text(
        """
#include "limited.h"
#include <stdio.h>
int main(void) {
    int32_t pixels[3];
    struct halide_dimension_t dim = {0, 3, 1, 0};
    struct halide_buffer_t b = {0};
    b.host = (uint8_t *)pixels;
    b.type.bits = 32;
    b.type.lanes = 1;
    b.dimensions = 1;
    b.dim = &dim;
    int wrong = limited(3, &b), right = limited(6, &b);
    printf("%d %d %d\\n", wrong, right, pixels[2]);
    return 0;
}
"""
    )
    for made in ("limited.o", "text.c"):
        source, flags = tmp_path / "main.c", ("-fwrapv", "-fopenmp")
        done = HOST.run(source, [tmp_path / made], tmp_path, [], flags)
        assert done.stdout.split() == ["-27", "0", "8"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (lambda f, image: f[0] > 0, "depends on the Func 'f'"),
        (lambda f, image: image[0, 0] > 0, "depends on the pixels of an image"),
        (lambda f, image: x > 0, "depends on 'x'"),
        (lambda f, image: hl.RDom([(0, 3)]).x > 0, "depends on "),
    ],
)
def test_what_is_not_known_before(
    condition: Callable[[hl.Func, hl.ImageParam], hl.Expr], message: str
) -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(hl.DefinitionError, match=message):
        hl.Pipeline(f).add_requirement(condition(f, image))


def test_what_is_no_condition() -> None:
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(hl.TypeMismatchError, match="condition of add_requirement is a"):
        hl.Pipeline(f).add_requirement(hl.Param(hl.Int(32)))


def test_conceptual_statements(tmp_path: Path) -> None:
    f = hl.Func("f")
    f[x] = x * 2
    f.vectorize(x, 8)
    f.compile_to_conceptual_stmt(tmp_path / "f.stmt")
    told = (tmp_path / "f.stmt").read_text()
    assert "vectorized (f.s0." in told and "ramp(" not in told
    f.compile_to_conceptual_stmt(tmp_path / "f.html", [], hl.StmtOutputFormat.HTML)
    assert "<html" in (tmp_path / "f.html").read_text()
    kinds = hl.OutputFileType
    files = {
        kinds.conceptual_stmt: tmp_path / "m.stmt",
        kinds.conceptual_stmt_html: tmp_path / "m.html",
    }
    f.compile_to(files, [], "f")
    assert (tmp_path / "m.stmt").read_text() == told
    assert "<html" in (tmp_path / "m.html").read_text()
