"""Compiled programs: functions of NumPy arrays, made by `forma.compile`."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parhelion.errors import located
from parhelion.forma.arguments import Arguments, Call, shown
from parhelion.forma.arrays import Array, Domain, Given, given, made, planes, put
from parhelion.forma.c_program import CProgram
from parhelion.forma.check import check, check_source
from parhelion.forma.compilation import FORMA, STRIPS, Compilation, is_automatic
from parhelion.forma.cuda import emit_cuda
from parhelion.forma.fuse import Fusion
from parhelion.forma.interface import Interface
from parhelion.forma.kept_programs import Asked, find, keep
from parhelion.forma.numbers import counted
from parhelion.forma.parse import source_in, source_of
from parhelion.forma.sizes import value_of
from parhelion.forma.spans import Source
from parhelion.forma.stages import Graph
from parhelion.forma.strips import Strips
from parhelion.forma.twin.defined import Twin
from parhelion.forma.types import Struct
from parhelion.lang.buffer import Buffer
from parhelion.lang.func import Func
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.loop_dump import write
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.lang.ready import ReadyCode
from parhelion.lang.target_api import Target, TargetFeature, get_host_target
from parhelion.schedule import rules

if TYPE_CHECKING:
    from parhelion.lang.report import Report


def compile(
    source: str | Path | Twin,
    *,
    scheduler: str | None = STRIPS,
    estimates: Mapping[str, int] | None = None,
    target: Target | None = None,
    strict_float: bool = False,
) -> Program:
    """Compiles a Forma program to a function of NumPy arrays.

    source: the program's text, the path of its file, or what `forma.program` makes. (A
        text has a semicolon, or several lines, which paths in a str must not have.)
    scheduler: "Strips", which fuses stages as the paper does, and computes groups in
        lines of those that read them, in parallel and in vectors; "Forma", the paper's,
        which stores each group whole; None, for each stage by itself, one point after
        the other; or a scheduler that `hl.autoschedule` knows.
    estimates: values of int parameters, for which such a scheduler makes its schedule.
        Without them it is made at the first call, for its sizes.
    strict_float: whether each operation on floats is rounded by itself, as it is in
        NumPy. Else ``a * b + c`` is rounded once, which is faster.

    Raises FormaError for what is wrong with the program, OSError for a file that cannot
    be read, TypeMismatchError for what is no program, and HalideError for a scheduler
    that there is not.

    >>> import numpy as np
    >>> from parhelion import forma
    >>> blur = forma.compile('''
    ...     stencil blurx(vector#2 float X) { return X@[-1,0] + X + X@[1,0]; }
    ...     parameter M, N;
    ...     vector#2 float input[M,N];
    ...     return blurx(input:clamped);
    ... ''')
    >>> blur(np.array([[1, 2, 3]], np.float32)).tolist()
    [[4.0, 6.0, 8.0]]
    """
    target = _target(target, strict_float)
    if isinstance(source, Twin):
        graph = check(source)
        return Program(
            graph,
            name=source.name,
            scheduler=scheduler,
            estimates=estimates,
            target=target,
        )
    if isinstance(source, str) and _is_text(source):
        text, name = source_of(source), "program"
    else:
        text, name = source_in(source), Path(source).stem
    asked = Asked(text, scheduler, target)
    found = find(asked)
    if found is not None:
        return Program._ready(asked, name, *found)
    warned = rules.given
    made = Program(
        check_source(text),
        name=name,
        scheduler=scheduler,
        estimates=estimates,
        target=target,
    )
    if rules.given == warned:
        made._keep(asked)
    return made


def _target(target: Target | None, strict_float: bool) -> Target:
    target = get_host_target() if target is None else target
    return target.with_feature(TargetFeature.StrictFloat) if strict_float else target


def _is_text(source: str) -> bool:
    """Whether a str is a program, and no path of one."""
    return not source.strip() or any([mark in source for mark in ";\n\0"])


class Program:
    """A compiled program: ``p(image, gain)`` returns an array, or a tuple of them.

    It takes the inputs, then the parameters, by position or by name; those that are the
    size of an input may be left out. ``out=`` takes the array, or a sequence of arrays,
    that the results are written to. Structs come as the inputs do: as a structured
    array, or with their fields as the last dimension. Several threads may call it.

    graph: the stages of the program. fusion: the groups that they are merged to.
    strips: of the scheduler "Strips", what is computed in lines of what; it prints as a
    sentence for each group.
    funcs: the Funcs of the stages. pipeline: what is compiled. Of a program whose code
    was found in the cache, these are made when they are asked for.
    """

    #: Of a program that was compiled before: its text, and its code.
    _source: Source | None
    _code: ReadyCode | None
    #: Of such a program, None until they are asked for.
    _graph: Graph | None
    _made: Compilation | None

    def __init__(
        self,
        graph: Graph,
        *,
        name: str = "program",
        scheduler: str | None = STRIPS,
        estimates: Mapping[str, int] | None = None,
        target: Target | None = None,
        strict_float: bool = False,
    ) -> None:
        target = _target(target, strict_float)
        made = Compilation(graph, scheduler, target)
        self._begin(name, scheduler, target, Interface.of(graph))
        self._graph, self._made = graph, made
        if not is_automatic(scheduler):
            made.compiled()
        elif estimates is not None:
            made.compiled(self._arguments.numbers(estimates))

    @classmethod
    def _ready(
        cls, asked: Asked, name: str, interface: Interface, code: ReadyCode
    ) -> Program:
        """A program that was compiled before: its stages are made when they are asked
        for."""
        made = cls.__new__(cls)
        made._begin(name, asked.scheduler, asked.target, interface)
        made._source, made._code = asked.source, code
        return made

    def _begin(
        self, name: str, scheduler: str | None, target: Target, interface: Interface
    ) -> None:
        self.name = name
        self.scheduler = scheduler
        self._target = target
        self._interface = interface
        self._arguments = Arguments(interface)
        self._results = [Domain.of(one) for one in interface.outputs]
        self._site = interface.outputs[0].span.site()
        self._lock = threading.RLock()
        self._source, self._code = None, None
        self._graph, self._made = None, None

    def _keep(self, asked: Asked) -> None:
        """Keeps what calls have to know of the program, for other processes."""
        if not is_automatic(self.scheduler):
            keep(asked, self._interface, self._whole().compiled())

    def _whole(self) -> Compilation:
        """The program as the compiler has it; of one that was compiled before, made
        now."""
        with self._lock:
            if self._made is None:
                self._made = Compilation(self.graph, self.scheduler, self._target)
            return self._made

    # Calls

    def __call__(
        self,
        *args: object,
        out: Array | Sequence[Array] | None = None,
        **named: object,
    ) -> Array | tuple[Array, ...]:
        """Runs the program. Raises FormaError for arguments that do not fit it, at the
        place of the program that they are for."""
        call = self._arguments.call(args, named)
        targets = self._targets(call, out)
        arrays = [*self._planes(call), *[one for _, found in targets for one in found]]
        ready = self._code
        if ready is None or not ready.run(arrays):
            code = self._whole().compiled(call.numbers)
            self._code = None  # from now on, this knows more
            with located(self._site):
                code(*arrays)
        for domain, (into, values) in zip(self._results, targets, strict=True):
            put(domain, into, values)
        if len(targets) == 1:
            return targets[0][0]
        return tuple([into for into, _ in targets])

    def _planes(self, call: Call) -> list[object]:
        """The arguments of the compiled function without its outputs."""
        domains = self._arguments.domains
        found: list[object] = []
        for domain, one in zip(domains, call.arrays, strict=True):
            found += planes(domain, one)
        names = [one.name for one in self._interface.parameters]
        return [*found, *[call.numbers[name] for name in names]]

    def _targets(
        self, call: Call, out: object
    ) -> list[tuple[Array, tuple[Array, ...]]]:
        """For each output the caller's array, and those that are computed into."""
        sizes = [
            tuple([value_of(size, call.values) for size in one.source.sizes])
            for one in self._interface.outputs
        ]
        structs = [
            one.structured
            for one, domain in zip(call.arrays, self._arguments.domains, strict=True)
            if isinstance(domain.kind, Struct)
        ]
        structured = not structs or any(structs)
        wanted: Sequence[object] = [None] * len(sizes)
        if out is not None:
            wanted = list(out) if isinstance(out, list | tuple) else [out]
            if len(wanted) != len(sizes):
                raise self._interface.outputs[0].span.error(
                    f"the program returns {counted(len(sizes), 'domain')}, and out= "
                    f"has {counted(len(wanted), 'array')}",
                    hint="give one for each",
                )
        targets = []
        for domain, extents, into in zip(self._results, sizes, wanted, strict=True):
            if into is None:
                read = [one.whole for one in call.arrays]
                whole = made(domain, extents, structured, read)
                one = Given(whole, structured, extents)
            else:
                one = given(domain, into)
                if one.extents != extents:
                    raise domain.error(
                        f"is {extents[::-1]} here, and out= has {one.extents[::-1]}",
                        "give an array of that shape",
                    )
                if not one.whole.flags.writeable:
                    raise domain.error("is given as a read-only array", "copy it")
            targets.append((one.whole, planes(domain, one)))
        return targets

    # Other languages

    def c_text(self, name: str | None = None) -> tuple[str, str]:
        """Returns the program as a C file and its header, which it includes as
        ``NAME.h``.

        The function takes pointers to the inputs, the parameters, and pointers to what
        it computes, of the sizes that the header says; name: of it, by default the
        program's. Compile the file with ``-O3 -march=native -fopenmp``. A function
        ``NAME_release`` frees the memory that is kept from call to call. Raises
        FormaError where an automatic scheduler has not been asked yet.
        """
        whole = self._whole()
        if not whole.is_scheduled():
            raise self._interface.outputs[0].span.error(
                f"{self.scheduler} makes its schedule at the first call",
                hint="give compile the parameters to make it for: estimates={'M': 640}",
            )
        made = CProgram(self.graph, name or self.name)
        with whole.lock, located(self._site):
            arguments = whole.arguments()
            text = whole.pipeline.c_text(arguments, made.pipeline, self._target)
        return made.source(text), made.header()

    def compile_to_c(self, path: str | Path, name: str | None = None) -> None:
        """Writes the program as C, and its header beside it: see `c_text`.

        name: of the function, by default that of the file.
        """
        path = Path(path)
        source, header = self.c_text(name or path.stem)
        write(path, source)
        write(path.with_name(f"{name or path.stem}.h"), header)

    def cuda_text(
        self, name: str | None = None, *, textures: bool = False
    ) -> tuple[str, str]:
        """Returns the program as a CUDA C file and its header, which it includes as
        ``NAME.h``.

        The function is that of `c_text`: it copies the inputs to the device, runs the
        kernels, one for each group of fused stages, and copies the results back.
        textures: whether domains of two dimensions are read through texture units,
        which see to boundary conditions, too (section 3.2.2 of the paper). Compile the
        file with nvcc, with ``-fmad=false`` where each operation on floats is to be
        rounded by itself.
        """
        made = emit_cuda(self.graph, name or self.name, textures=textures)
        return made.source, made.header

    def compile_to_cuda(
        self, path: str | Path, name: str | None = None, *, textures: bool = False
    ) -> None:
        """Writes the program as CUDA C, and its header beside it: see `cuda_text`.

        name: of the function, by default that of the file.
        """
        path = Path(path)
        source, header = self.cuda_text(name or path.stem, textures=textures)
        write(path, source)
        write(path.with_name(f"{name or path.stem}.h"), header)

    # What it is

    def sizes(self, **parameters: int) -> dict[str, tuple[int, ...]]:
        """Returns the size of each variable and output, dimension 0 first, where the
        parameters are as given. Raises FormaError for those that they do not allow."""
        values = self.graph.verify(self._arguments.numbers(parameters))
        named = [*self.graph.variables]
        named += [(one.name, one.source) for one in self.graph.outputs]
        return {
            name: tuple([value_of(size, values) for size in source.sizes])
            for name, source in named
        }

    def report(self, *args: object, **named: object) -> Report:
        """Returns what the schedule does for a call with these arguments, without one:
        see `Pipeline.report`."""
        call = self._arguments.call(args, named)
        whole = self._whole()
        with whole.lock, located(self._site):
            whole.compiled(call.numbers)
            given_ = zip(whole.arguments(), self._planes(call), strict=True)
            for argument, value in given_:
                argument.set(value)  # type: ignore[arg-type]
            targets = self._targets(call, None)
            try:
                return whole.pipeline.report(
                    [Buffer(plane) for _, found in targets for plane in found]
                )
            finally:
                for argument in whole.arguments():
                    if isinstance(argument, ImageParam):
                        argument.reset()

    @property
    def graph(self) -> Graph:
        """The stages of the program."""
        with self._lock:
            if self._graph is None:
                assert self._source is not None
                self._graph = check_source(self._source)
            return self._graph

    @property
    def fusion(self) -> Fusion:
        """The groups that the stages are merged to."""
        return self._whole().fusion

    @property
    def strips(self) -> Strips | None:
        """Of the scheduler "Strips", what is computed in lines of what."""
        return self._whole().strips

    @property
    def pipeline(self) -> Pipeline:
        """What is compiled."""
        return self._whole().pipeline

    def compiled_arguments(self) -> list[ImageParam | Param]:
        """What the compiled function takes: the images of the inputs, then the Params,
        each in the order in which the program declares them."""
        return self._whole().arguments()

    @property
    def funcs(self) -> Mapping[str, Func]:
        """The Funcs of the stages, by the stages' names."""
        stages = self._whole().funcs.stages
        return {stage.name: f for stage, f in stages.items()}

    @property
    def __signature__(self) -> inspect.Signature:
        results = [
            shown(o.source.type, o.source.sizes) for o in self._interface.outputs
        ]
        returns = results[0] if len(results) == 1 else f"({', '.join(results)})"
        return self._arguments.signature(returns)

    def __repr__(self) -> str:
        text = str(self.__signature__).replace("'", "")
        return f"<parhelion.forma.Program {self.name}{text}>"


__all__ = ["FORMA", "STRIPS", "Program", "compile"]
