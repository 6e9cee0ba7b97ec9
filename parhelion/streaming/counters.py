"""What a stream has done so far, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from parhelion.dataclass import dataclass


@dataclass(slots=True)
class Counters:
    """What a stream has done so far.

    frames_in: frames taken from the source. frames_out: frames handed to the consumer.
    in_flight: frames taken whose output was not handed on, at most so far; those that
    later outputs need count.
    source_waits, consumer_waits: how often the pipeline waited for a frame of the
    source, and the source for the consumer.
    source_seconds, compute_seconds: seconds spent in the source, and in the pipeline,
    compiling aside. consumer_seconds: seconds that the consumer waited for frames.
    computed: how many frames were computed of each Func whose frames are kept.

    No frame is ever dropped: `dropped` is 0.
    """

    frames_in: int = 0
    frames_out: int = 0
    in_flight: int = 0
    source_waits: int = 0
    consumer_waits: int = 0
    source_seconds: float = 0.0
    compute_seconds: float = 0.0
    consumer_seconds: float = 0.0
    computed: Mapping[str, int] = field(default_factory=dict)

    @property
    def dropped(self) -> int:
        """Frames that were left out: none, as the source waits instead."""
        return 0

    @property
    def seconds_per_frame(self) -> float:
        """Seconds that the pipeline computes for a frame, on average; 0 before the
        first."""
        return self.compute_seconds / self.frames_out if self.frames_out else 0.0

    def __str__(self) -> str:
        times = (self.source_seconds, self.compute_seconds, self.consumer_seconds)
        source, compute, consumer = [f"{1e3 * s:.1f} ms" for s in times]
        lines = [
            f"{self.frames_in} frames in, {self.frames_out} out, none dropped,"
            f" {self.in_flight} in flight at most",
            f"source    {source}, waited {self.consumer_waits} times for the consumer",
            f"pipeline  {compute}, waited {self.source_waits} times for the source",
            f"consumer  waited {consumer}",
        ]
        lines += [f"{name}: {n} frames computed" for name, n in self.computed.items()]
        return "\n".join(lines)


__all__ = ["Counters"]
