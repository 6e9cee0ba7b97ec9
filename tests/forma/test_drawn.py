"""Random programs that are right pass all checks, and the reference evaluates them."""

from __future__ import annotations

import numpy as np
import pytest

from parhelion import forma
from parhelion.forma.reference import dtype_of, evaluate
from tests.forma.draw import draw

pytestmark = pytest.mark.parametrize("first", range(0, 100, 20))


@pytest.mark.parametrize("math", [False, True])
def test_drawn(first: int, math: bool) -> None:
    for seed in range(first, first + 20):
        drawn = draw(seed, math)
        graph = forma.check(drawn.text, f"drawn{seed}.forma")
        sizes = graph.verify(drawn.parameters)
        outputs = evaluate(graph, drawn.inputs, drawn.parameters)
        assert len(outputs) == len(graph.outputs) and sizes
        for output, array in zip(graph.outputs, outputs, strict=True):
            assert array.dtype == dtype_of(output.source.type)
            for part in [array[f] for f in array.dtype.names or ()] or [array]:
                assert np.isfinite(part).all(), drawn.text


def test_the_same_seed_draws_the_same(first: int) -> None:
    one, other = draw(first), draw(first)
    assert one.text == other.text and one.parameters == other.parameters
    for name, array in one.inputs.items():
        assert np.array_equal(array, other.inputs[name])
