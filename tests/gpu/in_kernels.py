"""Pipelines whose kernels check what only blocks or threads know, and what the CPU says
of the same: for the simulator, and for the run time over a driver that is none."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

import parhelion as hl

x, y, tx, ty = hl.vars("x y tx ty")


def _funcs() -> tuple[hl.Func, hl.Func]:
    """How much of `f` a part of `g` needs depends on where it is."""
    f, g = hl.funcs("f g")
    f[x, y] = x + 2 * y
    g[x, y] = f[x, hl.min(y + 3, 13)] + f[x, hl.max(y - 3, 5)]
    return f, g


def of_a_block(bound: int, gpu: bool) -> hl.Func:
    """A check at block level, before the threads fill what is shared."""
    f, g = _funcs()
    g.tile(x, y, tx, ty, 8, 4)
    f.compute_at(g, x).bound_storage(y, bound)
    if gpu:
        g.gpu_blocks(x, y).gpu_threads(tx, ty)
        f.reorder(y, x).gpu_threads(x)
    return g


def of_one_thread(bound: int, gpu: bool) -> hl.Func:
    """The same where one thread fills what is shared: the others must not go on."""
    f, g = _funcs()
    g.tile(x, y, tx, ty, 8, 4)
    f.compute_at(g, x).bound_storage(y, bound)
    if gpu:
        g.gpu_blocks(x, y).gpu_threads(tx, ty)
    return g


def between_threads(bound: int, gpu: bool) -> hl.Func:
    """Inside of one loop over threads and around another."""
    f, g = _funcs()
    g.tile(x, y, tx, ty, 8, 4)
    f.compute_at(g, ty).bound_storage(y, bound)
    if gpu:
        g.gpu_blocks(x, y).gpu_threads(tx, ty)
        f.reorder(y, x).gpu_threads(x)
    return g


def of_a_thread(bound: int, gpu: bool) -> hl.Func:
    """Storage that each thread has for itself."""
    f, g = _funcs()
    g.tile(x, y, tx, ty, 8, 4)
    f.compute_at(g, tx).bound_storage(y, bound)
    if gpu:
        g.gpu_blocks(x, y).gpu_threads(tx, ty)
    return g


def of_an_iteration(bound: int, gpu: bool) -> hl.Func:
    """In a serial loop of the block."""
    f, g = _funcs()
    g.tile(x, y, tx, ty, 8, 4).reorder(tx, ty, y, x)
    f.compute_at(g, y).bound_storage(y, bound)
    if gpu:
        g.gpu_blocks(x).gpu_threads(tx, ty)
        f.reorder(y, x).gpu_threads(x)
    return g


Build = Callable[[int, bool], hl.Func]
CASES: tuple[Build, ...] = (
    of_a_block,
    of_one_thread,
    between_threads,
    of_a_thread,
    of_an_iteration,
)
#: Bounds that are large enough in all blocks, in some, and in none.
BOUNDS = (16, 5, 1)
SIZE = [16, 16]


def outcome(f: hl.Func) -> np.ndarray | str:
    """Pixels, or what the error says besides how many coordinates are needed, which
    any block or thread may have found."""
    try:
        return np.asarray(f.realize(SIZE))
    except hl.BoundsError as error:
        assert error.failure == "storage_bound_too_small"
        told = re.fullmatch(
            r"(.*)f(?:\$\d+)?(' is bound in .*, but )\d( coord.*)", error.what
        )
        assert told, error.what
        return "f".join(told.groups())


def check(build: Build) -> None:
    """Asserts that a kernel says and computes what the CPU does."""
    for bound in BOUNDS:
        wanted, got = outcome(build(bound, False)), outcome(build(bound, True))
        if isinstance(wanted, str):
            assert got == wanted
        else:
            np.testing.assert_array_equal(got, wanted)


__all__ = ["BOUNDS", "CASES", "Build", "check", "outcome"]
