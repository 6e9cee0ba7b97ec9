"""The failures that compiled code can report: a code's name, and its message.

Generated code carries the number (the position here plus one), the values of the
`Assert`'s arguments, and nothing else; Python puts the sentence together.
"""

from __future__ import annotations

from parhelion.dataclass import dataclass
from parhelion.errors import (
    BoundsError,
    HalideError,
    InvalidBufferError,
    OutOfMemoryError,
    PipelineRuntimeError,
    ScheduleError,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """`template` is for str.format with the Assert's arguments by position."""

    error: type[HalideError]
    template: str
    hint: str = ""


FAILURES: dict[str, Failure] = {
    # (buffer, dimension, needed min, needed max, given min, given max)
    "input_too_small": Failure(
        BoundsError,
        "input image {0!r} is too small in dimension {1}: the pipeline reads "
        "{2} to {3}, but the image covers {4} to {5}",
        "give a larger image, or read it through hl.BoundaryConditions.repeat_edge",
    ),
    "output_too_small": Failure(
        BoundsError,
        "output buffer {0!r} is too small in dimension {1}: the pipeline writes "
        "{2} to {3}, but the buffer covers {4} to {5}",
        "if an update writes so far, clamp its index or give a larger buffer; if a "
        "split rounds up, realize([extents]) allocates what it writes, and "
        "TailStrategy.GuardWithIf writes no more than is asked for",
    ),
    # (buffer, dimension, extent)
    "extent_negative": Failure(
        BoundsError, "buffer {0!r} has the negative extent {2} in dimension {1}"
    ),
    # (buffer)
    "size_overflow": Failure(
        BoundsError, "buffer {0!r} has more elements than its index type can count"
    ),
    # (func)
    "allocation_too_large": Failure(
        BoundsError, "the storage of Func {0!r} overflows its index type"
    ),
    # (buffer or func, bound, value in 64 bits)
    "coordinate_overflow": Failure(
        BoundsError,
        "the region of {0!r} that is needed overflows 32-bit coordinates: {1} would be "
        "{2}",
    ),
    # (buffer or func, bound, value in 64 bits of what the bound is made of)
    "coordinate_part_overflow": Failure(
        BoundsError,
        "the region of {0!r} that is needed overflows 32-bit coordinates: {1} is made "
        "of {2}",
        "coordinates are of 32 bits; compute larger numbers in 64, hl.i64(x) * 100000, "
        "and narrow what is clamped",
    ),
    # (what was promised, promised value, given value)
    "constraint": Failure(InvalidBufferError, "{0} must be {1}, but it is {2}"),
    # (param, least, value)
    "param_below": Failure(BoundsError, "Param {0!r} is {2}, below its minimum {1}"),
    "param_above": Failure(BoundsError, "Param {0!r} is {2}, above its maximum {1}"),
    # (func, dimension, bound min, bound max, needed min, needed max)
    "bound_too_small": Failure(
        BoundsError,
        "Func {0!r} is bound in dimension {1} to {2}..{3}, but {4}..{5} is needed",
    ),
    # (func, bytes)
    "out_of_memory": Failure(
        OutOfMemoryError, "out of memory: Func {0!r} needs {1} bytes of storage"
    ),
    # (func)
    "no_thread": Failure(
        OutOfMemoryError, "there is no thread to be had for the async Func {0!r}"
    ),
    # (func, dimension, loop, factor, needed extent)
    "fold_too_small": Failure(
        BoundsError,
        "Func {0!r} is folded in dimension {1} by {3}, but an iteration of the loop {2}"
        " uses {4} coordinates of it",
        "fold_storage with a larger extent, or without the directive",
    ),
    # (func, dimension, loop, end of the iteration before, end)
    "fold_direction": Failure(
        BoundsError,
        "Func {0!r} is folded in dimension {1}, but the loop {2} turns back in it: from"
        " {3} to {4}",
        "fold_storage wants a loop that moves one way",
    ),
    # (func, dimension, bound, needed extent)
    "storage_bound_too_small": Failure(
        BoundsError,
        "the storage of Func {0!r} is bound in dimension {1} to {2}, but {3}"
        " coordinates are needed",
        "bound_storage with a larger bound",
    ),
    # Numbers of the schedule that only runs know, see `lower.prologue`.
    # (key, directive, which number, value, least value)
    "number_not_positive": Failure(
        ScheduleError,
        "{1}: the {2} evaluated to {3}, which is not strictly positive",
        "give the Param a value of 1 or more, and a range that says so; or specialize"
        " for the values that this schedule is for",
    ),
    "number_below": Failure(
        ScheduleError,
        "{1}: the {2} evaluated to {3}, which is less than {4}",
        "give what it depends on another value, and a range that says which it may be",
    ),
    # (key, directive, which number, value, largest value)
    "number_above": Failure(
        ScheduleError,
        "{1}: the {2} evaluated to {3}, which is more than {4}",
        "give what it depends on another value, and a range that says which it may be",
    ),
    # (key, stage, loop, iterations)
    "loop_too_long": Failure(
        ScheduleError,
        "{1}: the fused loop {2} would have {3} iterations, and loops count in 32 bits",
        "fuse smaller loops, as inner loops of splits are",
    ),
    # (key, stage, variable, how far)
    "loop_too_far": Failure(
        ScheduleError,
        "{1}: the splits of {2} round it up by {3} together, which overflows 32-bit"
        " coordinates",
        "give smaller factors to the splits of what splits have made",
    ),
    # (key, func, copies, coordinates of each)
    "ring_too_large": Failure(
        ScheduleError,
        "{1}.ring_buffer: {2} copies of {3} coordinates each are more than a dimension"
        " of storage can have, 2147483647",
        "keep fewer copies",
    ),
    # (func, code)
    "extern_failed": Failure(
        PipelineRuntimeError,
        "the foreign code that computes Func {0!r} failed: it returned {1}",
    ),
    # (func, number of the input, dimension, needed min, needed max, min, max)
    "extern_region": Failure(
        BoundsError,
        "the foreign code that computes Func {0!r} asks for {3} to {4} in dimension "
        "{2} of its input {1}, of which {5} to {6} is there",
        "for a part of its region it must not ask for more than for the whole",
    ),
    # (message parts…)
    # (func, message)
    "specialize_fail": Failure(PipelineRuntimeError, "{0}: {1}"),
    "require": Failure(PipelineRuntimeError, "requirement failed: {0}"),
    # (what the device was used for, status: see `ir.device_status`)
    "device_failed": Failure(PipelineRuntimeError, "{0}: the device's status is {1}"),
    # (func, blocks, dimension, most)
    "grid_too_large": Failure(
        ScheduleError,
        "the kernel of {0} has {1} blocks along {2}, and a grid has at most {3} there",
        "give its blocks more of the loop (a larger factor of its split), or fuse the"
        " loops over blocks: along x there may be 2147483647",
    ),
    # (func, threads, dimension, most)
    "block_too_long": Failure(
        ScheduleError,
        "the kernel of {0} has {1} threads along {2}, and a block has at most {3}"
        " there",
        "split the loop, and give its outer part to the blocks: gpu_tile does both",
    ),
    # (func, threads, most)
    "block_too_large": Failure(
        ScheduleError,
        "the kernel of {0} has blocks of {1} threads, and {2} are the most",
        "split the loops over threads, and give the outer parts to the blocks:"
        " gpu_tile does both",
    ),
    # (func, number, "rows" or "texels in a row", most)
    "texture_too_large": Failure(
        ScheduleError,
        "the storage of {0} is a texture (store_in) with {1} {2}, and a texture has at"
        " most {3}",
        "compute less of it at a time, or leave it in the device's memory: give its"
        " store_in MemoryType.Heap",
    ),
    # (func, element)
    "kernel_race": Failure(
        PipelineRuntimeError,
        "two threads of a block use element {1} of the storage of {0}, one of them"
        " stores to it, and they wait for each other at no barrier between",
        "where an update has allow_race_conditions, give it atomic() instead",
    ),
    # (func, element)
    "kernel_unwritten": Failure(
        PipelineRuntimeError,
        "a kernel reads element {1} of the storage of {0}, to which no thread of the"
        " block has stored",
    ),
    # (first buffer, buffer, dimension, first min, first max, min, max)
    "tuple_differs": Failure(
        BoundsError,
        "the values of a Tuple are computed over one region, but output buffer {0!r} "
        "covers {3} to {4} in dimension {2}, and {1!r} covers {5} to {6}",
        "give buffers of one size",
    ),
}

#: The result of a run that a signal's handler has ended: the code of no failure.
INTERRUPTED = 0x7FFF0001

CODES: dict[str, int] = {name: i + 1 for i, name in enumerate(FAILURES)}

#: The numbers by which Halide's public header knows these failures
#: (`halide_error_code_t`); what it does not know is its generic error.
HALIDE_CODES: dict[str, int] = {
    **dict.fromkeys(FAILURES, -1),
    "input_too_small": -4,
    "output_too_small": -4,
    "tuple_differs": -8,
    "extent_negative": -28,
    "size_overflow": -6,
    "allocation_too_large": -5,
    "coordinate_overflow": -6,
    "coordinate_part_overflow": -6,
    "constraint": -8,
    "param_below": -9,
    "param_above": -10,
    "bound_too_small": -2,
    "out_of_memory": -11,
    "fold_too_small": -26,
    "fold_direction": -25,
    "storage_bound_too_small": -45,
    "number_not_positive": -46,
    "specialize_fail": -31,
    "require": -27,
    "device_failed": -29,
}
