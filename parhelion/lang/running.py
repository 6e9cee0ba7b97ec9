"""Running a Func by itself: what `Func` passes on to the `Pipeline` of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self, SupportsIndex

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.function import Function
from parhelion.lang.compile_to import CompileTo
from parhelion.lang.handles import is_func
from parhelion.lang.later import Later
from parhelion.lang.pipeline import Pipeline

if TYPE_CHECKING:
    from parhelion.lang.callable import Argument, ArgumentLike, Callable
    from parhelion.lang.loop_dump import StmtOutputFormat
    from parhelion.lang.module import Module
    from parhelion.lang.pipeline import Destination, Result
    from parhelion.lang.report import Report
    from parhelion.lang.target_api import Target
    from parhelion.runtime.profile import Profile
    from parhelion.runtime.trace import TraceEvent
    from parhelion.views.animation import Animation


class Running(CompileTo, Later):
    """The methods that compile and run, for a class that has a `_function`.

    Each is the method of that name of a `Pipeline` with this one output, which is
    kept: what it compiled serves again until something changes.
    """

    __slots__ = ()
    _function: Function
    _kept: Pipeline | None

    def _pipeline(self) -> Pipeline:
        if self._kept is None:
            assert is_func(self)
            self._kept = Pipeline([self])
        return self._kept

    def realize(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination] = (),
        target: Target | None = None,
    ) -> Result:
        """Computes the Func over ``[width, height, …]``, from 0 on, or over the region
        of the Buffer (or Buffers, for several values) given, into it.

        Returns a Buffer, or a tuple of Buffers for several values. Raises what
        `Pipeline.realize` raises.
        """
        return self._pipeline().realize(where, target)

    def profile(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination] = (),
        target: Target | None = None,
        *,
        repeat: int = 1,
    ) -> Profile:
        """Computes the Func as `realize` does, and says what time and memory went into
        each Func of its pipeline: see `Pipeline.profile`."""
        return self._pipeline().profile(where, target, repeat=repeat)

    def report(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> Report:
        """What the schedule makes of the Func's pipeline, found without running it: see
        `Pipeline.report`."""
        return self._pipeline().report(where, target)

    def trace(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination] = (),
        target: Target | None = None,
    ) -> Iterator[TraceEvent]:
        """Computes the Func as `realize` does, and gives a record of each load, store,
        production and storage of its pipeline: see `Pipeline.trace`."""
        return self._pipeline().trace(where, target)

    def compile_jit(self, target: Target | None = None) -> None:
        """Compiles now what `realize` would compile at its first call."""
        self._pipeline().compile_jit(target)

    def compile_to_callable(
        self, arguments: Sequence[ArgumentLike], target: Target | None = None
    ) -> Callable:
        """A Python function of the arguments in this order, then the outputs."""
        return self._pipeline().compile_to_callable(arguments, target)

    def infer_arguments(self) -> list[Argument]:
        """The Params and images that the Func depends on."""
        return self._pipeline().infer_arguments()

    def infer_input_bounds(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> None:
        """Gives each unset ImageParam a new Buffer of the size that the region of the
        output needs."""
        self._pipeline().infer_input_bounds(where, target)

    def print_loop_nest(self) -> None:
        """Prints the loops that the schedule makes, without the arithmetic."""
        self._pipeline().print_loop_nest()

    def compile_to_lowered_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat | None = None,
        target: Target | None = None,
    ) -> None:
        """Writes the lowered program to a file, as text or as an HTML page."""
        from parhelion.lang.loop_dump import StmtOutputFormat

        self._pipeline().compile_to_lowered_stmt(
            filename, arguments, StmtOutputFormat.Text if fmt is None else fmt, target
        )

    def compile_to_conceptual_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat | None = None,
        target: Target | None = None,
    ) -> None:
        """Writes the loops that the schedule makes, before they are optimised, to a
        file, as text or as an HTML page."""
        from parhelion.lang.loop_dump import StmtOutputFormat

        self._pipeline().compile_to_conceptual_stmt(
            filename, arguments, StmtOutputFormat.Text if fmt is None else fmt, target
        )

    def compile_to_c(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes the pipeline to a file as a function in C: `Pipeline.c_text`."""
        self._pipeline().compile_to_c(filename, arguments, fn_name, target)

    def compile_to_module(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str = "",
        target: Target | None = None,
    ) -> Module:
        """The lowered program as a function of the arguments, to be written to files;
        its name is the Func's unless `fn_name` says another."""
        return self._pipeline().compile_to_module(arguments, fn_name, target)

    def _default_name(self) -> str:
        return self._pipeline()._default_name()

    # Watching it run.

    def animate(
        self,
        where: Sequence[SupportsIndex] | Destination | Sequence[Destination],
        filename: str | os.PathLike[str] | None = None,
        threads: int = 4,
    ) -> Animation:
        """The order in which the schedule computes so many pixels, as a page that
        moves; see `Pipeline.animate`."""
        return self._pipeline().animate(where, filename, threads)

    def trace_stores(self) -> Self:
        """Prints a line for every value that is stored, where it is stored: the value,
        the Func and the coordinates."""
        self._function.schedule.trace_stores = True
        return self

    def trace_loads(self) -> Self:
        """Prints a line for every value that is loaded from the Func's storage."""
        self._function.schedule.trace_loads = True
        return self

    def trace_realizations(self) -> Self:
        """Prints a line where storage of the Func begins and ends, and where it is
        produced and used: its region, as min and extent of each dimension."""
        self._function.schedule.trace_realizations = True
        return self

    def add_trace_tag(self, tag: str) -> Self:
        """Prints `tag` at the beginning of each run, if the Func is traced."""
        if not isinstance(tag, str):
            raise TypeMismatchError(
                f"{self._function.label}.add_trace_tag takes a text, not {tag!r:.60}",
                at=here(),
            )
        schedule = self._function.schedule
        schedule.trace_tags = (*schedule.trace_tags, tag)
        return self
