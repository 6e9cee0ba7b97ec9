"""What `realize` returned, as the Buffer or the several Buffers that a test expects."""

from __future__ import annotations

import parhelion as hl

#: What `hl.Func.realize` and `hl.Pipeline.realize` return.
Realized = hl.Buffer | tuple[hl.Buffer, ...] | None


def single(realized: Realized) -> hl.Buffer:
    """The Buffer of an output with one value."""
    assert isinstance(realized, hl.Buffer)
    return realized


def several(realized: Realized) -> tuple[hl.Buffer, ...]:
    """The Buffers of several outputs, or of one with several values."""
    assert isinstance(realized, tuple)
    return realized
