"""What Halide's Func and Pipeline have, and ours say that they do not have yet."""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import HalideError, here


class Later:
    """Methods that are not available yet. Each raises HalideError, whatever it is
    given."""

    __slots__ = ()

    def _not_yet(self, method: str) -> NoReturn:
        raise HalideError(
            f"{type(self).__name__}.{method} is not available yet", at=here()
        )

    def compile_to_conceptual_stmt(self, *given: object, **named: object) -> NoReturn:
        self._not_yet("compile_to_conceptual_stmt")


class LaterForFuncs(Later):
    """Those of Func alone."""

    __slots__ = ()

    def debug_to_file(self, *given: object, **named: object) -> NoReturn:
        self._not_yet("debug_to_file")


class LaterForPipelines(Later):
    """Those of Pipeline alone."""

    __slots__ = ()

    def add_requirement(self, *given: object, **named: object) -> NoReturn:
        self._not_yet("add_requirement")
