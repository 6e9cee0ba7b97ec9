"""Methods of Halide's Func that are not available yet."""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import HalideError, here


class Later:
    """Methods that are not available yet: each raises HalideError."""

    __slots__ = ()

    def debug_to_file(self, *given: object, **named: object) -> NoReturn:
        """Raises HalideError: it is not available yet."""
        raise HalideError(
            f"{type(self).__name__}.debug_to_file is not available yet",
            at=here(),
            hint="Pipeline.trace gives all that is stored",
        )
