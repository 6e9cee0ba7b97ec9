"""Running a Func by itself: what `Func` passes on to the `Pipeline` of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

from parhelion.errors import TypeMismatchError, here
from parhelion.ir.function import Function
from parhelion.lang.compile_to import CompileTo
from parhelion.lang.handles import func_of, is_func
from parhelion.lang.later import Later
from parhelion.lang.named_sizes import Sizes
from parhelion.lang.pickling import reduced_func
from parhelion.lang.pipeline import Pipeline

if TYPE_CHECKING:
    from parhelion.lang.callable import Argument, ArgumentLike, Callable
    from parhelion.lang.func import Func
    from parhelion.lang.loop_dump import StmtOutputFormat
    from parhelion.lang.module import Module
    from parhelion.lang.pipeline import Result
    from parhelion.lang.report import Report
    from parhelion.lang.target_api import Target
    from parhelion.lang.where import Destination
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
            # Of another handle on the Function: this one would hold itself, and with it
            # all images that it mentions, until Python's collector comes by.
            self._kept = Pipeline([func_of(self._function)])
        return self._kept

    def __reduce__(self) -> tuple[Any, ...]:
        """Func pickles with all that it needs, as a Pipeline of it does."""
        return reduced_func(self._function)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        """NumPy would make an array of one object of it."""
        assert is_func(self)
        name, rank = self.name(), self.dimensions()
        sizes = ", ".join(["width", "height", "channels"][:rank])
        raise TypeMismatchError(
            f"the Func {name!r} has no pixels to make a NumPy array of: those of a"
            " region are computed when it is realized",
            at=here(),
            hint=f"np.asarray({name}.realize([{sizes}]))" if 0 < rank < 4 else "",
        )

    def __copy__(self) -> Func:
        """Another handle on the same Func."""
        assert is_func(self)
        made = func_of(self._function)
        made._required = self._required
        return made

    def realize(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
        *,
        axes: str | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Computes the Func for every point of a region.

        ``realize([width, height, …])``, or ``realize({"y": height, "x": width})`` by
        the names of its Vars, computes from coordinate 0 on and returns a
        Buffer of these extents, dimension 0 first, or a tuple of Buffers if the Func
        has several values. ``realize(buffer)`` computes the region of a Buffer or NumPy
        array into it and returns None; a Func of several values takes a list of them.
        With ``axes="yxc"``, sizes are the shape (H, W, C) of an array, and arrays have
        these axes; `timeout` is in seconds: see `Pipeline.realize`.
        Raises what `Pipeline.realize` raises.

        >>> f = hl.Func()
        >>> f[x, y] = x + 10 * y
        >>> f.realize([3, 2]).width()
        3
        >>> out = np.zeros((2, 3), np.int32)  # an array's last axis is x
        >>> f.realize(out)
        >>> out.tolist()
        [[0, 1, 2], [10, 11, 12]]
        >>> f.realize({"y": 2, "x": 3}).shape
        (3, 2)
        >>> f.realize((2, 3), axes="yx").array("yx").tolist()
        [[0, 1, 2], [10, 11, 12]]
        """
        return self._pipeline().realize(where, target, axes=axes, timeout=timeout)

    def profile(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
        *,
        repeat: int = 1,
    ) -> Profile:
        """Computes the Func as `realize` does, and returns the time and memory of each
        Func.

        See `Pipeline.profile`.
        """
        return self._pipeline().profile(where, target, repeat=repeat)

    def report(
        self,
        where: Sizes | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> Report:
        """Returns what the schedule does in numbers, without a run: see
        `Pipeline.report`."""
        return self._pipeline().report(where, target)

    def trace(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
    ) -> Iterator[TraceEvent]:
        """Computes the Func as `realize` does, and returns a record of each load and
        store.

        See `Pipeline.trace`.
        """
        return self._pipeline().trace(where, target)

    def compile_jit(
        self, target: Target | None = None, *, timeout: float | None = None
    ) -> None:
        """Compiles the pipeline now, which the first call of `realize` would do
        otherwise.

        See `Pipeline.compile_jit`.
        """
        self._pipeline().compile_jit(target, timeout=timeout)

    def compile_to_callable(
        self, arguments: Sequence[ArgumentLike], target: Target | None = None
    ) -> Callable:
        """Returns the pipeline compiled as a Python function, a `Callable`.

        It takes the given ImageParams and Params in this order, then the outputs: see
        `Pipeline.compile_to_callable`.
        """
        return self._pipeline().compile_to_callable(arguments, target)

    def infer_arguments(self) -> list[Argument]:
        """Returns the ImageParams and Params that the Func depends on, as Arguments."""
        return self._pipeline().infer_arguments()

    def infer_input_bounds(
        self,
        where: Sizes | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> None:
        """Sets each unset ImageParam to a new Buffer of the size that an output needs.

        See `Pipeline.infer_input_bounds`.
        """
        self._pipeline().infer_input_bounds(where, target)

    def print_loop_nest(self) -> None:
        """Prints the loops that the schedule makes, without the arithmetic.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> f.parallel(y).print_loop_nest()
        produce f:
          parallel y:
            for x:
              f(...) = ...
        """
        self._pipeline().print_loop_nest()

    def compile_to_lowered_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat | None = None,
        target: Target | None = None,
    ) -> None:
        """Writes the lowered program to a file, as text or as a page of HTML.

        Raises TypeMismatchError if `fmt` is not a StmtOutputFormat.
        """
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
        """Writes the loops of the schedule, before optimisation, as text or a page of
        HTML.

        Raises TypeMismatchError if `fmt` is not a StmtOutputFormat.
        """
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
        """Writes the pipeline to a file as a function in C: see `Pipeline.c_text`."""
        self._pipeline().compile_to_c(filename, arguments, fn_name, target)

    def compile_to_module(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str = "",
        target: Target | None = None,
    ) -> Module:
        """Returns the lowered pipeline as a Module, which can be written to files.

        See `Pipeline.compile_to_module`. The function is called as the Func is, unless
        `fn_name` gives another name.
        """
        return self._pipeline().compile_to_module(arguments, fn_name, target)

    def _default_name(self) -> str:
        return self._pipeline()._default_name()

    # Watching it run.

    def animate(
        self,
        where: Sizes | Destination | Sequence[Destination],
        filename: str | os.PathLike[str] | None = None,
        threads: int = 4,
    ) -> Animation:
        """Returns a page that shows in which order the schedule computes the pixels.

        See `Pipeline.animate`.
        """
        return self._pipeline().animate(where, filename, threads)

    def trace_stores(self) -> Self:
        """Makes each run print a line for every value stored: the value, Func and
        place.

        Returns the Func. Computing it inline stores nothing.
        """
        self._function.schedule.trace_stores = True
        return self

    def trace_loads(self) -> Self:
        """Makes each run print a line for every value that is loaded from the Func's
        storage.

        Returns the Func.
        """
        self._function.schedule.trace_loads = True
        return self

    def trace_realizations(self) -> Self:
        """Makes each run print where the Func's storage and production begin and end.

        A line has the region, as min and extent of each dimension. Returns the Func.
        """
        self._function.schedule.trace_realizations = True
        return self

    def add_trace_tag(self, tag: str) -> Self:
        """Makes each run print `tag` at its beginning, if anything of the Func is
        traced.

        Returns the Func. Raises TypeMismatchError if `tag` is not text.
        """
        if not isinstance(tag, str):
            raise TypeMismatchError(
                f"{self._function.label}.add_trace_tag takes a text, not {tag!r:.60}",
                at=here(),
            )
        schedule = self._function.schedule
        schedule.trace_tags = (*schedule.trace_tags, tag)
        return self
