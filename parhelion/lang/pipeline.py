"""`Pipeline`: one or more Funcs that are compiled and computed together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    HalideError,
    TypeMismatchError,
    here,
)
from parhelion.ir.bindings import SET
from parhelion.ir.deadline import within
from parhelion.ir.device import SIMULATED
from parhelion.ir.function import Function
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang.boxes import Box
from parhelion.lang.buffer import Buffer
from parhelion.lang.checked import integer
from parhelion.lang.compile_to import CompileTo
from parhelion.lang.given import check_image, check_output
from parhelion.lang.handles import func_of, is_func
from parhelion.lang.inferred import laid_out
from parhelion.lang.judging import judge
from parhelion.lang.machines import device_named_by, machine_of
from parhelion.lang.module import (
    Module,
    c_file,
    known_target,
    named,
    with_arguments,
)
from parhelion.lang.named_sizes import Sizes
from parhelion.lang.pickling import PicklesPipeline
from parhelion.lang.requirement import requirement
from parhelion.lang.runner import Runner
from parhelion.lang.showing import ShownPipeline
from parhelion.lang.target_api import (
    Target,
    TargetFeature,
    get_jit_target_from_environment,
    options,
    strict,
)
from parhelion.lang.texts import Texts
from parhelion.lang.where import (
    Destination,
    box_of,
    boxes_of,
    check_target,
    cut,
    destinations,
    memory_order,
)
from parhelion.runtime.program import Options, Variant, compiling
from parhelion.schedule.gpu import has_kernels
from parhelion.schedule.reach import Reach

if TYPE_CHECKING:
    from parhelion.autoschedule.result import AutoSchedulerResults
    from parhelion.lang.autoscheduling import AutoschedulerParams
    from parhelion.lang.callable import Argument, ArgumentLike, Callable
    from parhelion.lang.expr import ExprLike
    from parhelion.lang.func import Func
    from parhelion.lang.imageparam import ImageParam
    from parhelion.lang.report import Report
    from parhelion.runtime.profile import Profile
    from parhelion.runtime.trace import TraceEvent

Result = Buffer | tuple[Buffer, ...] | None


class Pipeline(ShownPipeline, Texts, CompileTo, PicklesPipeline):
    """One or more Funcs that are compiled and computed in one call: its outputs.

    Compiled code is kept until a definition, a schedule or a promise changes. Images of
    each layout get code of their own, for instance those whose channels are
    interleaved. Raises TypeMismatchError for outputs that are no Funcs, and
    DefinitionError for a Func that is given twice.

    >>> f, g = hl.funcs("f g")
    >>> f[x], g[x] = x + 1, x * x
    >>> plus, squares = hl.Pipeline([f, g]).realize([3])
    >>> np.asarray(squares).tolist()
    [0, 1, 4]
    """

    __slots__ = ("_funcs", "_runner")

    def __init__(self, outputs: Func | Iterable[Func] | None = None) -> None:
        if outputs is None:
            found: list[Func] = []
        elif is_func(outputs):
            found = [outputs]
        else:
            found = list(outputs) if isinstance(outputs, Iterable) else [outputs]
        for f in found:
            if not is_func(f):
                raise TypeMismatchError(
                    f"the outputs of a Pipeline are Funcs, not {f!r:.60}", at=here()
                )
        if len({f._function for f in found}) != len(found):
            raise DefinitionError(
                "a Func is given twice as an output of one Pipeline", at=here()
            )
        self._funcs = found
        functions = [f._function for f in found]
        name = functions[0].name if functions else "pipeline"
        self._runner = Runner(functions, name)

    def __copy__(self) -> Pipeline:
        made = object.__new__(type(self))
        made._funcs, made._runner = self._funcs, self._runner
        return made

    # What it is.

    def defined(self) -> bool:
        """Returns whether the Pipeline has outputs."""
        return bool(self._funcs)

    def outputs(self) -> list[Func]:
        """Returns the outputs, in the order in which they were given."""
        return list(self._funcs)

    def get_func(self, index: int) -> Func:
        """Returns Func number `index` in the order of computation, counted from 0.

        Raises BoundsError if there are not so many.
        """
        from parhelion.schedule.order import realization_order

        order = realization_order(self._functions())
        if not 0 <= integer(index, "the number of a Func") < len(order):
            raise BoundsError(
                f"the Pipeline has {len(order)} Funcs; there is no Func {index}",
                at=here(),
            )
        return func_of(order[index])

    def get_image(self, index: int) -> ImageParam:
        """Returns ImageParam number `index`, in the order in which definitions mention
        them.

        The definitions of the outputs come first. Raises BoundsError if there are not
        so many. (Halide has no such method.)
        """
        from parhelion.lang.imageparam import ImageParam

        found = image_params(self._functions())
        if not 0 <= integer(index, "the number of an ImageParam") < len(found):
            raise BoundsError(
                f"the Pipeline has {len(found)} ImageParams; there is no ImageParam"
                f" {index}",
                at=here(),
            )
        return ImageParam._of(found[index])

    def add_requirement(self, condition: ExprLike, *args: ExprLike | str) -> None:
        """Makes each run check a condition on Params and on the sizes of ImageParams.

        Where it does not hold, nothing is computed and the call raises
        PipelineRuntimeError, whose text is the other arguments, or else the condition.
        Raises TypeMismatchError for conditions that are no Bool, and DefinitionError
        for those that mention Funcs, pixels or Vars.
        """
        self._runner.require(requirement(condition, args))

    def _functions(self) -> Sequence[Function]:
        if not self._funcs:
            raise DefinitionError("the Pipeline has no outputs", at=here())
        return self._runner.outputs

    def _ready(self) -> Runner:
        self._functions()
        self._runner.refresh()
        return self._runner

    def __repr__(self) -> str:
        names = ", ".join(f.name() for f in self._funcs)
        return f"<parhelion.Pipeline of {names or 'nothing'}>"

    # Running.

    def realize(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
        *,
        axes: str | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Computes the outputs and returns a Buffer, or a tuple of Buffers.

        ``realize([w, h])``, or ``realize({"y": h, "x": w})`` by the names of Vars,
        computes that many pixels from coordinate 0 on, in new Buffers, one for each
        value of each output. Given a Buffer or an array (or a
        list with one for each value), it computes the region of it into it, and returns
        None. Of `target`, the features strict_float and profile count.

        axes: the axes of the arrays that are computed, outermost first, as of those
            that Buffers are made of: ``realize((h, w, 3), axes="yxc")`` takes the shape
            of an array, and makes a Buffer whose ``array("yxc")`` is dense; arrays that
            are given have these axes.
        timeout: after how many seconds, those of compiling included, to give up with
            TimeLimitError; see `time_limit`.

        Raises UnsetParamError if an input has no value; BoundsError if an image or the
        Buffer given is too small; TypeMismatchError and InvalidBufferError if a Buffer
        does not fit; PipelineRuntimeError if a `require` fails; OutOfMemoryError;
        HalideError for a target of another processor or system; and what is found when
        the pipeline is compiled, as a rule ScheduleError or DefinitionError.
        """
        check_target(where, target, "realize")
        with within(timeout):
            return self._compute(where, options(target), axes=axes)

    def _compute(
        self,
        where: Sizes | Destination | Sequence[Destination],
        asked: Options,
        method: str = "realize",
        axes: str | None = None,
    ) -> Result:
        runner = self._ready()
        given = destinations(where, method, axes)
        if given is not None:
            self._check(runner, given)
            images = runner.inputs()
            if runner.is_new():
                judge(runner, [box_of(b) for b in given], images)
            runner.run(images, given, options=asked)
            return None
        boxes = boxes_of(runner.targets, where, method, axes)  # type: ignore[arg-type]
        order = memory_order(axes)
        images = runner.inputs()
        if any(e == 0 for box in boxes for _, e in box):
            made = [
                runner.new_buffer(s, b, order=order)
                for s, b in zip(runner.targets, boxes, strict=True)
            ]
        else:
            if runner.is_new():
                judge(runner, boxes, images)
            variant = runner.variant(images, asked, boxes)
            made = runner.allocate(boxes, variant, images.values(), order)
            runner.run(images, made, options=asked)
            made = [cut(b, box) for b, box in zip(made, boxes, strict=True)]
        return made[0] if len(made) == 1 else tuple(made)

    def profile(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
        *,
        repeat: int = 1,
    ) -> Profile:
        """Computes the outputs as `realize` does, and returns the time and memory of
        each Func.

        ``print(pipeline.profile([w, h]))`` shows a table; so does each run for the
        target ``host-profile``, and each run of a program whose environment says
        ``HL_JIT_TARGET=host-profile``. Times are in seconds and memory in bytes, of one
        run on average. Threads are looked at once in a millisecond: `repeat` runs the
        pipeline several times, for more samples. Compilation does not count.

        Raises what `realize` raises, and BoundsError if `repeat` is less than 1.
        """
        from parhelion.runtime.profile import collect, profile_of

        if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
            raise BoundsError(
                f"profile runs the pipeline 1 time or more, not {repeat!r}", at=here()
            )
        check_target(where, target, "profile")
        if target is None:
            target = get_jit_target_from_environment()
        target = target.with_feature(TargetFeature.Profile)
        with collect() as runs:
            for _ in range(repeat):
                self._compute(where, options(target), "profile")
        return profile_of(self._runner.name, runs)

    def trace(
        self,
        where: Sizes | Destination | Sequence[Destination] = (),
        target: Target | None = None,
    ) -> Iterator[TraceEvent]:
        """Computes the outputs as `realize` does, and returns a TraceEvent for each
        event.

        Events are, in order, the beginning and end of storage, of production and of
        use, and each value that is loaded or stored, of the Funcs that have loops of
        their own. All are kept in memory: trace small sizes. Each lane of a vector is
        an event. Raises what `realize` raises.
        """
        from parhelion.runtime.trace import collect_trace

        check_target(where, target, "trace")
        asked = replace(options(target), profile=False, trace=True)
        with collect_trace() as events:
            self._compute(where, asked, "trace")
        return iter(events)

    def report(
        self,
        where: Sizes | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> Report:
        """Returns what the schedule does for outputs of this size, found without a run.

        ``print(pipeline.report([w, h]))`` shows a table: for each Func, how often its
        values are computed again, its storage in bytes, its vectors, the accesses that
        go to memory lane by lane, and what is folded; for each parallel loop, its
        tasks. Branches that depend on pixels count as taken. Raises what `realize`
        raises before it runs.
        """
        from parhelion.lang.report import report

        check_target(where, target, "report")
        runner = self._ready()
        boxes = self._boxes(where, "report")
        variant = runner.variant(runner.inputs(), options(target), boxes)
        with compiling():
            return report(runner, variant, boxes)

    def _boxes(self, where: object, method: str) -> list[Box]:
        """The regions of the outputs that a method is asked for, as `realize` is."""
        runner = self._ready()
        given = destinations(where, method)
        if given is None:
            return boxes_of(runner.targets, where, method)  # type: ignore[arg-type]
        self._check(runner, given)
        return [box_of(b) for b in given]

    def _check(self, runner: Runner, given: Sequence[Buffer]) -> None:
        if len(given) != len(runner.targets):
            raise TypeMismatchError(
                f"{self!r} has {len(runner.targets)} output buffers; "
                f"{len(given)} are given",
                at=here(),
            )
        for sym, buffer in zip(runner.targets, given, strict=True):
            check_output(sym, buffer)

    def compile_jit(
        self, target: Target | None = None, *, timeout: float | None = None
    ) -> None:
        """Compiles now what the first call of `realize` would compile.

        The code is for the images that are set, or else for images of the promised
        layout, by default dense in dimension 0. timeout: see `realize`.
        """
        runner = self._ready()
        with within(timeout):
            runner.program(self._variant(runner, target))

    def _variant(
        self,
        runner: Runner,
        target: Target | None = None,
        copied: bool = False,
        boxes: Sequence[Box] = (),
    ) -> Variant:
        """The variant for what is set now. copied: Buffers that the algorithm mentions
        become dense, as parts of a text. boxes: those of the outputs' values, where
        they are known."""
        given = {
            s: check_image(s, b)
            for s in runner.reach.images
            if isinstance(b := SET.of(s), Buffer)
            and b.defined()
            and not (copied and s.embedded)
        }
        return runner.variant(given, options(target), boxes)

    def invalidate_cache(self) -> None:
        """Forgets the compiled code, so that the next call compiles anew."""
        self._runner.invalidate()

    def infer_input_bounds(
        self,
        where: Sizes | Destination | Sequence[Destination],
        target: Target | None = None,
    ) -> None:
        """Sets each ImageParam that has no image to a new Buffer that is just large
        enough.

        It then serves to realize the outputs at `where`, which is as for `realize`, and
        it has the layout that is promised of the ImageParam. Raises BoundsError where
        less is promised than is needed.

        >>> image = hl.ImageParam(hl.UInt(8), 1)
        >>> f = hl.Func()
        >>> f[x] = image[x - 1] + image[x + 1]
        >>> hl.Pipeline(f).infer_input_bounds([10])
        >>> image.get().left(), image.get().right()
        (-1, 10)
        """
        runner = self._ready()
        given = destinations(where, "infer_input_bounds")
        if given is None:
            boxes = boxes_of(runner.targets, where, "infer_input_bounds")  # type: ignore[arg-type]
            variant = runner.fitting(boxes, self._variant(runner, boxes=boxes))
            # `realize` will compute what the schedule rounds up to.
            boxes = runner.grown(boxes, variant)
            strides = None
        else:
            self._check(runner, given)
            strides = [b._layout().strides for b in given]
            boxes = [box_of(b) for b in given]
            variant = runner.fitting(boxes, self._variant(runner, boxes=boxes))
        for sym, sides in runner.infer_inputs(boxes, variant, strides).items():
            SET.set(sym, laid_out(sym, sides))

    def infer_arguments(self) -> list[Argument]:
        """Returns an Argument for each ImageParam and Param that the outputs depend
        on."""
        from parhelion.lang.callable import Argument

        runner = self._ready()
        variant = self._variant(runner)
        if variant.device is None and has_kernels(runner.reach.functions):
            # A GPU need not be here: what is given does not depend on it.
            variant = replace(variant, device=SIMULATED)
        program = runner.program(variant)
        outputs = set(runner.targets)
        return [
            Argument._of(a.symbol)
            for a in program.lowered.args
            if a.symbol not in outputs and not a.embedded
        ]

    def compile_to_callable(
        self, arguments: Sequence[ArgumentLike], target: Target | None = None
    ) -> Callable:
        """Returns the pipeline compiled as a Python function, a `Callable`.

        It takes the given ImageParams and Params in this order, then a Buffer or array
        for each output value, and keeps the algorithm and schedule as they are now.
        Raises DefinitionError if the pipeline needs an input that is not among the
        arguments.
        """
        self._functions()  # what compiles them looks at them itself
        return self._callable(arguments, options(target))

    def _callable(
        self,
        arguments: Sequence[ArgumentLike],
        options: Options,
        names: Sequence[str] | None = None,
    ) -> Callable:
        """See `compile_to_callable`; names: by which arguments may be given."""
        from parhelion.lang.callable import Callable

        asked = self._runner.reach.requirements
        return Callable(self._funcs, arguments, options, names, asked)

    def _default_name(self) -> str:
        self._ready()
        return self._functions()[0].name

    def compile_to_module(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str = "",
        target: Target | None = None,
    ) -> Module:
        """Returns the lowered pipeline as a Module, which can be written to files.

        It holds a function of the given ImageParams and Params, in this order, and then
        of the outputs. It is called `fn_name`, or else as the first output, and keeps
        the algorithm and schedule as they are now. It serves images of the promised
        layout, by default dense in dimension 0, whatever images are set.

        Raises DefinitionError if the pipeline needs an input that is not among the
        arguments, and HalideError for a target that code cannot be made for.
        """
        return self._module_of(arguments, fn_name, target, {})

    def _module_of(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str,
        target: Target | None,
        names: Mapping[BufferSym | ParamSym, str],
    ) -> Module:
        """See `compile_to_module`; names: what some arguments are called instead."""
        from parhelion.lang.callable import symbols_of

        runner = self._ready()
        fn_name, target = named(fn_name, target)
        goal, given = known_target(target), symbols_of(arguments)
        if goal.has_feature(TargetFeature.Profile):
            raise HalideError(
                "code that is compiled ahead of time cannot be profiled yet",
                at=here(),
                hint="take the feature `profile` out of the target, and profile the"
                " pipeline in this process: Pipeline.profile",
            )
        large = goal.has_feature(TargetFeature.LargeBuffers)
        kernels = has_kernels(runner.reach.functions)
        device = device_named_by(goal) if kernels else None
        variant = Variant(index64=large, strict_float=strict(goal), device=device)
        name = fn_name or self._default_name()
        state, machine = runner.reach.look(), machine_of(goal)

        def c_text() -> str:
            if runner.reach.look() != state:
                raise HalideError(
                    f"Func {runner.name!r} was changed after compile_to_module, and C "
                    "is made of it as it was then",
                    at=here(),
                    hint="make a new Module",
                )
            with runner.lowered(variant, False, name, machine) as lowered:
                plain = with_arguments(lowered, given, name, names)
                return c_file(plain, name, goal)

        with runner.lowered(variant, name=name, machine=machine) as lowered:
            whole = with_arguments(lowered, given, name, names)
            return Module._of(whole, goal, c_text)

    def apply_autoscheduler(
        self, target: Target, autoscheduler_params: AutoschedulerParams
    ) -> AutoSchedulerResults:
        """Finds a schedule for all Funcs, gives it to them, and returns it.

        Directives that the Funcs have already stay. The sizes of the outputs are known
        from `set_estimates` or from promises (`bound`); ``hl.autoschedule`` takes real
        sizes instead. Images and values that are set count, too, and so do estimates of
        inputs. `to_python` of the result prints the schedule, and `explain` says why it
        is so.

        Raises HalideError for a scheduler that there is not, ScheduleError where a size
        is not known or a parameter is wrong, and TypeMismatchError for other arguments.
        From: 001 (Mullapudi et al., Automatically Scheduling Halide Image Processing
        Pipelines) for ``"Mullapudi2016"``.
        """
        from parhelion.lang.autoscheduling import apply_autoscheduler

        return apply_autoscheduler(self, target, autoscheduler_params)


def image_params(outputs: Sequence[Function]) -> tuple[BufferSym, ...]:
    """The images that are given when a pipeline runs, in the order of their mention."""
    reach = Reach(outputs)
    reach.look()
    return tuple([s for s in reach.images if not s.embedded])
