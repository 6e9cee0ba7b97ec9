"""Directives of Halide's that are not built yet: each says so when it is called."""

from __future__ import annotations

from typing import NoReturn

from parhelion.errors import ScheduleError, here


def not_available(directive: str) -> NoReturn:
    """Raises the error of a directive that this version does not have."""
    raise ScheduleError(f"the directive {directive} is not available yet", at=here())


class MissingLoopDirectives:
    """Directives on the loops of one stage that are not available yet.

    Each raises ScheduleError, whatever it is given.
    """

    __slots__ = ()

    def hexagon(self, *given: object, **named: object) -> NoReturn:
        """Raises ScheduleError: code for Hexagon processors is not available yet."""
        not_available("hexagon")


class MissingFuncDirectives(MissingLoopDirectives):
    """Directives on a whole Func that are not available yet.

    Each raises ScheduleError, whatever it is given.
    """

    __slots__ = ()

    def copy_to_device(self, *given: object, **named: object) -> NoReturn:
        """Raises ScheduleError: copies to devices are not available yet."""
        not_available("copy_to_device")

    def copy_to_host(self, *given: object, **named: object) -> NoReturn:
        """Raises ScheduleError: copies from devices are not available yet."""
        not_available("copy_to_host")
