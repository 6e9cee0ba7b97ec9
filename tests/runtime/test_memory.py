"""Memory of compiled code: blocks that are kept for the next run, and for how long."""

from __future__ import annotations

import ctypes
import functools
import os
import random
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

import parhelion as hl
from parhelion.codegen.target import host_target
from parhelion.runtime import blocks_ir, jit, kept_ir, loading, memory_ir, threads
from parhelion.runtime.context import Context
from parhelion.runtime.pool_ir import runtime_ir

KIB, MIB = 1 << 10, 1 << 20
#: From the first class to mapped blocks and those of huge pages, with odd ones.
SIZES = (
    *(0, 1, 100, 1024, 1025, 4096, 10_000, 60 * KIB, 64 * KIB, 64 * KIB + 1),
    *(128 * KIB, 300_000, MIB - 64, MIB, 3 * MIB, 4 * MIB, 5 * MIB + 1, 12 * MIB),
)

_CLOCK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


@functools.cache
def _object() -> bytes:
    offsets = (Context.print_fn.offset, Context.user.offset)
    return jit.object_code(runtime_ir(host_target().arch, *offsets), level=0)


class Memory:
    """A run time of its own, nothing of it shared, with a clock that is set by hand."""

    def __init__(self) -> None:
        self.ms = 1_000_000
        self._clock = _CLOCK(self._now)
        clock = ctypes.cast(self._clock, ctypes.c_void_p).value
        assert clock is not None
        names = (*threads.NAMES, *threads._CONTROLS)
        self.library, self.at = jit.load(_object(), names, {"clock_gettime": clock})
        malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._malloc, self._free = (
            malloc(self.at["ph_malloc"]),
            free(self.at["ph_free"]),
        )
        self._reserve = malloc(self.at["ph_reserve"])

    def _now(self, _clock: int, at: int) -> int:
        time = (ctypes.c_int64 * 2).from_address(at)
        time[0], time[1] = self.ms // 1000, self.ms % 1000 * 1_000_000
        return 0

    def malloc(self, size: int) -> Any:
        return self._malloc(None, size)

    def reserve(self, size: int) -> Any:
        return self._reserve(None, size)

    def free(self, at: int | None) -> None:
        self._free(None, at)

    def call(self, name: str, *args: int) -> int:
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64 for _ in args])
        return int(kind(self.at[name])(*args))

    @property
    def kept(self) -> int:
        return self.call("ph_kept_memory")


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.call("ph_set_kept_memory", 1 << 40)
    return made


@pytest.mark.parametrize("size", SIZES)
def test_blocks_are_aligned_and_apart(memory: Memory, size: int) -> None:
    blocks = [memory.malloc(size) for _ in range(4)]
    for mark, b in enumerate(blocks):
        assert b % 64 == 0
        ctypes.memset(b, mark, size)
    for mark, b in enumerate(blocks):
        assert ctypes.string_at(b, size) == bytes([mark]) * size
        memory.free(b)
    if size >= blocks_ir.HUGE_BYTES:
        assert all(b % blocks_ir.HUGE_PAGE == 0 for b in blocks)


@pytest.mark.parametrize("size", SIZES)
def test_a_block_is_given_out_again(memory: Memory, size: int) -> None:
    first = memory.malloc(size)
    assert memory.kept == 0
    memory.free(first)
    assert size <= memory.kept <= max(1.25 * size, KIB)
    assert memory.malloc(size) == first
    assert memory.kept == 0
    other = memory.malloc(size)
    assert other != first
    memory.free(other)
    memory.free(first)
    assert memory.call("ph_release_memory") >= 2 * size
    assert memory.kept == 0


def test_a_block_serves_requests_of_half_its_size_and_no_smaller_ones(
    memory: Memory,
) -> None:
    block = memory.malloc(8 * MIB)
    memory.free(block)
    assert memory.malloc(7 * MIB // 2) != block
    assert memory.malloc(7 * MIB // 2 + 1) == block


@pytest.mark.parametrize("size", [2**e + d for e in range(9, 33) for d in (-1, 0, 1)])
def test_classes_waste_a_quarter_at_most(memory: Memory, size: int) -> None:
    """Untouched, so that this costs address space only."""
    block = memory.malloc(size)
    memory.free(block)
    assert size <= memory.kept <= max(1.25 * size, KIB)
    memory.call("ph_release_memory")


def test_failure_and_nonsense_give_null(memory: Memory) -> None:
    kept = memory.malloc(MIB)
    memory.free(kept)
    assert memory.malloc(1 << 60) is None
    assert memory.kept == 0, "what is kept goes before memory is said to be out"
    assert memory.malloc(-1) is None
    memory.free(None)


def test_what_is_too_large_for_the_classes_is_not_kept(memory: Memory) -> None:
    # mmap may refuse that much address space: then there is nothing to see.
    block = memory.malloc((1 << memory_ir.MOST_SHIFT) + 1)
    memory.free(block)
    assert memory.kept == 0


def test_reserved_storage_takes_what_is_touched(memory: Memory) -> None:
    """More than the machine has can be had; each page that is touched comes alone."""
    size = 1 << 41
    block = memory.reserve(size)
    if block is None:
        pytest.skip("the system promises no memory that it does not have")
    before = resident()
    pages = range(0, size, size >> 6)
    for at in pages:
        ctypes.memset(block + at, 1, 1)
    assert resident() - before < 2 * len(pages) * 4 * KIB
    assert ctypes.string_at(block + pages[1] + 1, 8) == bytes(8)
    memory.free(block)
    assert memory.kept == 0, "it is too large to be kept"


def test_reserved_storage_is_kept_apart(memory: Memory) -> None:
    for size in (16 * MIB, 40 * MIB):
        reserved, other = memory.reserve(size), memory.malloc(size)
        memory.free(reserved)
        memory.free(other)
        assert memory.reserve(size) == reserved
        assert memory.malloc(size) == other
        memory.free(other)
        assert memory.reserve(size) not in (reserved, other)
        memory.free(reserved)
        assert memory.reserve(size // 2 + 1) == reserved
        memory.call("ph_release_memory")
        assert memory.kept == 0
    assert memory.reserve(1 << 60) is None
    assert memory.reserve(-1) is None
    assert memory.reserve(0) is not None


def resident() -> int:
    """How many bytes of memory this process takes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def test_a_second_round_faults_no_page(memory: Memory) -> None:
    """Of any mix of sizes, allocated and freed in any order."""
    rng = random.Random(1)

    def round() -> int:
        before = faults()
        live: list[tuple[int, int]] = []
        for size in SIZES * 2:
            b = memory.malloc(size)
            ctypes.memset(b, 1, size)
            live.append((b, size))
            if len(live) > 12:
                memory.free(live.pop(rng.randrange(len(live)))[0])
        rng.shuffle(live)
        for b, _ in live:
            memory.free(b)
        return faults() - before

    for _ in range(20):  # until each class has met its largest need
        first = round()
    assert first < 100
    assert memory.kept < 2 * sum(SIZES) * 1.25
    # The same order each time, as a pipeline has it: nothing at all.
    for _ in range(4):
        rng.seed(7)
        last = round()
    assert last == 0


def test_blocks_freed_by_other_threads_are_found(memory: Memory) -> None:
    """More threads than shards; each frees what another has allocated."""
    count = memory_ir.SHARDS + 8
    blocks = [memory.malloc(MIB) for _ in range(count)]

    def work(at: int) -> None:
        memory.free(at)

    for b in blocks:
        one = threading.Thread(target=work, args=(b,))
        one.start()
        one.join()
    assert memory.kept >= count * MIB
    assert {memory.malloc(MIB) for _ in range(count)} == set(blocks)
    assert memory.kept == 0


def test_threads_never_share_a_block(memory: Memory) -> None:
    """Each block holds its owner's mark from its allocation to its end, wherever it
    goes meanwhile."""
    handed: SimpleQueue[tuple[int, int, int]] = SimpleQueue()
    clashes: list[int] = []

    def look(b: int, size: int, mark: int) -> None:
        if size and ctypes.string_at(b, size) != bytes([mark]) * size:
            clashes.append(b)
        memory.free(b)

    def work(mark: int) -> None:
        rng = random.Random(mark)
        for _ in range(400):
            size = rng.choice(SIZES[:13])
            b = memory.malloc(size)
            ctypes.memset(b, mark, size)
            if rng.random() < 0.5:
                handed.put((b, size, mark))
            else:
                look(b, size, mark)
            if rng.random() < 0.5 and not handed.empty():
                look(*handed.get())

    workers = [threading.Thread(target=work, args=(k,)) for k in range(1, 7)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(120)
    assert not any(w.is_alive() for w in workers)
    while not handed.empty():
        look(*handed.get())
    assert clashes == []
    kept = memory.kept
    assert kept == memory.call("ph_release_memory") > 0


@pytest.mark.parametrize("limit", [0, 3 * MIB, 100 * MIB])
def test_what_is_kept_is_bounded(memory: Memory, limit: int) -> None:
    assert memory.call("ph_set_kept_memory", limit) == 1 << 40
    most = 0
    for size in (2 * MIB, 64 * KIB, 1024, 20 * MIB, 2 * limit + KIB):
        blocks = [memory.malloc(size) for _ in range(limit // (size + 1) + 3)]
        for b in blocks:
            memory.free(b)
            most = max(most, memory.kept)
    assert most <= limit
    assert most > 0.4 * limit or not limit


def test_a_smaller_limit_gives_back_what_is_more(memory: Memory) -> None:
    memory.free(memory.malloc(30 * MIB))
    memory.call("ph_set_kept_memory", 31 * MIB * 2)
    assert memory.kept >= 30 * MIB
    memory.call("ph_set_kept_memory", MIB)
    assert memory.kept == 0


def test_blocks_go_when_nobody_has_used_them_for_long(memory: Memory) -> None:
    old, young = memory.malloc(2 * MIB), memory.malloc(100)
    memory.free(old)
    memory.ms += memory_ir.KEEP_MS // 2
    memory.free(young)
    assert memory.kept >= 2 * MIB
    memory.ms += memory_ir.KEEP_MS // 2
    # Used now and then: kept for ever. Nothing but this looks at the ages.
    for _ in range(10):
        young = memory.malloc(100)
        memory.free(young)
        assert memory.kept == KIB
        memory.ms += memory_ir.KEEP_MS - 1
    memory.ms += memory_ir.KEEP_MS
    memory.free(memory.malloc(3 * MIB))
    assert memory.kept == 3 * MIB, "the small one is gone too"


def test_what_is_used_in_each_second_stays(memory: Memory) -> None:
    blocks = [memory.malloc(s) for s in SIZES]
    for _ in range(30):
        for b in blocks:
            memory.free(b)
        memory.ms += memory_ir.LOOK_MS - 10
        assert {memory.malloc(s) for s in SIZES} == set(blocks)


def test_the_newest_win_where_it_is_crowded(memory: Memory) -> None:
    """What a pipeline of another size left goes before anything of this one's."""
    memory.call("ph_set_kept_memory", 10 * MIB)
    memory.free(memory.malloc(8 * MIB))
    memory.ms += memory_ir.CROWDED_MS
    block = memory.malloc(3 * MIB)
    memory.free(block)
    assert memory.kept == 3 * MIB
    assert memory.malloc(3 * MIB) == block


def test_trimming_by_age(memory: Memory) -> None:
    for size in (MIB, 2 * MIB, 4096):
        memory.free(memory.malloc(size))
        memory.ms += 100
    assert memory.call("ph_trim_memory", 301) == 0
    assert memory.call("ph_trim_memory", 200) == 3 * MIB
    assert memory.call("ph_trim_memory", 0) == 4096
    assert memory.kept == 0


def test_a_quarter_of_the_memory_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(kept_ir.KEPT_VARIABLE, raising=False)
    found = Memory().call("ph_get_kept_memory")
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    group = Path("/sys/fs/cgroup")
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        told = (group / name).read_text() if (group / name).exists() else "max"
        if told.strip().isdigit():
            most = min(most, int(told))
    assert found == most // kept_ir.SHARE


@pytest.mark.parametrize(
    ("told", "bytes"), [("0", 0), ("12", 12 * MIB), ("none", None), ("", None)]
)
def test_the_environment_sets_the_limit(
    monkeypatch: pytest.MonkeyPatch, told: str, bytes: int | None
) -> None:
    monkeypatch.delenv(kept_ir.KEPT_VARIABLE, raising=False)
    default = Memory().call("ph_get_kept_memory")
    monkeypatch.setenv(kept_ir.KEPT_VARIABLE, told)
    made = Memory()
    expected = default if bytes is None else bytes
    assert made.call("ph_get_kept_memory") == expected
    assert made.call("ph_set_kept_memory", 7 * MIB) == expected
    assert made.call("ph_set_kept_memory", -1) == 7 * MIB
    assert made.call("ph_get_kept_memory") == expected


def test_users_set_and_release(monkeypatch: pytest.MonkeyPatch) -> None:
    x = hl.Var("x")
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * 2
    g[x] = f[x] + 1
    f.compute_root()
    before = hl.set_kept_memory(64 * MIB)
    try:
        hl.release_memory()
        g.realize([100_000])
        assert hl.release_memory() >= 400_000
        assert hl.set_kept_memory(0) == 64 * MIB
        g.realize([100_000])
        assert hl.release_memory() == 0
    finally:
        hl.set_kept_memory(None)
    assert threads.get_kept_memory() == before


@pytest.mark.parametrize("wrong", [-1, 1.5, "1G", 1 << 62, True])
def test_a_limit_is_a_number_of_bytes(wrong: Any) -> None:
    with pytest.raises(hl.ScheduleError, match="a number of bytes, not"):
        hl.set_kept_memory(wrong)


# argv[0]: how many rounds. Allocates and frees without end to speak of.
HAMMER = """
declare ptr @ph_malloc(ptr, i64)
declare void @ph_free(ptr, ptr)
define i32 @hammer_argv(ptr %ctx, ptr %argv) {
  %pn = load ptr, ptr %argv
  br label %loop
loop:
  %k = phi i64 [ 0, %0 ], [ %k1, %loop ]
  %odd = and i64 %k, 7
  %size = shl i64 4096, %odd
  %p = call ptr @ph_malloc(ptr %ctx, i64 %size)
  %q = call ptr @ph_malloc(ptr %ctx, i64 1000)
  store i64 %k, ptr %p
  call void @ph_free(ptr %ctx, ptr %p)
  call void @ph_free(ptr %ctx, ptr %q)
  %k1 = add i64 %k, 1
  %n = load atomic i64, ptr %pn monotonic, align 8
  %more = icmp ult i64 %k1, %n
  br i1 %more, label %loop, label %out
out:
  ret i32 0
}
"""


def hammer() -> Callable[[ctypes.c_int64], None]:
    compiled = loading.compile_module(HAMMER, "hammer")

    def run(rounds: ctypes.c_int64) -> None:
        context = Context()
        argv = (ctypes.c_void_p * 1)(ctypes.addressof(rounds))
        compiled.entry(ctypes.addressof(context), ctypes.addressof(argv))

    return run


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_children_forked_at_any_moment_can_allocate() -> None:
    """Also when another thread was about to change what is kept."""
    run = hammer()
    rounds = ctypes.c_int64(1 << 60)
    workers = [threading.Thread(target=run, args=(rounds,)) for _ in range(3)]
    for w in workers:
        w.start()
    try:
        for _ in range(40):
            pid = os.fork()
            if pid == 0:
                run(ctypes.c_int64(3000))
                os._exit(0)
            _, status = os.waitpid(pid, 0)
            assert os.waitstatus_to_exitcode(status) == 0
    finally:
        rounds.value = 0
        for w in workers:
            w.join(60)
    assert not any(w.is_alive() for w in workers)
