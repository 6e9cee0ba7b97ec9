"""The programs on the page about Forma: they run, or are refused as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lark")

from parhelion import forma
from parhelion.errors import FormaError
from parhelion.forma.reference import dtype_of, evaluate
from parhelion.forma.sizes import value_of
from tests.cli.support import done

PAGE = Path(__file__).parent.parent.parent / "docs" / "forma.md"
#: Each program with what the page has under it, "" for nothing.
PROGRAMS = re.findall(
    r"^```forma\n(.*?)^```\n(?:```text\n(.*?)^```)?", PAGE.read_text(), re.DOTALL | re.M
)


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == PAGE.read_text().count("```forma\n") == 20
    assert sum([1 for _, under in PROGRAMS if "hint:" in under]) == 7


@pytest.mark.parametrize("k", range(len(PROGRAMS)))
def test_a_program(k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, under = PROGRAMS[k]
    if "  --> page.forma" in under:
        with pytest.raises(FormaError) as caught:
            forma.check(text, "page.forma")
        assert str(caught.value) + "\n" == under
        return
    graph = forma.check(text, "page.forma")
    if under:
        monkeypatch.chdir(tmp_path)
        Path("page.forma").write_text(text)
        assert done("forma", "sizes", "page.forma").stdout == under
    given = {
        one.name: 40 + k if one.var is not None else 0.5
        for k, one in enumerate(graph.parameters)
    }
    sizes = graph.verify(given)
    rng = np.random.default_rng(0)
    inputs = {}
    for one in graph.inputs:
        shape = [value_of(size, sizes) for size in one.sizes][::-1]
        array = np.zeros(shape, dtype_of(one.types[0]))
        for part in [array[f] for f in array.dtype.names or ()] or [array]:
            part[...] = rng.integers(0, 100, shape)
        inputs[one.name] = array
    outputs = evaluate(graph, inputs, given)
    assert len(outputs) == len(graph.outputs)
