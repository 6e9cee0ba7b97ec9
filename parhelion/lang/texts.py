"""What a Pipeline shows of itself: loops, the lowered program, C, machine code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parhelion.ir.function import Function
from parhelion.lang.loop_dump import (
    StmtOutputFormat,
    lowered_text,
    write,
    write_lowered,
)
from parhelion.lang.module import c_file, named, needed, with_arguments
from parhelion.lang.showing import LoopNest
from parhelion.lang.target_api import check_target

if TYPE_CHECKING:
    from parhelion.lang.callable import ArgumentLike
    from parhelion.lang.runner import Runner
    from parhelion.lang.target_api import Target
    from parhelion.runtime.program import Variant


class Texts:
    """The methods that write or print, for a class that has a Runner."""

    __slots__ = ()

    def _ready(self) -> Runner:
        raise NotImplementedError

    def _functions(self) -> Sequence[Function]:
        raise NotImplementedError

    def _variant(
        self, runner: Runner, target: Target | None = None, copied: bool = False
    ) -> Variant:
        raise NotImplementedError

    def print_loop_nest(self) -> None:
        """Prints the loops that the schedule makes, without the arithmetic."""
        print(self.loop_nest(), end="")

    def loop_nest(self) -> LoopNest:
        """Returns the loops that the schedule makes, as text.

        A notebook shows them in colours, and folds them.

        >>> f = hl.Func("f")
        >>> f[x, y] = x + y
        >>> print(hl.Pipeline(f.vectorize(x, 8)).loop_nest(), end="")
        produce f:
          for y:
            for x.x:
              vectorized x.v0 in [0, 7]:
                f(...) = ...
        """
        from parhelion.lower.loopnest import loop_nest_text

        return LoopNest(loop_nest_text(self._ready().spec()))

    def compile_to_lowered_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat = StmtOutputFormat.Text,
        target: Target | None = None,
    ) -> None:
        """Writes the lowered program to a file, as text or as a page of HTML.

        Raises TypeMismatchError if `fmt` is not a StmtOutputFormat.
        """
        if target is not None:
            check_target(target)
        runner = self._ready()
        with runner.lowered(self._variant(runner)) as lowered:
            write_lowered(lowered, filename, fmt)

    def compile_to_conceptual_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat = StmtOutputFormat.Text,
        target: Target | None = None,
    ) -> None:
        """Writes the loops of the schedule, with their bounds, before optimisation.

        The file is text or a page of HTML. Raises TypeMismatchError if `fmt` is not a
        StmtOutputFormat.
        """
        if target is not None:
            check_target(target)
        runner = self._ready()
        with runner.lowered(self._variant(runner)) as lowered:
            write_lowered(replace(lowered, body=lowered.nests), filename, fmt)

    def lowered_text(self) -> str:
        """Returns the lowered program as text: the loops as they are given to LLVM."""
        runner = self._ready()
        with runner.lowered(self._variant(runner)) as lowered:
            return lowered_text(lowered)

    def compile_to_c(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes the pipeline to a file as a function in C: see `c_text`."""
        write(filename, self.c_text(arguments, fn_name, target))

    def c_text(
        self,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> str:
        """Returns the pipeline as a function in C11 with OpenMP, to be read.

        The function takes the `arguments` in this order, or all that are needed in the
        order of their first use, and then the outputs. It returns 0 or a code of
        ``halide_error_code_t``; its interface is the one that `compile_to_header`
        declares. Compile it with ``-fwrapv -fopenmp``. Large blocks of memory are kept
        for the next call; the function ``NAME_release``, which has no arguments, frees
        them.

        Of nested parallel loops the outermost has ``#pragma omp parallel for``. A
        vectorized loop that only stores has ``#pragma omp simd``; other vectorized and
        unrolled loops have a comment. Async Funcs are computed before they are used.
        The pixels of Buffers that the algorithm mentions are part of the text.

        Raises DefinitionError if the pipeline needs an ImageParam or Param that is not
        among the arguments, and HalideError for what C cannot express.

        >>> f = hl.Func("f")
        >>> f[x] = x + 1
        >>> "int f(" in hl.Pipeline(f).c_text()
        True
        """
        from parhelion.lang.callable import symbols_of

        fn_name, target = named(fn_name, target)
        runner = self._ready()
        given = symbols_of(arguments)
        name = fn_name or runner.name
        variant = self._variant(runner, target, copied=True)
        with runner.lowered(variant, vectors=False) as lowered:
            whole = with_arguments(lowered, given or needed(lowered), name)
            return c_file(whole, name, target)

    def llvm_text(self, optimised: bool = True) -> str:
        """Returns the LLVM module as text, after the optimiser or before it."""
        runner = self._ready()
        compiled = runner.program(self._variant(runner)).call.compiled
        return compiled.llvm() if optimised else compiled.text

    def assembly_text(self) -> str:
        """Returns the machine code as assembly."""
        runner = self._ready()
        return runner.program(self._variant(runner)).call.compiled.assembly()


__all__ = ["Texts"]
