"""Storage of C text: large blocks are kept for the next call, up to a limit."""

from __future__ import annotations

import ctypes
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from tests.codegen.c_code import CC, CLANG, OPTIONS, needs_cc, struct_of

x, y = hl.vars("x y")
#: A megabyte of floats for each of the two stages: 512 pages.
SIZES = [512, 512]
COMPILERS = [one for one in (CC, CLANG) if one is not None]

pytestmark = needs_cc


def stages() -> hl.Func:
    """Two stages on the heap, and one in a parallel loop."""
    a, b, c, f = hl.funcs("kept_a kept_b kept_c kept_f")
    a[x, y] = hl.f32(x * 3 + y)
    b[x, y] = a[x, y] + a[x + 1, y]
    c[x, y] = b[x, y] * 2.0
    f[x, y] = c[x, y] + c[x, y + 1]
    a.compute_root()
    b.compute_root()
    c.compute_at(f, y)
    f.parallel(y)
    return f


class Library:
    """The C of `stages`, and arguments for it."""

    def __init__(self, where: Path, compiler: str, *more: str) -> None:
        source, library = where / "f.c", where / "f.so"
        f = stages()
        f.compile_to_c(source, [], "f_c")
        self.expected = np.asarray(f.realize(SIZES))
        options = [*OPTIONS, *more, "-O2", "-shared", "-fPIC", "-o", str(library)]
        if compiler == CC:
            options.append("-fopenmp")
        subprocess.run([compiler, *options, str(source), "-lm"], check=True)
        self.library = ctypes.CDLL(str(library))
        if hasattr(self.library, "omp_set_num_threads"):
            self.library.omp_set_num_threads(1)
        self.library.f_c_release.restype = None

    def caller(self) -> tuple[Callable[[], int], np.ndarray[Any, Any]]:
        """A call, and where it writes; this memory has been touched."""
        out = hl.Buffer(hl.Float(32), SIZES)
        out.fill(0)
        struct = struct_of(out)

        def call() -> int:
            return int(self.library.f_c(struct))

        return call, np.asarray(out)


def faults(call: Callable[[], int]) -> int:
    """How many pages a call touches for the first time."""
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    assert call() == 0
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def in_a_process(check: Callable[..., None], *given: str) -> None:
    """Runs a check in a process of its own: what glibc has kept of earlier blocks would
    be given out again without a fault."""
    text = f"from {__name__} import *; {check.__name__}{(*given, '')!r}"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_second_call_touches_no_new_memory(compiler: str, tmp_path: Path) -> None:
    in_a_process(keeps, str(tmp_path), compiler)


def maps_large_blocks() -> None:
    """Has glibc map each block of 128 KiB or more, whatever was freed before."""
    ctypes.CDLL(None).mallopt(-3, 128 << 10)  # M_MMAP_THRESHOLD


def keeps(where: str, compiler: str, _: str) -> None:
    made = Library(Path(where), compiler)
    maps_large_blocks()
    call, out = made.caller()
    assert faults(call) >= 400
    assert faults(call) < 40
    assert np.array_equal(out, made.expected)
    made.library.f_c_release()
    assert faults(call) >= 400, "what was released was kept"
    assert faults(call) < 40
    assert np.array_equal(out, made.expected)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    "option", ["-D__STDC_NO_ATOMICS__", "-DPARHELION_KEPT_BYTES=0"]
)
def test_without_slots_nothing_is_kept(
    compiler: str, option: str, tmp_path: Path
) -> None:
    in_a_process(keeps_nothing, str(tmp_path), compiler, option)


def keeps_nothing(where: str, compiler: str, option: str, _: str) -> None:
    made = Library(Path(where), compiler, option)
    maps_large_blocks()
    call, out = made.caller()
    assert faults(call) >= 400
    assert faults(call) >= 400
    assert np.array_equal(out, made.expected)
    made.library.f_c_release()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_several_callers_while_others_release(compiler: str, tmp_path: Path) -> None:
    made = Library(tmp_path, compiler)
    wrong: list[str] = []
    done = threading.Event()

    def run() -> None:
        call, out = made.caller()
        for _ in range(40):
            out[...] = 0
            status = call()
            if status or not np.array_equal(out, made.expected):
                wrong.append(f"a call returns {status}")

    def release() -> None:
        while not done.wait(0.001):
            made.library.f_c_release()

    callers = [threading.Thread(target=run) for _ in range(4)]
    other = threading.Thread(target=release)
    for one in (*callers, other):
        one.start()
    for one in callers:
        one.join()
    done.set()
    other.join()
    assert not wrong


#: Threads that take blocks of random sizes, fill them, and give them back.
STRESS = """
#include "f.c"
#include <pthread.h>

static void *run(void *given) {
  unsigned seed = *(unsigned *)given * 7919u + 1u;
  unsigned char *held[8] = {0};
  size_t sizes[8] = {0};
  for (int turn = 0; turn < 4000; turn++) {
    seed = seed * 1664525u + 1013904223u;
    unsigned i = seed >> 29;
    if (held[i]) {
      unsigned char mark = held[i][0];
      if (held[i][sizes[i] - 1] != mark || held[i][sizes[i] / 2] != mark) exit(3);
      give_back(held[i]);
    }
    sizes[i] = 1 + (seed >> 4) % (i < 4 ? 200000 : 3000000);
    held[i] = storage(sizes[i], 1);
    if (!held[i] || (uintptr_t)held[i] % 64) exit(4);
    held[i][0] = held[i][sizes[i] / 2] = held[i][sizes[i] - 1] = (unsigned char)seed;
  }
  for (int i = 0; i < 8; i++) give_back(held[i]);
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  unsigned numbers[4] = {1, 2, 3, 4};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, &numbers[i]);
  for (int i = 0; i < 50; i++) release_storage();
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  size_t kept = 0;
  for (int i = 0; i < KEPT_SLOTS; i++) {
    struct kept_block *b = atomic_load(&kept_slots[i]);
    kept += b ? b->size : 0;
  }
  if (kept != atomic_load(&kept_bytes) || kept > PARHELION_KEPT_BYTES) return 5;
  if (kept == 0) return 6;
  release_storage();
  return atomic_load(&kept_bytes) ? 7 : 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("limit", [1 << 20, 8 << 20, 1 << 30])
def test_blocks_of_all_sizes(compiler: str, limit: int, tmp_path: Path) -> None:
    """None is had by two, all end up freed or in a slot, and these within the limit."""
    stages().compile_to_c(tmp_path / "f.c", [], "f_c")
    program = tmp_path / "stress"
    (tmp_path / "stress.c").write_text(STRESS)
    options = [*OPTIONS, "-O2", "-pthread", f"-DPARHELION_KEPT_BYTES={limit}"]
    sources = [str(tmp_path / "stress.c"), "-lm"]
    subprocess.run([compiler, *options, "-o", str(program), *sources], check=True)
    assert subprocess.run([str(program)]).returncode == 0


def test_a_pipeline_may_not_call_what_frees_its_storage(tmp_path: Path) -> None:
    source, library = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text("int g_c_release(int a) { return a; }\n")
    assert CC is not None
    options = ["-shared", "-fPIC", "-o", str(library)]
    subprocess.run([CC, *options, str(source)], check=True)
    other = ctypes.CDLL(str(library)).g_c_release
    f = hl.Func("g")
    f[x] = hl.extern_function(other, hl.Int(32), [hl.Int(32)])(x)
    assert "g_c_release" in hl.Pipeline(f).c_text([], "another")
    with pytest.raises(hl.HalideError, match="the name of one that it calls"):
        hl.Pipeline(f).c_text([], "g_c")
