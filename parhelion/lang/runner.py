"""Running a pipeline on arguments: checks, choice of the code variant, allocation.

`Pipeline` and `Callable` are two ways to say what the arguments are; both end here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from parhelion.errors import (
    BoundsError,
    DefinitionError,
    InvalidBufferError,
    ScheduleError,
    UnsetParamError,
    here,
)
from parhelion.ir.bindings import SET, Bindings
from parhelion.ir.changes import epoch
from parhelion.ir.device import Device
from parhelion.ir.evaluate import evaluate
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.pipeline import ArgKind, Argument, Lowered, Requirement
from parhelion.ir.rewrite import free_vars
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang import arrays
from parhelion.lang.boxes import Box, as_promised, joined, region_of, storage_order
from parhelion.lang.buffer import Buffer
from parhelion.lang.given import (
    Number,
    check_apart,
    check_empty,
    check_image,
    exact,
    value_of,
)
from parhelion.lang.inferred import Sides, told
from parhelion.runtime.foreign import KeptPixelsError
from parhelion.runtime.layout import Layout, overlap
from parhelion.runtime.program import (
    LOCK,
    PLAIN,
    CompiledPipeline,
    Options,
    Promises,
    Variant,
    build,
    check_demands,
    compiling,
    current_device,
    device_for,
    fitted,
    lowered_for,
    small_splits,
    standing,
    variant_for,
)
from parhelion.schedule.branches import schedules
from parhelion.schedule.directives import Split
from parhelion.schedule.reach import Fingerprint, Reach
from parhelion.schedule.recomputing import unscheduled
from parhelion.schedule.spec import PipelineSpec
from parhelion.schedule.tails import overrun

if TYPE_CHECKING:
    from parhelion.ir.target import Target as Machine

#: Failures of code that assumes too much of its images, or of its own storage.
_TOO_SMALL = ("input_too_small", "output_too_small", "bound_too_small")
_TOO_LARGE = ("size_overflow", "allocation_too_large")

#: How often a region is derived again from itself before it must stand still.
_MAX_ROUNDS = 8

#: For how many sizes the region that is written is remembered.
_MAX_REMEMBERED = 64


class Runner:
    """Compiled forms of some outputs, one per layout of the arguments.

    They are thrown away when a definition, a schedule or a promise changes.
    called: what failures call images, Params and outputs instead, by their names.
    bindings: what images and Params stand for, where a call does not say.
    """

    def __init__(
        self,
        outputs: Sequence[Function],
        name: str,
        requirements: Sequence[Requirement] = (),
        called: Mapping[str, str] | None = None,
        bindings: Bindings = SET,
    ) -> None:
        self.outputs = tuple(outputs)
        self.name = name
        self.called = called or {}
        self.bindings = bindings
        self.reach = Reach(outputs)
        self.reach.requirements = tuple(requirements)
        self.targets: tuple[BufferSym, ...] = tuple(
            [b for f in outputs for b in f.buffers]
        )
        self._state: Fingerprint | None = None
        self._epoch = -1
        #: What kernels are made for, if the schedule has some.
        self.device: Device | None = None
        self._promises: Promises = {}
        self._programs: dict[Variant, CompiledPipeline] = {}
        self._written: dict[object, list[Box]] = {}
        #: Variants with guarded tails that the schedule does not allow.
        self._unguarded: set[Variant] = set()
        #: Dimensions of outputs that code may be specialised to (`small_splits`).
        self._small: dict[BufferSym, dict[int, int]] = {}
        #: The state of the pipeline when it was last looked at for recomputation.
        self._judged: Fingerprint | None = None

    def require(self, more: Requirement) -> None:
        """Adds a condition that is checked whenever the pipeline runs."""
        self.reach.requirements = (*self.reach.requirements, more)
        self._epoch = -1

    def refresh(self) -> bool:
        """Looks at the Functions again; true if nothing changed since the last time."""
        for f in self.outputs:
            if not f.defined:
                raise DefinitionError(
                    f"Func {f.name!r} is not defined, so it cannot be computed",
                    at=here(),
                    hint=f"define it: {f.name}[x, y] = …",
                )
        now = epoch()
        if now == self._epoch:
            return True
        if self._state is not None and self.reach.look() == self._state:
            self._epoch = now
            return True
        with LOCK:
            # Again, now that no other thread's compilation has promises replaced.
            state = self.reach.look()
            same = state == self._state
            if not same:
                self._state, self._programs, self._written = state, {}, {}
                self._unguarded = set()
                self.targets = tuple([b for f in self.outputs for b in f.buffers])
                self._promises = standing((*self.reach.images, *self.targets))
                self.device = device_for(self.reach.functions)
                self._small = {
                    b: splits
                    for f in self.outputs
                    if (splits := small_splits(f))
                    for b in f.buffers
                }
            # Last: a thread that sees it takes all of the above for up to date.
            self._epoch = now
        return same

    def variant(
        self,
        layouts: Mapping[BufferSym, Layout],
        options: Options = PLAIN,
        boxes: Sequence[Box] = (),
    ) -> Variant:
        """The variant of the code that serves these arguments. boxes: those of the
        outputs, where their layouts are not known yet."""
        found = variant_for(self._promises, layouts, options)
        if self.device is not None:
            # Another one than before, perhaps (`cuda_device`).
            found = replace(found, device=current_device())
        if self._small:
            asked = dict(zip(self.targets, boxes, strict=False))
            sizes = []
            for sym, splits in self._small.items():
                box = asked.get(sym)
                if box is None:
                    layout = layouts.get(sym)
                    if layout is None:
                        continue
                    box = list(zip(layout.mins, layout.extents, strict=True))
                sizes += [(sym, d, n) for d, n in splits.items() if box[d] == (0, n)]
            if sizes:  # seldom: a copy costs more than all of the rest
                found = replace(found, sizes=frozenset(sizes))
        return found

    def invalidate(self) -> None:
        """Forgets all compiled code."""
        with LOCK:
            self._state, self._programs, self._written = None, {}, {}
            self._unguarded = set()
            self._epoch = -1

    def program(self, variant: Variant) -> CompiledPipeline:
        """The code for a variant, compiled at its first use."""
        found = self._programs.get(variant)
        if found is None:
            with LOCK:
                found = self._programs.get(variant)
                if found is None:
                    sites = self.reach.sites()
                    state = self._state
                    if state is None or self._epoch != epoch():
                        state = self.reach.look()
                    found = build(self.reach, self.name, variant, sites, state)
                    if self.called:
                        found = replace(found, call=found.call.renamed(self.called))
                    self._programs[variant] = found
                    # Images that only a schedule mentions come to light here.
                    images = [a.symbol for a in found.lowered.args]
                    self._promises = {
                        **standing([b for b in images if isinstance(b, BufferSym)]),
                        **self._promises,
                    }
        return found

    def has(self, variant: Variant) -> bool:
        """Whether the code for a variant exists."""
        return variant in self._programs

    def variants(self) -> int:
        """How many variants have code."""
        return len(self._programs)

    def spec(self) -> PipelineSpec:
        """The pipeline as it is now. Call it inside `compiling`."""
        return PipelineSpec.of(self.outputs, self.reach.requirements)

    @contextmanager
    def lowered(
        self,
        variant: Variant,
        vectors: bool = True,
        name: str = "",
        machine: Machine | None = None,
    ) -> Iterator[Lowered]:
        """Yields the lowered program with its body, lowered anew. By default the
        function is called as the first output and is for this computer."""
        with compiling():
            name = name or self.name
            yield lowered_for(self.spec(), name, variant, vectors, machine)

    def is_new(self) -> bool:
        """Whether `lang.judging` has not seen the pipeline as it is now."""
        return self._judged is not self._state

    def is_suspect(self) -> bool:
        """Whether the pipeline has several Funcs and no schedule; it counts as judged
        from now on (`lang.judging`)."""
        self._judged = self._state
        return len(self.reach.functions) > 1 and unscheduled(self.reach.functions)

    def forget_judgement(self) -> None:
        """Makes the pipeline one that was not judged yet, as it was refused."""
        self._judged = None

    # Arguments.

    def image(self, sym: BufferSym) -> Buffer:
        """What the user has given for an input image."""
        given = self.bindings.of(sym)
        if not isinstance(given, Buffer) or not given.defined():
            raise UnsetParamError(
                f"ImageParam {sym.name!r} has no image",
                at=sym.site or here(),
                hint="give it one before realize: set(array)",
            )
        return given

    def scalar(self, sym: ParamSym) -> Number:
        """What the user has set a Param to."""
        value: Number | None = self.bindings.of(sym)
        if value is None:
            raise UnsetParamError(
                f"Param {sym.name!r} has no value",
                at=sym.site or here(),
                hint="give it one before realize: set(value)",
            )
        return value

    def inputs(self) -> dict[BufferSym, Layout]:
        """The layouts of all input images as they are set now."""
        return {s: check_image(s, self.image(s)) for s in self.reach.images}

    def run(
        self,
        images: Mapping[BufferSym, Layout],
        destinations: Sequence[Buffer],
        scalars: Mapping[ParamSym, Number] | None = None,
        options: Options = PLAIN,
    ) -> Variant | None:
        """Computes the outputs into `destinations`, which have been checked. Returns
        the variant that did, None if it did so in other places or had nothing to do."""
        spare: list[tuple[Buffer, Buffer]] = []
        layouts = dict(images)
        inputs = list(images.values())
        given = [b._layout() for b in destinations]
        if any([0 in layout.extents for layout in given]):
            check_empty(self.targets, given)
            return None
        if len(given) > 1:
            check_apart(self.targets, destinations, given)
        for sym, buffer, layout in zip(self.targets, destinations, given, strict=True):
            if any(overlap(layout, other) for other in inputs):
                # The code assumes that its arguments lie apart.
                instead = Buffer.make_with_shape_of(buffer)
                spare.append((buffer, instead))
                layout = instead._layout()
            layouts[sym] = layout
            inputs.append(layout)
        try:
            served = self._run(self.variant(layouts, options), layouts, scalars)
        except KeptPixelsError as error:
            error.hold([*destinations, *[instead for _, instead in spare]])
            error.hold([self.bindings.of(s) for s in self.reach.images])
            raise
        for buffer, instead in spare:
            buffer._writable()[...] = instead._pixels()
        return None if spare else served

    def _run(
        self,
        variant: Variant,
        layouts: Mapping[BufferSym, Layout],
        scalars: Mapping[ParamSym, Number] | None,
    ) -> Variant:
        program = self.program(variant)
        try:
            program.call.run(self.values(program, layouts, scalars))
        except (BoundsError, InvalidBufferError) as error:
            other = self.instead(variant, error.failure)
            if other is None:
                from parhelion.lang.axes import advise

                advise(error, self, program, layouts, scalars)
                raise
            return self._run(other, layouts, scalars)
        return variant

    def instead(self, variant: Variant, failure: str) -> Variant | None:
        """A variant that may succeed where this one reported a failure."""
        if failure in _TOO_SMALL:
            # The schedule may round up to more than the images have. Where the
            # tails are ours to choose there is code that does not; and code for all
            # sizes may write less than that for this one.
            made = self._guarded(variant)
            if made is None and variant.sizes:
                made = replace(variant, sizes=frozenset())
            return made
        if failure in _TOO_LARGE and not variant.index64:
            return replace(variant, index64=True)
        return None

    def _guarded(self, variant: Variant) -> Variant | None:
        """Returns the variant with guarded tails, where the user left the tails to us.
        None if this is that variant, or if it does not compile, because a tile with
        a loop that is vectorised or unrolled as a whole cannot be cut short."""
        if variant.guard_tails or not self._may_guard():
            return None
        guarded = replace(variant, guard_tails=True)
        if guarded in self._unguarded:
            return None
        try:
            self.program(guarded)
        except ScheduleError:
            # Not the user's: the schedule is legal as it was given.
            self.program(variant)
            self._unguarded.add(guarded)
            return None
        return guarded

    def _may_guard(self) -> bool:
        """Whether the pipeline has a split whose tail the user left to us."""
        return any(
            isinstance(t, Split) and t.auto
            for f in self.reach.functions
            for d in f.stages()
            for s in schedules(d.schedule)
            for t in s.transforms
        )

    def fitting(self, boxes: Sequence[Box], variant: Variant) -> Variant:
        """Returns the variant to allocate outputs by: the guarded one if the given one
        writes more than these boxes, or needs more of a Func than is promised."""
        if not self._may_guard():
            return variant
        grows = self.grown(boxes, variant) != list(boxes)
        if grows or not self._has_room(boxes, variant):
            return self._guarded(variant) or variant
        return variant

    def _has_room(self, boxes: Sequence[Box], variant: Variant) -> bool:
        """Whether the regions that are promised of Funcs are large enough, as far as
        the outputs' boxes tell."""
        lowered = self.program(variant).lowered
        asked = dict(zip(self.targets, boxes, strict=True))
        env = self.environment(lowered.args, asked)
        unknown = self._unknown()
        known = [e for e in lowered.bounds if unknown.isdisjoint(free_vars(e))]
        return all([evaluate(e, env) for e in known])

    def values(
        self,
        program: CompiledPipeline,
        layouts: Mapping[BufferSym, Layout],
        scalars: Mapping[ParamSym, Number] | None,
    ) -> list[object]:
        """What the arguments of some code are, for arrays of these layouts."""
        strides = dict(program.variant.strides)
        values: list[object] = []
        for arg in program.lowered.args:
            sym = arg.symbol
            if isinstance(sym, ParamSym):
                given = None if scalars is None else scalars.get(sym)
                values.append(self.scalar(sym) if given is None else given)
            else:
                layout = layouts.get(sym)
                if layout is None:
                    layout = check_image(sym, self.image(sym))
                values.append(fitted(self._promises[sym], layout, strides.get(sym, ())))
        return values

    # Regions.

    def environment(
        self,
        args: Sequence[Argument],
        boxes: Mapping[BufferSym, Box],
    ) -> dict[Var, Number]:
        """Returns the values of the Vars that regions mention: sizes and Params."""
        env: dict[Var, Number] = {}
        for sym, box in boxes.items():
            for dim, (lo, extent) in zip(sym.dims, box, strict=True):
                env[dim.min], env[dim.extent] = lo, extent
        for arg in args:
            symbol = arg.symbol
            if isinstance(symbol, ParamSym):
                env[symbol.var] = exact(symbol, self.scalar(symbol))
            elif arg.kind is ArgKind.INPUT and symbol not in boxes:
                given = self.bindings.of(symbol)
                for d, dim in enumerate(symbol.dims):
                    known = given.dim(d) if isinstance(given, Buffer) else None
                    env[dim.min] = known.min() if known else 0
                    env[dim.extent] = known.extent() if known else 0
                    env[dim.stride] = known.stride() if known else 0
        return env

    def _check(
        self,
        program: CompiledPipeline,
        env: Mapping[Var, Number],
        known: Collection[BufferSym],
    ) -> None:
        """Checks the schedule's numbers, except those that depend on the sizes of
        images that are neither set nor in `known`."""
        unknown = self._unknown(known)
        check_demands(program.lowered.demands, env, program.call.sites, unknown)

    def _unknown(self, known: Collection[BufferSym] = ()) -> set[Var]:
        """Returns the Vars of sizes of images that are neither set nor in `known`."""
        return {
            v
            for s in self.reach.images
            if self.bindings.of(s) is None and s not in known
            for d in s.dims
            for v in (d.min, d.extent, d.stride)
            if isinstance(v, Var)
        }

    def new_buffer(
        self,
        sym: BufferSym,
        box: Box,
        read: Sequence[int] = (),
        order: Sequence[int] | None = None,
    ) -> Buffer:
        """Returns a new Buffer for a region, with the strides that are promised of
        it. read: the addresses of the images that it is computed from. order: the
        dimensions, innermost first, if they are to lie in another order."""
        extents = arrays.check_sizes([e for _, e in box], repr(sym.name))
        if order is None:
            order = storage_order(self._promises[sym], extents)
        array = arrays.allocate(sym.type, extents, order, read)
        return Buffer._fresh(sym.type, array, [lo for lo, _ in box])

    def allocate(
        self,
        boxes: Sequence[Box],
        variant: Variant,
        images: Iterable[Layout] = (),
        order: Sequence[int] | None = None,
    ) -> list[Buffer]:
        """New Buffers for the outputs, as large as the schedule writes. order: see
        `new_buffer`."""
        read = [one.host for one in images]
        written = self.written(boxes, variant)
        guarded = self._guarded(variant) if written != list(boxes) else None
        if guarded is not None:
            written = self.written(boxes, guarded)
        pairs = zip(self.targets, written, strict=True)
        return [self.new_buffer(sym, box, read, order) for sym, box in pairs]

    def written(self, boxes: Sequence[Box], variant: Variant) -> list[Box]:
        """Returns the boxes that the schedule writes when `boxes` are asked for: the
        same, rounded up by its splits."""
        key = (
            variant,
            tuple([tuple(box) for box in boxes]),
            tuple([self.bindings.of(p) for p in self.reach.params]),
            tuple([(lay.mins, lay.extents) for lay in self.inputs().values()]),
            # Factors of splits may depend on what only the schedule mentions.
            tuple([value_of(s, self.bindings) for s in self.reach.others]),
        )
        written = self._written.get(key)
        if written is None:
            if len(self._written) > _MAX_REMEMBERED:
                self._written.clear()
            written = self._written[key] = self.grown(boxes, variant)
        return written

    def grown(self, boxes: Sequence[Box], variant: Variant) -> list[Box]:
        """Returns the same as `written` without remembering it; no images need be
        set."""
        program = self.program(variant)
        wanted = dict(zip(self.targets, boxes, strict=True))
        for _ in range(_MAX_ROUNDS):
            env = self.environment(program.lowered.args, wanted)
            self._check(program, env, wanted)
            grown = {
                sym: as_promised(
                    sym,
                    box,
                    joined(box, region_of(program.lowered.written.get(sym), env)),
                )
                for sym, box in wanted.items()
            }
            if grown == wanted:
                made = list(wanted.values())
                general = self._of_sizes(variant, made)
                # Larger buffers are not of the sizes that the code knows.
                return made if general == variant else self.grown(boxes, general)
            wanted = grown
        raise overrun(self.name, self.outputs)

    def _of_sizes(self, variant: Variant, boxes: Sequence[Box]) -> Variant:
        """Returns `variant` without those of its known sizes that `boxes` do not
        have."""
        asked = dict(zip(self.targets, boxes, strict=True))
        held = [s for s in variant.sizes if asked[s[0]][s[1]] == (0, s[2])]
        return replace(variant, sizes=frozenset(held))

    def infer_inputs(
        self,
        boxes: Sequence[Box],
        variant: Variant,
        strides: Sequence[Sequence[int]] | None = None,
    ) -> dict[BufferSym, Sides]:
        """Returns min, extent and stride of each image that is not set, so that it
        covers what the computation of `boxes` reads, in the layout that is promised.
        An image that no computed value reads has no pixels, unless its size is
        promised. `strides` are the outputs', by default those of new Buffers."""
        program = self.program(self._of_sizes(variant, boxes))
        outputs = dict(zip(self.targets, boxes, strict=True))
        missing = [s for s in self.reach.images if self.bindings.of(s) is None]
        steps: dict[Var, Number] = {}
        if strides is None:
            strides = [self._dense(sym, box) for sym, box in outputs.items()]
        for sym, made in zip(self.targets, strides, strict=True):
            steps |= {d.stride: step for d, step in zip(sym.dims, made, strict=True)}
        needed: dict[BufferSym, Box] = {}
        found: dict[BufferSym, Sides] = {}
        for _ in range(_MAX_ROUNDS):
            known = {s: [side[:2] for side in sides] for s, sides in found.items()}
            env = self.environment(program.lowered.args, outputs | known) | steps
            self._check(program, env, known)
            required = program.lowered.required
            read = {s: region_of(required[s], env) for s in missing if s in required}
            joint = {s: joined(needed.get(s), box) for s, box in read.items()}
            for sym in missing:
                joint.setdefault(sym, [(0, 0)] * len(sym.dims))
            made_of = told(joint, env)
            if joint == needed and made_of == found:
                break
            needed, found = joint, made_of
        return found

    def _dense(self, sym: BufferSym, box: Box) -> list[int]:
        """Returns the strides of a new Buffer for a region."""
        extents, strides, stride = [e for _, e in box], [0] * len(box), 1
        for d in storage_order(self._promises[sym], extents):
            strides[d] = stride
            stride *= extents[d]
        return strides
