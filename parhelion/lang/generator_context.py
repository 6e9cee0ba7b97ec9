"""`GeneratorContext`: what Generators are made for, a Target and an autoscheduler."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Self

from parhelion.errors import HalideError, TypeMismatchError, here
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.target_api import Target, get_jit_target_from_environment


class GeneratorContext:
    """A Target, and the parameters of an automatic scheduler, by default none.

    Generators that are made inside ``with hl.GeneratorContext(target):`` are for that
    target. Raises TypeMismatchError for what is no Target, no string of one, or no
    AutoschedulerParams.

    >>> with hl.GeneratorContext("x86-64-linux-avx2") as context:
    ...     hl.active_generator_context() is context
    True
    """

    def __init__(
        self,
        target: Target | str,
        autoscheduler_params: AutoschedulerParams | None = None,
    ) -> None:
        if isinstance(target, str):
            target = Target(target)
        if not isinstance(target, Target):
            raise TypeMismatchError(
                f"a GeneratorContext is made of a Target, not {target!r:.60}",
                at=here(),
                hint="hl.get_host_target() is this computer",
            )
        params = autoscheduler_params or AutoschedulerParams()
        if not isinstance(params, AutoschedulerParams):
            raise TypeMismatchError(
                "the autoscheduler of a GeneratorContext is told by "
                f"AutoschedulerParams, not {params!r:.60}",
                at=here(),
            )
        self._target, self._params = target, params
        self._tokens: list[Token[GeneratorContext | None]] = []

    def target(self) -> Target:
        """Returns the target."""
        return self._target

    def autoscheduler_params(self) -> AutoschedulerParams:
        """Returns the automatic scheduler's name, or "", and its parameters."""
        return self._params

    def with_target(self, target: Target) -> GeneratorContext:
        """Returns the same context for another target."""
        return GeneratorContext(target, self._params)

    def __enter__(self) -> Self:
        self._tokens.append(_ACTIVE.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _ACTIVE.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"<parhelion.GeneratorContext {self._target}>"


_ACTIVE: ContextVar[GeneratorContext | None] = ContextVar("generator", default=None)


def active_generator_context() -> GeneratorContext:
    """Returns the GeneratorContext whose ``with`` block is the innermost.

    Raises HalideError if there is none.

    >>> with hl.GeneratorContext("arm-64-linux"):
    ...     hl.active_generator_context().target()
    <parhelion.Target arm-64-linux>
    """
    found = _ACTIVE.get()
    if found is None:
        raise HalideError(
            "no GeneratorContext is active",
            at=here(),
            hint="enter one: with hl.GeneratorContext(hl.get_host_target()):",
        )
    return found


def context_or_default() -> GeneratorContext:
    """The active context, or else one for what ``HL_JIT_TARGET`` says."""
    return _ACTIVE.get() or GeneratorContext(get_jit_target_from_environment())


__all__ = ["GeneratorContext", "active_generator_context", "context_or_default"]
