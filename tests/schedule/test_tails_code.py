"""What tails and partitioning come to, in the lowered text and in assembly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import parhelion as hl
from parhelion.codegen.target import host_target
from parhelion.interp import interpret

T = hl.TailStrategy
x, y, u, v = hl.vars("x y u v")

needs_masks = pytest.mark.skipif(
    not host_target().has("avx512bw"), reason="masked moves of bytes are of AVX-512BW"
)


def stored(tail: hl.TailStrategy, t: hl.Type) -> hl.Func:
    """A stored Func in vectors of 16, read by the output."""
    image = hl.ImageParam(t, 1, "image")
    f, g = hl.funcs("f g")
    f[x] = image[x] + hl.cast(t, 1)
    g[x] = f[x]
    f.compute_root().split(x, u, v, 16, tail).vectorize(v)
    return g


def text_of(g: hl.Func) -> str:
    return re.sub(r"\$\d+", "", g._pipeline().lowered_text())


def accesses(g: hl.Func) -> tuple[int, int]:
    """How many loads and stores of vectors are predicated."""
    loads = stores = 0
    for line in text_of(g).split("\n"):
        left, found, right = line.partition("] = ")
        if found and left.lstrip().startswith("f["):
            stores += " if " in left
            loads += " if " in right
    return loads, stores


@pytest.mark.parametrize(
    ("tail", "masked"),
    [
        (T.Predicate, (1, 1)),
        (T.PredicateLoads, (1, 0)),
        (T.PredicateStores, (0, 1)),
        (T.GuardWithIf, (1, 1)),
        (T.RoundUp, (0, 0)),
        (T.ShiftInwards, (0, 0)),
    ],
)
def test_what_is_predicated(tail: hl.TailStrategy, masked: tuple[int, int]) -> None:
    assert accesses(stored(tail, hl.Int(32))) == masked


def test_a_blend_reads_what_it_stores_over() -> None:
    f, g = hl.funcs("f g")
    f[x] = x
    f[x] = f[x] * 2
    g[x] = f[x]
    f.compute_root()
    f.update(0).vectorize(x, 8, T.RoundUpAndBlend)
    assert re.search(r"f\[.*\] = select\(.*f\[", text_of(g))


def test_a_blend_inside_predicated_stores_reads_no_further() -> None:
    """Under a mask for stores alone, what is kept was read beyond the buffer's end."""
    f = hl.Func("f")
    f[x] = x % 251
    f.vectorize(x, 2, T.PredicateStores).split(x, u, v, 2, T.RoundUpAndBlend)
    lines = [n for n in text_of(f).split("\n") if "] = select(" in n]
    masked = [n.partition("] = ") for n in lines if " if " in n]
    assert masked
    for left, _, right in masked:
        assert " if " in left and re.search(r"f\[.* if .*\]", right)
    for size in (1, 5, 8):
        assert np.asarray(f.realize([size])).tolist() == list(range(size))


@needs_masks
@pytest.mark.parametrize(("kind", "move"), [(32, "vmovdqu32"), (8, "vmovdqu8")])
def test_a_predicated_tail_is_one_masked_move_each_way(
    kind: int, move: str, tmp_path: Path
) -> None:
    for tail, loads, stores in (
        (T.Predicate, 1, 1),
        (T.GuardWithIf, 1, 1),
        (T.PredicateLoads, 1, 0),
        (T.PredicateStores, 0, 1),
    ):
        g = stored(tail, hl.UInt(8) if kind == 8 else hl.Int(32))
        g.compile_to_assembly(tmp_path / "g.s", [])
        asm = (tmp_path / "g.s").read_text()
        into = rf"{move}\s+\([^\n]*\), %\w+ {{%k\d}} {{z}}"
        out_of = rf"{move}\s+%\w+, \([^\n]*\) {{%k\d}}"
        assert len(re.findall(into, asm)) == loads, tail
        assert len(re.findall(out_of, asm)) == stores, tail


@needs_masks
@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16)])
def test_a_strided_masked_load_is_dense_and_shuffled(t: hl.Type, step: int) -> None:
    """There is no gather of narrow lanes; each would be a branch."""
    size = 21
    pixels = (np.arange(step * (size - 1) + 1) * 7 % 100).astype(
        np.uint8 if t.bits() == 8 else np.int16
    )
    image = hl.Buffer(pixels)
    f = hl.Func("f")
    f[x] = image[step * x] + hl.cast(t, 1)
    f.vectorize(x, 16, T.Predicate)
    assert np.array_equal(np.asarray(f.realize([size])), pixels[::step] + 1)
    text = f._pipeline().llvm_text()
    assert "masked.gather" not in text
    assert "masked.load" in text


@needs_masks
@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16)])
def test_a_strided_masked_store_is_dense(t: hl.Type, step: int) -> None:
    """What lies between its lanes, and beyond the mask, stays as it is."""
    size = 21
    f, into = hl.Func("f"), hl.RDom([(0, size)])
    f[x] = hl.cast(t, 99)
    f[step * into.x] = hl.cast(t, into.x)
    f.update().vectorize(into.x, 16, T.Predicate)
    f.vectorize(x, 16, T.Predicate)
    for extent in (step * (size - 1) + 1, step * size + 40):
        wanted = np.full(extent, 99)
        wanted[: step * size : step][:size] = np.arange(size)
        assert np.array_equal(np.asarray(f.realize([extent])), wanted)
    text = f._pipeline().llvm_text()
    assert "masked.scatter" not in text
    lanes = 16 * step
    assert f"masked.store.v{lanes}i{t.bits()}" in text


@pytest.mark.parametrize("t", [hl.UInt(8), hl.Int(16), hl.Int(32)])
def test_lanes_of_a_mask_that_lie_anywhere_are_no_branches(t: hl.Type) -> None:
    """There is no gather and no scatter of narrow lanes. LLVM would make two blocks of
    each, and the time of its register allocation grows with the square of those."""
    size = 37
    source = np.random.default_rng(5)
    order = source.permutation(64).astype(np.int32)
    values = source.integers(0, 100, 64).astype(np.uint8 if t.bits() == 8 else np.int16)
    at, image = hl.Buffer(order), hl.Buffer(values)
    f, into = hl.Func("f"), hl.RDom([(0, size)])
    f[x] = hl.cast(t, 99)
    place = hl.clamp(at[into.x], 0, 63)
    f[place] = hl.cast(t, image[63 - place]) + 1
    f.update().allow_race_conditions().vectorize(into.x, 16, T.Predicate)
    wanted = np.full(64, 99)
    wanted[order[:size]] = values[63 - order[:size]].astype(int) + 1
    assert np.array_equal(np.asarray(f.realize([64])), wanted)
    text = f._pipeline().llvm_text(optimised=False)
    if t.bits() < 32:
        assert "masked.scatter" not in text
    assert "masked.gather.v16i8" not in text and "masked.gather.v16i16" not in text


def clamped() -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    edge = hl.BoundaryConditions.repeat_edge(image)
    f = hl.Func("f")
    f[x, y] = edge[x - 1, y] + edge[x + 1, y]
    return f


def test_a_loop_that_is_never_partitioned_is_there_once() -> None:
    assert text_of(clamped()).count("for (f.s0.x") > 1
    whole = clamped().never_partition_all()
    assert text_of(whole).count("for (f.s0.x") == 1
    assert text_of(whole).count("for (f.s0.y") == 1
    assert text_of(clamped().never_partition([x, y])).count("for (f.s0.x") == 1


def test_a_loop_that_is_always_partitioned_is_so_beside_the_middle_too() -> None:
    def guarded() -> hl.Func:
        image = hl.ImageParam(hl.Int(32), 2, "image")
        f = hl.Func("f")
        f[x, y] = image[x, y]
        f.split(y, y, v, 4, T.GuardWithIf).vectorize(x, 8, T.GuardWithIf)
        return f.reorder(v, x, y)

    plain = text_of(guarded()).count("for (f.s0.x")
    always = text_of(guarded().partition(x, hl.Partition.Always)).count("for (f.s0.x")
    assert always > plain
    never = text_of(guarded().partition(x, hl.Partition.Never)).count("for (f.s0.x")
    assert never < plain


def test_what_is_said_of_a_loop_goes_for_what_it_is_split_into() -> None:
    f = clamped().never_partition(x).split(x, u, v, 8)
    policies = {
        loop.name: choice.policy
        for loop, choice in f._function.stages()[0].schedule.partitions.items()
    }
    assert policies == {"u": hl.Partition.Never, "v": hl.Partition.Never}


@pytest.mark.parametrize("said_of", ["first", "second"])
def test_what_is_said_of_a_shared_loop_goes_for_it(said_of: str) -> None:
    """Either of those that share it may say so; of two the first one decides."""

    def fused(
        first: hl.Partition | None, second: hl.Partition | None
    ) -> tuple[str, np.ndarray, np.ndarray]:
        pixels = (np.arange(19 * 7) * 37 % 251).astype(np.uint8).reshape(7, 19)
        edge = hl.BoundaryConditions.repeat_edge(hl.Buffer(pixels))
        f, g, out = hl.funcs("f g out")
        f[x, y] = edge[x, y - 1] + edge[x, y + 1]
        g[x, y] = edge[x - 1, y] + edge[x + 1, y]
        out[x, y] = f[x, y] - g[x, y]
        wanted = interpret(out._function, [(0, 19), (0, 7)])[0].T
        f.compute_root()
        g.compute_root().compute_with(f, x)
        for made, policy in ((f, first), (g, second)):
            if policy is not None:
                made.partition(x, policy).partition(y, policy)
        return text_of(out), np.asarray(out.realize([19, 7])), wanted

    never, always = hl.Partition.Never, hl.Partition.Always
    plain, *_ = fused(None, None)
    whole, got, wanted = fused(
        *((never, None) if said_of == "first" else (None, never))
    )
    assert plain.count("for (f.s0.fused.x") == 3
    assert whole.count("for (f.s0.fused.x") == whole.count("for (f.s0.fused.y") == 1
    np.testing.assert_array_equal(got, wanted)
    mixed, got, wanted = fused(always, never)
    assert mixed.count("for (f.s0.fused.x") > 3
    np.testing.assert_array_equal(got, wanted)


def test_a_shared_loop_that_nothing_cuts_cannot_always_be_cut() -> None:
    f, g, out = hl.funcs("f g out")
    f[x], g[x] = x, x + 1
    out[x] = f[x] + g[x]
    f.compute_root()
    g.compute_root().compute_with(f, x).always_partition(x)
    with pytest.raises(
        hl.ScheduleError, match="g.always_partition: the loop x decides"
    ):
        out.realize([8])
