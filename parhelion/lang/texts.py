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
        """Prints the loops that the schedule makes."""
        print(self.loop_nest(), end="")

    def loop_nest(self) -> LoopNest:
        """The loops that the schedule makes, as text; a notebook shows them coloured,
        to be folded."""
        from parhelion.lower.loopnest import loop_nest_text

        return LoopNest(loop_nest_text(self._ready().spec()))

    def compile_to_lowered_stmt(
        self,
        filename: str | os.PathLike[str],
        arguments: Sequence[ArgumentLike] = (),
        fmt: StmtOutputFormat = StmtOutputFormat.Text,
        target: Target | None = None,
    ) -> None:
        """Writes the lowered program to a file, as text or as a page of HTML."""
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
        """Writes the loops that the schedule makes to a file, as text or as a page of
        HTML: with their bounds, before they are vectorised and optimised."""
        if target is not None:
            check_target(target)
        runner = self._ready()
        with runner.lowered(self._variant(runner)) as lowered:
            write_lowered(replace(lowered, body=lowered.nests), filename, fmt)

    def lowered_text(self) -> str:
        """The lowered program as text."""
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
        """Writes the pipeline to a file as a C function of the `arguments`, in this
        order (without any, all that are needed), and then of the outputs:
        `c_text`."""
        write(filename, self.c_text(arguments, fn_name, target))

    def c_text(
        self,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> str:
        """The pipeline as C11 with OpenMP, to be read: a function that returns 0 or the
        code of a failure (of ``halide_error_code_t``), with the interface that
        `compile_to_header` declares. Compile it with ``-fwrapv -fopenmp``.

        Of nested parallel loops the outermost has ``#pragma omp parallel for``; a
        vectorized loop of stores alone has ``#pragma omp simd``, other ones and
        unrolled ones a comment. async Funcs are computed before they are used. The
        pixels of Buffers that the algorithm mentions are part of the text. Without
        arguments, the function takes all that are needed in the order of their first
        use.

        Raises DefinitionError if the pipeline uses an ImageParam or Param that is not
        among the arguments, and HalideError for what C cannot say."""
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
        """The LLVM module, after the optimiser or as code generation wrote it."""
        runner = self._ready()
        compiled = runner.program(self._variant(runner)).call.compiled
        return compiled.llvm() if optimised else compiled.text

    def assembly_text(self) -> str:
        """The machine code, as assembly."""
        runner = self._ready()
        return runner.program(self._variant(runner)).call.compiled.assembly()


__all__ = ["Texts"]
