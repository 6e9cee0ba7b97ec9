"""What an assertion of compiled code reports when it fails."""

from __future__ import annotations

import struct

from parhelion.dataclass import dataclass
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class FailureSite:
    """What an assertion of the module reports.

    code: a name of `ir.failures.FAILURES`.
    args: its arguments in order. A str is known already; a Type says how to read the
        next 64-bit number of the error record (see `decode`).
    """

    code: str
    args: tuple[str | Type, ...]

    def decode(self, raw: tuple[int, ...]) -> tuple[str | int | float | bool, ...]:
        """The arguments, given the numbers of the error record."""
        left = iter(raw)
        out: list[str | int | float | bool] = []
        for arg in self.args:
            if isinstance(arg, str):
                out.append(arg)
                continue
            number = next(left, 0)
            if arg.is_float():
                packed = struct.pack("<Q", number & (1 << 64) - 1)
                out.append(float(struct.unpack("<d", packed)[0]))
            elif arg.is_bool():
                out.append(bool(number))
            elif arg.is_handle():
                out.append(number & (1 << 64) - 1)
            else:
                out.append(arg.wrap(number))
        return tuple(out)
