"""What Halide's Func has, and ours says that it does not have yet."""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import HalideError, here


class Later:
    """Methods that are not available yet. Each raises HalideError, whatever it is
    given."""

    __slots__ = ()

    def debug_to_file(self, *given: object, **named: object) -> NoReturn:
        """Raises HalideError: it is not available yet."""
        raise HalideError(
            f"{type(self).__name__}.debug_to_file is not available yet",
            at=here(),
            hint="Pipeline.trace gives all that is stored",
        )
