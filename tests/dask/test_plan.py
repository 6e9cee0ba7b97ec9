"""`hd.plan`: chunks, halos and bytes, as text and as data."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd
from parhelion.dask.jobs import Cutter
from parhelion.dask.preparing import Wishes, prepare

x, y = hl.vars("x y")
B = hl.BoundaryConditions


def big(*chunks: int) -> da.Array:
    found: da.Array = da.zeros((5000, 7000), chunks=chunks, dtype=np.uint8)
    return found


def blur(border: Any) -> hl.Func:
    edge = border(hl.ImageParam(hl.UInt(8), 2, "photo"))
    rows, out = hl.funcs("rows out")
    rows[x, y] = hl.u16(edge[x - 3, y]) + edge[x + 2, y]
    out[x, y] = hl.u8(rows[x, y - 4] + rows[x, y + 6])
    rows.compute_root()
    return out


@pytest.mark.parametrize(
    "border", [B.repeat_edge, B.mirror_image, B.mirror_interior, B.repeat_image]
)
def test_halos_of_each_side(border: Any) -> None:
    plan = hd.plan(blur(border), big(1000, 1000))
    (output,) = plan.outputs
    (image,) = output.images
    assert [a.halo for a in image.axes] == [(4, 6), (3, 2)]
    assert [a.output_axis for a in image.axes] == [0, 1]
    assert [a.scale for a in image.axes] == [1, 1]
    assert output.tasks == 35 and output.chunk == (1000, 1000)
    assert output.chunk_bytes == 1010 * 1005 + 1000 * 1000
    assert plan.bytes_written == 5000 * 7000


def test_bytes_are_those_that_the_chunks_read() -> None:
    """They are counted dimension by dimension, and here chunk by chunk."""
    image, other = hl.ImageParam(hl.UInt(8), 2), hl.ImageParam(hl.Int(16), 2)
    edge, turned = B.mirror_image(image), B.repeat_edge(other)
    out = hl.Func("out")
    out[x, y] = edge[x - 3, y] + hl.u8(turned[y, 2 * x + y])
    arrays = {image: big(700, 900), other: da.zeros((900, 500), dtype=np.int16)}
    plan = hd.plan(out, arrays, shape=(600, 800), chunks=(97, 300))
    _, (prepared,) = prepare(
        out, [arrays], None, Wishes(shape=(600, 800), chunks=(97, 300))
    )
    part = prepared.part
    cutter = Cutter(part)
    read = 0
    for place, box in part.boxes():
        job, _ = cutter.job(place, box)
        sizes = [np.prod([n for _, n in region]) for region in job.needed]
        read += sum(
            int(n) * a.dtype.itemsize
            for n, a in zip(sizes, part.asked.arrays, strict=True)
        )
    assert plan.bytes_read == read > 0


def test_scaled_and_turned() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    edge = B.repeat_edge(image)
    half, turn, up = hl.funcs("half turn up")
    half[x, y] = edge[2 * x - 1, 2 * y] + edge[2 * x + 2, 2 * y + 1]
    turn[x, y] = edge[y, x]
    up[x, y] = edge[x / 3, y / 2] + edge[x / 3 + 1, y / 2]
    plan = hd.plan(half, big(1000, 1000), shape=(2500, 3500))
    axes = plan.outputs[0].images[0].axes
    assert [a.scale for a in axes] == [2, 2]
    assert [a.halo for a in axes] == [(0, 0), (1, 1)]
    assert plan.outputs[0].chunks == ((500,) * 5, (500,) * 7)
    axes = hd.plan(turn, big(500, 1000), shape=(7000, 5000)).outputs[0].images[0].axes
    assert [a.output_axis for a in axes] == [1, 0]
    (output,) = hd.plan(up, big(1000, 1000), shape=(10000, 21000)).outputs
    assert output.chunks == ((2000,) * 5, (3000,) * 7)
    axes = output.images[0].axes
    assert [a.halo for a in axes] == [(0, 0), (0, 1)]
    assert "0.333333 pixels for 1" in str(axes[1])


def test_data_dependent_reads_are_said() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    out = hl.Func("out")
    at = hl.clamp(hl.i32(image[x, y]) * 100, 0, image.width() - 1)
    out[x, y] = image[at, y]
    plan = hd.plan(out, big(1000, 1000))
    axes = plan.outputs[0].images[0].axes
    assert axes[0].halo == (0, 0)
    assert axes[1].whole and axes[1].halo is None and axes[1].output_axis is None
    assert "axis 1: all of it, for each chunk" in str(plan)
    # So the chunks of the output are as wide, and it is read once.
    assert plan.outputs[0].chunk == (1000, 7000)
    assert plan.outputs[0].images[0].bytes_read == 5000 * 7000


def test_text_and_data() -> None:
    plan = hd.plan(blur(B.repeat_edge), big(1000, 1000))
    data = plan.data()
    assert json.loads(json.dumps(data)) == data
    assert data["outputs"][0]["images"][0]["axes"][0]["halo"] == [4, 6]
    assert data["read_per_written"] == plan.read_per_written
    assert plan.read_per_written == pytest.approx(1.0114, abs=1e-3)
    text = str(plan)
    assert "a halo of 4 before and 6 after" in text
    assert "35.4 MB read, 35 MB written: 1.01 bytes read for each byte written" in text
    first, last = data["outputs"][0]["images"][0]["axes"][1]["first"], "photo_extent_0"
    assert "- 3" in first.replace("+ -3", "- 3") or "-2" in first
    assert last in data["outputs"][0]["images"][0]["axes"][1]["last"]


def test_chunks_are_proposed_within_memory() -> None:
    for memory, workers in (("1MB", 2), ("16MB", 2), ("16MB", 64)):
        plan = hd.plan(
            blur(B.repeat_edge),
            big(500, 7000),
            rechunk="auto",
            memory=memory,
            workers=workers,
        )
        (output,) = plan.outputs
        assert output.chunk_bytes <= int(memory[:-2]) * 1_000_000
        assert output.tasks >= min(4 * workers, 256) or output.tasks >= workers


def test_a_plan_has_a_time_and_a_picture() -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo <1>")
    out = hl.Func("out")
    edge = hl.BoundaryConditions.repeat_edge(image)
    out[x, y] = edge[x - 3, y] + edge[x, y + 2]
    pixels = da.zeros((400, 600), chunks=(100, 150), dtype=np.uint8)
    plan = hd.plan(out, pixels, workers=2)
    bytes_of_all = plan.bytes_read + plan.bytes_written
    assert plan.seconds == pytest.approx(8 * (1e-3 + bytes_of_all / 16 / 1e9))
    assert plan.data()["seconds"] == plan.seconds
    assert str(plan).endswith(
        f"estimated {plan.seconds:.3g} s by 2 workers, of bytes and tasks alone"
    )
    # The chunk that is drawn, in the middle, and what it reads.
    (one,) = plan.outputs
    assert one.example == ((200, 100), (300, 150))
    assert one.images[0].example == ((200, 102), (297, 153))
    root = ElementTree.fromstring(plan.picture())
    shapes = [e.tag.split("}")[1] for e in root]
    assert shapes.count("rect") == 4  # two arrays, and a chunk in each
    assert shapes.count("line") == 2 * (3 + 3)
    texts = [e.text for e in root if e.tag.endswith("text")]
    assert texts[1] == "-> out (400 x 600)"
    assert plan._repr_svg_() == plan.picture()
