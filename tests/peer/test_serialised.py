"""Pipelines that are written and read, by both modules."""

from __future__ import annotations

import numpy as np

import parhelion as hl
from tests.peer.test_programs import halide


def test_pipelines_as_bytes() -> None:
    for module in (hl, halide()):
        x, y = module.Var("x"), module.Var("y")
        p = module.Param(module.Int(32), "factor", 2)
        f, g = module.Func("product"), module.Func("difference")
        f[x, y] = x * p + y
        g[x, y] = x - y
        data, params = module.serialize_pipeline(
            module.Pipeline([f, g]), get_params=True
        )
        assert isinstance(data, bytes) and [*params] == [p.name()]
        (told,) = module.deserialize_parameters(data).values()
        assert told.name().startswith("factor") and told.type() == module.Int(32)
        given = {p.name(): module.Param(module.Int(32), p.name(), 5).parameter()}
        again = module.deserialize_pipeline(data, given)
        product, difference = again.realize([4, 3])
        assert product[3, 2] == 17 and difference[1, 2] == -1
        both = module.deserialize_pipeline(data, params).realize([4, 3])
        assert np.asarray(both[0]).tolist()[2][3] == 8
