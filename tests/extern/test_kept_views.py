"""What a Python stage keeps of its Buffers after its call: refused, or never wrong."""

from __future__ import annotations

import gc
import subprocess
import sys
import traceback
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.runtime import memo

x = hl.Var("x")

Keep = Callable[[hl.Buffer], object]


def cycle(b: hl.Buffer) -> object:
    kept: list[object] = [np.asarray(b)]
    kept.append(kept)
    return kept


MADE_OF_IT: dict[str, Keep] = {
    "the Buffer": lambda b: b,
    "a crop of it": lambda b: b.cropped(0, 0, 2),
    "a crop of a crop": lambda b: b.cropped(0, 0, 8).cropped(0, 1, 2),
    "a transposed view": lambda b: b.transposed([0]),
}
ARRAYS_OF_IT: dict[str, Keep] = {
    "an array": np.asarray,
    "a slice of an array": lambda b: np.asarray(b)[1:3],
    "another Buffer": hl.Buffer,
    "a memoryview": lambda b: np.asarray(b).data,
    "an array by DLPack": np.from_dlpack,
    "a cycle": cycle,
}


def keeping(
    keep: Keep, of_input: bool, fails: bool = False
) -> tuple[hl.Func, list[Any]]:
    kept: list[Any] = []

    def stage(a: hl.Buffer, out: hl.Buffer) -> None:
        np.asarray(out)[...] = np.asarray(a) + 1
        kept.append(keep(a if of_input else out))
        if fails:
            raise KeyError("no such colour")

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x] = x
    e.define_extern(stage, [g], hl.Int(32), [x])
    o[x] = e[x] + 1
    g.compute_root()
    e.compute_root()
    return o, kept


@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("keep", MADE_OF_IT.values(), ids=MADE_OF_IT)
def test_a_kept_buffer_cannot_be_read(keep: Keep, of_input: bool) -> None:
    o, kept = keeping(keep, of_input)
    assert o.realize([1 << 16])[5] == 7  # type: ignore[index]
    inner, image = hl.Func("inner"), hl.ImageParam(hl.Int(32), 1)
    inner[x] = image[x]
    image.set(kept[0])
    for use in (
        lambda: kept[0][1],
        lambda: kept[0].fill(3),
        lambda: np.asarray(kept[0]),
        lambda: hl.Buffer(kept[0])[1],
        lambda: kept[0].copy(),
        lambda: kept[0].cropped(0, 0, 1),
        lambda: inner.realize([2]),
        lambda: inner.compile_to_callable([image])(kept[0], hl.Buffer(hl.Int(32), [2])),
        lambda: o.realize(kept[0]),
    ):
        with pytest.raises(hl.HalideError, match="lent to the Python function"):
            use()


@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("keep", ARRAYS_OF_IT.values(), ids=ARRAYS_OF_IT)
def test_an_array_must_not_be_kept(keep: Keep, fails: bool, of_input: bool) -> None:
    """Nobody can be told when it is read: its memory is another's by then."""
    o, kept = keeping(keep, of_input, fails)
    with pytest.raises(hl.HalideError, match="keeps an array of pixels") as caught:
        o.realize([1 << 16])
    assert isinstance(caught.value.__cause__, KeyError) == fails
    kept.clear()


READ_LATER = """
import numpy as np
import parhelion as hl
from parhelion.runtime import pins, threads

x, kept, size = hl.Var("x"), [], {size}

def stage(a: hl.Buffer, out: hl.Buffer) -> None:
    np.asarray(out)[...] = np.asarray(a) + 1
    kept.extend([np.asarray(a)[3:], np.asarray(out)])

def run() -> None:
    image = np.arange(size, dtype=np.int32)
    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    param = hl.ImageParam(hl.Int(32), 1, "image")
    param.set(image)
    g[x] = param[x]
    e.define_extern(stage, [{given}], hl.Int(32), [x])
    o[x] = e[x] + 1
    g.compute_root()
    e.compute_root()
    for _ in range(2):
        try:
            if {call}:
                o.compile_to_callable([param])(image, hl.Buffer(hl.Int(32), [size]))
            else:
                (e if {direct} else o).realize([size])
        except hl.HalideError as error:
            assert "keeps an array of pixels" in str(error)
        else:
            raise AssertionError("nothing was raised")

for turn in range(3):
    run()
    threads.release_memory()
    junk = [np.zeros(size, np.int32) for _ in range(8)]
    for array in kept:
        first = 3 if array.size == size - 3 else 1
        np.testing.assert_array_equal(array, np.arange(first, first + array.size))
    del array, junk
    kept.clear()
    threads.release_memory()
    assert pins.pinned() == 0
assert len(pins._PINS) <= 4
print("read")
"""


@pytest.mark.parametrize("size", [200, 5000, 1 << 16, 1 << 22])
@pytest.mark.parametrize(
    "given, direct, call",
    [("g", False, False), ("g", False, True), ("param", True, False)],
    ids=["intermediate", "called", "of the user"],
)
def test_an_array_that_was_kept_can_be_read(
    given: str, direct: bool, call: bool, size: int
) -> None:
    """By whoever catches the error: its memory stays while the array does."""
    text = READ_LATER.format(given=given, direct=direct, call=call, size=size)
    run = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, "read\n"), run.stderr


def small(keep: Keep, of_input: bool) -> tuple[hl.Func, hl.Func, hl.Func, list[Any]]:
    """As `keeping`, with storage that would fit on the stack."""
    kept: list[Any] = []

    def stage(a: hl.Buffer, out: hl.Buffer) -> None:
        np.asarray(out)[...] = np.asarray(a) + 1
        kept.append(keep(a if of_input else out))

    g, e, o = hl.Func("g"), hl.Func("e"), hl.Func("o")
    g[x] = x
    e.define_extern(stage, [g], hl.Int(32), [x])
    o[x] = e[x] + 1
    o.bound(x, 0, 40)
    g.compute_root()
    e.compute_root()
    return g, e, o, kept


@pytest.mark.parametrize("of_input", [False, True])
def test_an_array_can_be_read_when_its_thread_has_ended(of_input: bool) -> None:
    """No stack is lent."""
    _, _, o, kept = small(np.asarray, of_input)
    assert " in stack" not in hl.Pipeline(o).lowered_text()
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(hl.HalideError, match="keeps an array of pixels"),
    ):
        pool.submit(o.realize, [40]).result()
    first = 0 if of_input else 1
    np.testing.assert_array_equal(kept[0], np.arange(first, first + 40))


def test_storage_that_is_lent_cannot_be_on_the_stack() -> None:
    _, e, o, _ = small(lambda _: None, True)
    e.store_in(hl.MemoryType.Stack)
    with pytest.warns(
        hl.ScheduleWarning,
        match="store_in.MemoryType.Stack.: the storage of e is lent to a Python"
        " function, so that it is on the heap",
    ):
        o.realize([40])


def test_storage_of_a_memoized_func_lives_as_long_as_its_arrays() -> None:
    hl.memoization_cache_cleanup()
    g, _, o, kept = small(np.asarray, True)
    g.memoize()
    with pytest.raises(hl.HalideError, match="keeps an array of pixels"):
        o.realize([40])
    (entry,) = memo._CACHE.entries.values()
    memory = weakref.ref(entry.memory)
    del entry
    hl.memoization_cache_cleanup()
    gc.collect()
    assert memory() is not None
    np.testing.assert_array_equal(kept[0], np.arange(40))
    kept.clear()
    gc.collect()
    assert memory() is None


def test_garbage_and_local_variables_are_not_kept() -> None:
    def cycle(a: hl.Buffer, out: hl.Buffer) -> None:
        view = np.asarray(out)
        view[...] = np.asarray(a)
        ring: list[object] = [view]
        ring.append(ring)

    def failing(a: hl.Buffer, out: hl.Buffer) -> None:
        view = np.asarray(out)
        try:
            raise KeyError("one")
        except KeyError:
            raise ValueError(f"two of {view.size}") from None

    g, e = hl.Func("g"), hl.Func("e")
    g[x] = x
    g.compute_root()
    e.define_extern(cycle, [g], hl.Int(32), [x])
    assert e.realize([1 << 16])[5] == 5  # type: ignore[index]
    e = hl.Func("e")
    e.define_extern(failing, [g], hl.Int(32), [x])
    with pytest.raises(ValueError, match="two of 65536") as caught:
        e.realize([1 << 16])
    frames = [f for f, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert frames[-1].f_code.co_name == "failing"
    assert "view" not in frames[-1].f_locals
