"""The structs shared with compiled code, and failures decoded from them."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass

import numpy as np
import pytest

from parhelion.errors import (
    BoundsError,
    HalideError,
    InternalError,
    PipelineRuntimeError,
    Site,
)
from parhelion.ir.failures import CODES, FAILURES
from parhelion.runtime import context
from parhelion.runtime.context import decode_number, failure
from parhelion.runtime.layout import Layout
from parhelion.types import BOOL, BFloat, Float, Int, Type, UInt


@dataclass
class Told:
    code: str
    args: tuple[str | Type, ...]


def test_layouts_are_those_of_the_generated_code() -> None:
    assert ctypes.sizeof(context.Context) == 136
    assert context.Context.args.offset == 16
    assert context.Context.print_fn.offset == 80
    assert context.Context.most_threads.offset == 96
    assert context.Context.helpers.offset == 100
    assert context.Context.profile.offset == 104
    assert context.Context.stream.offset == 112
    assert context.Context.log.offset == 120
    assert context.Context.device.offset == 128
    assert ctypes.sizeof(context.RawBuffer) == 56
    assert context.RawBuffer.host.offset == 16
    assert context.RawBuffer.type.offset == 32
    assert context.RawBuffer.dimensions.offset == 36
    assert context.RawBuffer.dim.offset == 40
    assert ctypes.sizeof(context.Dimension) == 16
    assert context.BUFFER.size == 56


def double_bits(value: float) -> int:
    return int(struct.unpack("=q", struct.pack("=d", value))[0])


@pytest.mark.parametrize(
    ("type", "bits", "value"),
    [
        (Int(8), -3, -3),
        (UInt(8), 200, 200),
        (UInt(64), -1, 2**64 - 1),
        (Int(64), -1, -1),
        (BOOL, 1, True),
        (Float(32), double_bits(1.5), 1.5),
        (Float(64), double_bits(0.1), 0.1),
        (BFloat(16), double_bits(-2.0), -2.0),
    ],
)
def test_numbers_of_the_record(type: Type, bits: int, value: object) -> None:
    assert decode_number(bits, type) == value


def test_a_failure_names_buffer_numbers_and_line() -> None:
    told = [
        Told("extent_negative", ("other", Int(32), Int(32))),
        Told("input_too_small", ("img", *[Int(32)] * 5)),
    ]
    site = Site("user.py", 12)
    code = CODES["input_too_small"]
    error = failure(code, 1, [1, -2, 9, 0, 7], told, {"img": site}, None)
    assert isinstance(error, BoundsError)
    assert "'img' is too small in dimension 1" in str(error)
    assert "reads -2 to 9, but the image covers 0 to 7" in str(error)
    assert "--> user.py:12" in str(error)
    assert error.hint == FAILURES["input_too_small"].hint


def test_the_line_of_the_call_stands_in_for_an_unknown_name() -> None:
    told = [Told("size_overflow", ("img",))]
    error = failure(CODES["size_overflow"], 0, [], told, {}, Site("call.py", 3))
    assert "--> call.py:3" in str(error)


def test_require_joins_its_parts() -> None:
    told = [Told("require", ("x is ", Int(32), ", not ", Float(32)))]
    error = failure(CODES["require"], 0, [3, double_bits(2.5)], told, {}, None)
    assert isinstance(error, PipelineRuntimeError)
    assert "x is 3, not 2.5" in str(error)


@pytest.mark.parametrize("site", [-1, 1, 99])
def test_a_record_that_makes_no_sense_is_an_internal_error(site: int) -> None:
    told = [Told("size_overflow", ("img",))]
    error: HalideError = failure(CODES["size_overflow"], site, [], told, {}, None)
    assert isinstance(error, InternalError)
    assert isinstance(failure(1000, 0, [], told, {}, None), InternalError)


def test_a_layout_knows_its_memory() -> None:
    base = np.zeros((4, 10), np.int16)
    a = base[::-1, 2:8:2].T
    layout = Layout(Int(16), a, [5, -1])
    assert layout.mins == (5, -1)
    assert layout.extents == (3, 4)
    assert layout.strides == (2, -10)
    assert layout.span == 1 + 2 * 2 + 3 * 10
    assert layout.low == base[0, 2:].ctypes.data
    assert layout.high == base[3, 7:].ctypes.data
    assert not layout.plain
    assert struct.unpack("=8i", layout.packed) == (5, 3, 2, 0, -1, 4, -10, 0)
    moved = layout.moved(layout.host + 100)
    assert (moved.low - layout.low, moved.high - layout.high) == (100, 100)
    assert moved.packed == layout.packed
    plain = Layout(Int(16), base.T, [0, 0])
    assert plain.plain
    assert plain.with_strides({1: 99}).strides == (1, 99)
