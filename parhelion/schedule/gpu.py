"""Directives that give loops to the blocks, threads and lanes of a GPU, as a mixin.

Names, argument order and meaning are those of Halide 21's Python module. What becomes
of the loops, `lower.kernels` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from parhelion.errors import ScheduleError, here
from parhelion.ir.expr import Var
from parhelion.ir.function import Function
from parhelion.ir.stmt import ForKind
from parhelion.schedule import rules
from parhelion.schedule.args import HasVar, gpu_tile_form, to_int, to_var
from parhelion.schedule.branches import schedules
from parhelion.schedule.change import Change
from parhelion.schedule.directives import OUTERMOST, DeviceAPI

#: Loops of blocks, and of threads, that one kernel may have.
MOST = 3

_Form = tuple[str, ...]
_BLOCK_FORMS: tuple[_Form, ...] = tuple(
    tuple(f"block_{c}" for c in letters) for letters in ("x", "xy", "xyz")
)
_THREAD_FORMS: tuple[_Form, ...] = tuple(
    tuple(f"thread_{c}" for c in letters) for letters in ("x", "xy", "xyz")
)
_GPU_FORMS = tuple(b + t for b, t in zip(_BLOCK_FORMS, _THREAD_FORMS, strict=True))


class GpuLoops:
    """Directives that give the loops of one definition of a Func to a GPU.

    Each raises ScheduleError for arguments that do not fit, for a loop that is not
    there or whose iterations depend on each other, and for another device than
    Default_GPU. What no kernel can be made of is refused when the pipeline is
    compiled.
    """

    __slots__ = ()
    _function: Function
    _stage: int

    def gpu(self, *given: HasVar | DeviceAPI, **named: HasVar | DeviceAPI) -> Self:
        """Runs loops over the blocks of a kernel, and as many others over the threads
        of each block.

        ``gpu(bx, tx)``, ``gpu(bx, by, tx, ty)`` or ``gpu(bx, by, bz, tx, ty, tz)``,
        each innermost first, with a `device_api` at the end or none. Raises
        ScheduleError for other arguments and loops that are not there.
        """
        with Change(self._function, self._stage) as change:
            loops, device = _loops(change, "gpu", given, named, _GPU_FORMS)
            half = len(loops) // 2
            _mark(change, loops[:half], ForKind.GPU_BLOCK, "gpu")
            _mark(change, loops[half:], ForKind.GPU_THREAD, "gpu")
            _name(change, loops, device)
        return self

    def gpu_blocks(
        self, *given: HasVar | DeviceAPI, **named: HasVar | DeviceAPI
    ) -> Self:
        """Runs one to three loops, innermost first, over the blocks of a kernel.

        Raises ScheduleError as `gpu` does.
        """
        with Change(self._function, self._stage) as change:
            loops, device = _loops(change, "gpu_blocks", given, named, _BLOCK_FORMS)
            _mark(change, loops, ForKind.GPU_BLOCK, "gpu_blocks")
            _name(change, loops, device)
        return self

    def gpu_threads(
        self, *given: HasVar | DeviceAPI, **named: HasVar | DeviceAPI
    ) -> Self:
        """Runs one to three loops, innermost first, over the threads of each block.

        Raises ScheduleError as `gpu` does.
        """
        with Change(self._function, self._stage) as change:
            loops, device = _loops(change, "gpu_threads", given, named, _THREAD_FORMS)
            _mark(change, loops, ForKind.GPU_THREAD, "gpu_threads")
            _name(change, loops, device)
        return self

    def gpu_lanes(
        self, thread_x: HasVar, device_api: DeviceAPI = DeviceAPI.Default_GPU
    ) -> Self:
        """Runs a loop over the lanes of a warp, which can exchange registers.

        Raises ScheduleError as `gpu` does.
        """
        with Change(self._function, self._stage) as change:
            loops, device = _loops(
                change, "gpu_lanes", (thread_x, device_api), {}, _THREAD_FORMS[:1]
            )
            _mark(change, loops, ForKind.GPU_LANE, "gpu_lanes")
            _name(change, loops, device)
        return self

    def gpu_single_thread(self, device_api: DeviceAPI = DeviceAPI.Default_GPU) -> Self:
        """Runs the whole definition in one thread of one block, as a kernel of its own.

        For what has little to do between kernels, so that nothing is copied to the host
        for it. Raises ScheduleError for another device than Default_GPU.

        >>> f = hl.Func("f")
        >>> f[x] = x
        >>> f.gpu_single_thread().print_loop_nest()
        produce f:
          gpu_block __outermost in [0, 0]<Default_GPU>:
            gpu_thread __outermost in [0, 0]<Default_GPU>:
              for x:
                f(...) = ...
        """
        with Change(self._function, self._stage) as change:
            _check_device(f"{change.label}.gpu_single_thread", device_api)
            change.schedule.single_thread = True
            _name(change, [OUTERMOST], device_api)
            change.schedule.sites = {**change.schedule.sites, OUTERMOST: here()}
        return self

    def gpu_tile(self, *given: object, **named: object) -> Self:
        """Cuts one to three dimensions into tiles: each tile is a block of a kernel,
        and each of its pixels a thread.

        ``gpu_tile(x, y, bx, by, tx, ty, x_size, y_size, tail, device_api)``, likewise
        for one loop and for three; without `bx`, `by` the loops of the blocks keep the
        names of those that are tiled. Raises ScheduleError as `gpu` does.

        >>> f, tx, ty = hl.Func("f"), hl.Var("tx"), hl.Var("ty")
        >>> f[x, y] = x + y
        >>> f.gpu_tile(x, y, tx, ty, 16, 8).print_loop_nest()
        produce f:
          gpu_block y.y<Default_GPU>:
            gpu_block x.x<Default_GPU>:
              gpu_thread y.ty in [0, 7]<Default_GPU>:
                gpu_thread x.tx in [0, 15]<Default_GPU>:
                  f(...) = ...
        """
        with Change(self._function, self._stage) as change:
            _tile(change, given, named)
        return self


def _tile(change: Change, given: tuple[object, ...], named: dict[str, object]) -> None:
    what, label = "gpu_tile", f"{change.label}.gpu_tile"
    form, device = gpu_tile_form(label, given, named)
    _check_device(label, device)
    olds = [to_var(v, label) for v in form.olds]
    blocks = [to_var(v, label) for v in form.outers]
    threads = [to_var(v, label) for v in form.inners]
    for old, block, thread, size in zip(
        olds, blocks, threads, form.factors, strict=True
    ):
        change.split(old, block, thread, to_int(size, label, "size"), form.tail, what)
    if len(olds) > 1:
        change.reorder(threads + blocks, what)
    _mark(change, blocks, ForKind.GPU_BLOCK, what)
    _mark(change, threads, ForKind.GPU_THREAD, what)
    _name(change, [*blocks, *threads], device)


def _name(change: Change, loops: Sequence[Var], device: object) -> None:
    """Notes what a device was called, which loop nests are printed with."""
    schedule = change.schedule
    others = tuple([v for v in schedule.cuda if v not in loops])
    if device is DeviceAPI.CUDA:
        schedule.cuda = (*others, *loops)
    elif len(others) < len(schedule.cuda):
        schedule.cuda = others


def _mark(change: Change, loops: Sequence[Var], kind: ForKind, directive: str) -> None:
    for loop in loops:
        change.mark(loop, kind, directive)
    count = sum(d.kind is kind for d in change.schedule.dims)
    if count > MOST:
        raise ScheduleError(
            f"{change.label}.{directive}: a kernel has at most {MOST} loops over"
            f" {rules.KIND_WORD[kind].removeprefix('gpu_')}s, but {count} are given",
            at=here(),
        )


def _loops(
    change: Change,
    directive: str,
    given: tuple[object, ...],
    named: dict[str, HasVar | DeviceAPI],
    forms: Sequence[_Form],
) -> tuple[list[Var], object]:
    """The loops among a directive's arguments, in the order of the form they fit, and
    the device."""
    known: dict[str, object] = dict(named)
    device = known.pop("device_api", DeviceAPI.Default_GPU)
    if given and isinstance(given[-1], DeviceAPI):
        given, device = given[:-1], given[-1]
    label = f"{change.label}.{directive}"
    _check_device(label, device)
    for form in forms:
        bound = dict(zip(form, given, strict=False)) | known
        if len(given) + len(known) == len(form) and set(bound) == set(form):
            return [to_var(bound[name], label) for name in form], device
    raise ScheduleError(
        f"{label}: the arguments fit none of its forms",
        at=here(),
        legal=[f"{directive}({', '.join([*form, 'device_api'])})" for form in forms],
    )


def _check_device(directive: str, device: object) -> None:
    # There is one kind of GPU.
    legal = (DeviceAPI.Default_GPU, DeviceAPI.CUDA)
    if device not in legal:
        raise ScheduleError(
            f"{directive}: there are no kernels for {device}",
            at=here(),
            legal=list(map(str, legal)),
        )


def has_kernels(functions: Sequence[Function]) -> bool:
    """Whether a stage has loops of a GPU."""
    return any(
        [
            branch.single_thread or any([dim.kind.on_gpu for dim in branch.dims])
            for f in functions
            for d in f.stages()
            for branch in schedules(d.schedule)
        ]
    )
