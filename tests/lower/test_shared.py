"""Where storage lies in the memory that the threads of a block share."""

from __future__ import annotations

import pytest

from parhelion.ir.expr import Var
from parhelion.ir.reader import read_stmt
from parhelion.ir.symbols import BufferSym
from parhelion.lower.shared import lay_out_shared
from parhelion.types import INT32, Float

F32 = Float(32)
#: Writes and reads of the buffers in the texts, as nests of one thread.
_NEST = "gpu_thread (t, 0, 4) {{\n{0}  {1}\n{0}}}"


def layout(source: str) -> tuple[dict[str, int], int]:
    """Where the buffers a, b, c lie, and the size. In the text ``w a`` stands for a
    nest that stores to `a`, ``r a`` for one that loads from it."""
    symbols = {f"{n}[]": BufferSym(n, F32, 1, "internal") for n in "abc"}
    out = BufferSym("out", F32, 1, "output")
    variables = {n: Var(n, INT32) for n in "tnk"}
    lines: list[str] = []
    for line in source.strip().split("\n"):
        margin = line[: len(line) - len(line.lstrip())]
        word, _, name = line.strip().partition(" ")
        if word == "w":
            line = margin + _NEST.format(margin, f"{name}[t] = 1.0f")
        elif word == "r":
            line = margin + _NEST.format(margin, f"out[t] = {name}[t]")
        lines.append(line)
    s = read_stmt("\n".join(lines) + "\n", {**symbols, **variables, "out[]": out})
    made = lay_out_shared(s)
    return {b.name: at for b, at in made.offsets.items()}, made.size


def alloc(name: str, elements: int = 64) -> str:
    return f"allocate {name}[float32 * {elements}] in shared"


AB = f"{alloc('a')}\n{alloc('b')}\n"


def test_one_after_the_other_share_bytes() -> None:
    offsets, size = layout(AB + "w a\nbarrier\nr a\nbarrier\nw b\nbarrier\nr b")
    assert offsets == {"a": 0, "b": 0}
    assert size == 256


def test_both_alive_lie_apart() -> None:
    offsets, size = layout(AB + "w a\nbarrier\nw b\nbarrier\nr a\nr b")
    assert sorted(offsets.values()) == [0, 256]
    assert size == 512


def test_no_barrier_between_lie_apart() -> None:
    """A thread may still read one where another writes the other."""
    offsets, _ = layout(AB + "w a\nbarrier\nr a\nw b\nbarrier\nr b")
    assert sorted(offsets.values()) == [0, 256]


def test_offsets_are_aligned_and_large_ones_come_first() -> None:
    source = f"{alloc('a', 3)}\n{alloc('b', 100)}\n{alloc('c', 5)}\n"
    offsets, size = layout(source + "w a\nw b\nw c\nbarrier\nr a\nr b\nr c")
    assert offsets == {"b": 0, "c": 400, "a": 432}
    assert size == 444


def test_a_gap_is_filled() -> None:
    """c lies where a was, beside b."""
    source = f"{alloc('a')}\n{alloc('b')}\n{alloc('c', 32)}\n"
    offsets, size = layout(
        source + "w a\nw b\nbarrier\nr a\nbarrier\nw c\nbarrier\nr b\nr c"
    )
    assert offsets["c"] == offsets["a"] and size == 512


@pytest.mark.parametrize(("end", "shares"), [("  barrier\n", True), ("", False)])
def test_loops_come_round(end: str, shares: bool) -> None:
    """What the last nest of an iteration reads, the first of the next overwrites."""
    source = (
        "for (k, 0, n) {\n"
        f"  {alloc('a')}\n  {alloc('b')}\n"
        "  w a\n  barrier\n  r a\n  barrier\n  w b\n  barrier\n  r b\n" + end + "}"
    )
    offsets, _ = layout(source)
    assert (offsets["a"] == offsets["b"]) is shares


def test_kept_from_one_iteration_to_the_next() -> None:
    source = (
        f"{alloc('a')}\nw a\nbarrier\n"
        "for (k, 0, n) {\n"
        f"  {alloc('b')}\n"
        "  w b\n  barrier\n  r b\n  barrier\n  r a\n  barrier\n}"
    )
    offsets, _ = layout(source)
    assert offsets["a"] != offsets["b"]


@pytest.mark.parametrize(("inside", "shares"), [(False, True), (True, False)])
def test_barriers_that_not_all_ways_come_to(inside: bool, shares: bool) -> None:
    between = "if (n < 3) {\n  barrier\n}\n" if inside else "barrier\n"
    offsets, _ = layout(AB + "w a\nbarrier\nr a\n" + between + "w b\nbarrier\nr b")
    assert (offsets["a"] == offsets["b"]) is shares


def test_branches_of_which_one_is_taken_share_bytes() -> None:
    source = (
        "if (n < 3) {\n"
        f"  {alloc('a')}\n  w a\n  barrier\n  r a\n"
        "} else {\n"
        f"  {alloc('b')}\n  w b\n  barrier\n  r b\n}}"
    )
    offsets, size = layout(source)
    assert offsets == {"a": 0, "b": 0} and size == 256


def test_branches_in_a_loop_need_a_barrier() -> None:
    inside = (
        "  if (k < 3) {\n"
        f"    {alloc('a')}\n    w a\n    barrier\n    r a\n"
        "  } else {\n"
        f"    {alloc('b')}\n    w b\n    barrier\n    r b\n  }}\n"
    )
    apart, _ = layout("for (k, 0, n) {\n" + inside + "}")
    assert apart["a"] != apart["b"]
    shared, _ = layout("for (k, 0, n) {\n" + inside + "  barrier\n}")
    assert shared["a"] == shared["b"]


def test_kept_across_iterations_that_take_the_other_branch() -> None:
    source = (
        AB + "for (k, 0, n) {\n"
        "  if (k < 3) {\n    w a\n    barrier\n    r a\n"
        "  } else {\n    w b\n    barrier\n    r b\n  }\n  barrier\n}"
    )
    offsets, _ = layout(source)
    assert offsets["a"] != offsets["b"]


def test_unused_storage_takes_nothing() -> None:
    assert layout(AB + "w a") == ({"a": 0, "b": 0}, 256)
