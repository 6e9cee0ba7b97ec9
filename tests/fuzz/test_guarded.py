"""Memory with edges: what is written outside of data is noticed."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys

import pytest

from tests.fuzz.guarded import Block
from tests.fuzz.run import fuzz
from tests.fuzz.test_fuzz import told


@pytest.mark.parametrize("alignment", (1, 64))
@pytest.mark.parametrize("size", (0, 1, 63, 64, 100, 4096, 10_000))
def test_data_may_be_written(size: int, alignment: int) -> None:
    block = Block.new(size, alignment)
    assert block.at % alignment == 0
    assert 0 <= block.end - (block.at + max(size, 1)) < alignment
    ctypes.memset(block.at, 1, size)
    assert not block.spoilt()
    block.release()


@pytest.mark.parametrize("far", (1, 17))
def test_a_write_around_data_is_noticed(far: int) -> None:
    block = Block.new(100, 64)
    ctypes.memset(block.at - far, 1, 1)
    assert block.spoilt() == f"written up to {far} bytes before 100 bytes of data"
    ctypes.memset(block.at + 100 + far - 1, 1, 1)
    assert f"before and {far} bytes after" in block.spoilt()
    block.release()


@pytest.mark.parametrize("where", ("block.end", "block.start - 1"))
def test_a_write_beyond_an_edge_is_a_crash(where: str) -> None:
    code = (
        "import ctypes\n"
        "from tests.fuzz.guarded import Block\n"
        "block = Block.new(100, 64)\n"
        f"ctypes.memset({where}, 1, 1)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    assert done.returncode == -signal.SIGSEGV


def test_random_pipelines_stay_within_their_memory() -> None:
    summary = fuzz(25, seed=13, guarded=True)
    assert not summary.failures, told(summary)
