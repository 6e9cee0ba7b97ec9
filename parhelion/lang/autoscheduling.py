"""Automatic schedulers by name: the registry, their parameters, and ``autoschedule``.

The schedulers themselves are in `parhelion.autoschedule`, above this package, or
anywhere else: the registry knows where each one is and loads it when it is first used.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parhelion.errors import HalideError, TypeMismatchError, here
from parhelion.ir.deadline import within
from parhelion.ir.function import Function
from parhelion.ir.names import plain_name
from parhelion.lang.boxes import Box
from parhelion.lang.target_api import Target, get_host_target

if TYPE_CHECKING:
    from parhelion.autoschedule.result import AutoSchedulerResults, Scheduler
    from parhelion.lang.func import Func
    from parhelion.lang.named_sizes import Sizes
    from parhelion.lang.pipeline import Pipeline

#: Where each scheduler is, as "module:attribute"; the built-in ones to begin with.
_SCHEDULERS: dict[str, str] = {
    "Baseline": "parhelion.autoschedule.mullapudi.schedulers:BASELINE",
    "Mullapudi2016": "parhelion.autoschedule.mullapudi.schedulers:MULLAPUDI2016",
    "Parhelion": "parhelion.autoschedule.gpu.either:PARHELION",
    "PolyMage": "parhelion.autoschedule.mullapudi.schedulers:POLYMAGE",
}
_DRIVER = "parhelion.autoschedule.driver"

#: The scheduler that `autoschedule` asks where none is named.
DEFAULT_SCHEDULER = "Parhelion"

#: Those that come with Halide as plugins, in C++, and that are not here.
_OF_HALIDE = ("Adams2019", "Anderson2021", "Li2018", "Mullapudi2016")


class AutoschedulerParams:
    """The name of an automatic scheduler, and values of its parameters.

    name: the scheduler's, or "" for none.
    extra: values by the names of its parameters, text or numbers, which are kept as
        text. The scheduler checks them when it runs.

    Raises TypeMismatchError for arguments of other kinds.

    >>> hl.AutoschedulerParams("Mullapudi2016", {"parallelism": 8}).extra
    {'parallelism': '8'}
    """

    __slots__ = ("name", "extra")
    name: str
    extra: dict[str, str]

    def __init__(
        self, name: str = "", extra: Mapping[str, str | float] | None = None
    ) -> None:
        if not isinstance(name, str):
            raise TypeMismatchError(
                f"the name of an autoscheduler is a string, not {name!r:.60}", at=here()
            )
        if extra is not None and not isinstance(extra, Mapping):
            raise TypeMismatchError(
                "the parameters of an autoscheduler are a dict from their names to"
                f" values, not {extra!r:.60}",
                at=here(),
            )
        self.name, self.extra = name, {}
        for key, value in (extra or {}).items():
            if not isinstance(key, str):
                raise TypeMismatchError(
                    "the name of a parameter of an autoscheduler is a string, not"
                    f" {key!r:.60}",
                    at=here(),
                )
            if not isinstance(value, str | int | float):
                raise TypeMismatchError(
                    f"the value of the parameter {key} of an autoscheduler is a string"
                    f" or a number, not {value!r:.60}",
                    at=here(),
                )
            self.extra[key] = str(value)

    def __repr__(self) -> str:
        return f"<parhelion.AutoschedulerParams {self.name!r} {self.extra}>"


def register_autoscheduler(name: str, where: str) -> None:
    """Makes an automatic scheduler known by a name.

    where: ``"module:attribute"`` of an object that has the methods of
        `parhelion.autoschedule.result.Scheduler`. The module is imported when the
        scheduler is first asked for.

    A name that was known already means the new scheduler. Raises HalideError if `where`
    is of another form.

    >>> where = "parhelion.autoschedule.baseline:scheduler"
    >>> hl.register_autoscheduler("Baseline", where)
    """
    if not re.fullmatch(r"[\w.]+:\w+", where):
        raise HalideError(
            f"a scheduler is registered as 'module:attribute', not {where!r}", at=here()
        )
    _SCHEDULERS[name] = where


def autoschedulers() -> list[str]:
    """Returns the names of the automatic schedulers that are known, sorted."""
    return sorted(_SCHEDULERS)


def find_autoscheduler(name: str) -> Scheduler:
    """The scheduler of a name. Raises HalideError if there is none, or nothing of the
    kind where it was registered to be; what its module raises comes through."""
    where = _SCHEDULERS.get(name)
    if where is None:
        raise _unknown(name)
    module, _, attribute = where.partition(":")
    try:
        found: Scheduler = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise _nowhere(name, where, f"there is no module {error.name!r}") from error
    except AttributeError as error:
        if error.name != attribute:
            raise
        raise _nowhere(name, where, f"the module has no {attribute!r}") from error
    if not callable(getattr(found, "schedule", None)):
        raise _nowhere(name, where, "the object has no method schedule")
    return found


def _nowhere(name: str, where: str, what: str) -> HalideError:
    return HalideError(
        f"the autoscheduler {name!r} is registered as {where!r}, but {what}", at=here()
    )


def _unknown(name: str) -> HalideError:
    what = f"there is no autoscheduler {name!r}"
    if not name:
        what = "no autoscheduler is named"
    hint = ""
    if name in _OF_HALIDE:
        hint = f"{name} is a plugin of Halide's, in C++; it does not exist here"
    else:
        import difflib  # only here: nobody else needs it

        near = difflib.get_close_matches(name.lower(), map(str.lower, _SCHEDULERS), 1)
        hint = "".join(
            [f"did you mean {n!r}?" for n in autoschedulers() if n.lower() in near]
        )
    return HalideError(what, at=here(), legal=autoschedulers(), hint=hint)


def load_plugin(lib_name: str) -> None:
    """Checks that an automatic scheduler is there:
    ``load_plugin("autoschedule_mullapudi2016")``.

    Scripts written for Halide call it; the schedulers are built in, and nothing is
    loaded. Raises HalideError for any other plugin, as Halide's libraries cannot be
    loaded, and TypeMismatchError for what is no name.
    """
    if not isinstance(lib_name, str):
        raise TypeMismatchError(
            f"load_plugin takes the name of a plugin, not {lib_name!r:.60}", at=here()
        )
    wanted = re.split(r"[/\\]", lib_name)[-1].split(".")[0].lower()
    wanted = wanted.removeprefix("lib").removeprefix("autoschedule_")
    if wanted not in map(str.lower, _SCHEDULERS):
        raise HalideError(
            f"there is no plugin {lib_name!r}",
            at=here(),
            legal=[f"autoschedule_{name.lower()}" for name in autoschedulers()],
            hint="plugins of Halide's are libraries in C++, which do not fit here",
        )


def autoschedule(
    outputs: Func | Pipeline | Sequence[Func],
    *arguments: object,
    sizes: Sizes | None = None,
    inputs: Mapping[object, object] | None = None,
    scheduler: str = DEFAULT_SCHEDULER,
    target: Target | None = None,
    measure: int = 0,
    reassociate: bool | str | None = None,
    axes: str | None = None,
    timeout: float | None = None,
    **params: str | float,
) -> AutoSchedulerResults:
    """Finds a schedule for one or more outputs, gives it to their Funcs, and returns
    it.

    It takes the sizes of the outputs and inputs from what is at hand::

        hl.autoschedule(out, [w, h])            # as for out.realize([w, h])
        hl.autoschedule(out, {"y": h, "x": w})  # by the names of Vars
        hl.autoschedule(out, buffer)            # as for out.realize(buffer)
        hl.autoschedule(out, image, [w, h])     # with an ImageParam that is not set
        hl.autoschedule(out, image, gain, buffer)   # as a Callable is called
        hl.autoschedule(out)                    # estimates, or promises of the sizes

    arguments: first values for the ImageParams that have no image, then for the Params
        that have no value, each in the order in which the definitions mention them,
        from the outputs on; then the extents of the outputs, or buffers for them. All
        inputs or all outputs may be left out.
    sizes: the extents of the outputs in pixels, innermost first, or by the names of
        Vars, ``{"y": h, "x": w}``; in place of the last argument.
    inputs: images and values by ImageParam or Param, or by their names. What is set
        already need not be given; an image that nobody gives is taken to be as large as
        the outputs need it.
    scheduler: the name of the automatic scheduler.
    target: what the schedule is for, by default this computer.
    measure: how many candidates the default scheduler may run, to see which one is
        fastest. Other schedulers have no such parameter.
    reassociate: whether sums of floats may be regrouped by the default scheduler. True:
        large sums are computed in parts (`rfactor`), and scans with few and long lines
        in tiles (`tile_scan`), as those of integers are; None, the default: large sums
        alone; False: neither. Other schedulers have no such parameter.
    axes: the axes of all arrays that are given, outermost first, ``"yxc"`` for (H, W,
        C) images; sizes in a list are then the shape of such an array.
    timeout: after how many seconds to give up with TimeLimitError; nothing is scheduled
        then. See `time_limit`.
    params: what else the scheduler is told: see `AutoschedulerParams`.

    Nothing is computed and nothing is set; directives that the Funcs have stay.
    `to_python` of the result prints the schedule, and `explain` says why it is so.
    Raises ScheduleError where a size cannot be known, HalideError for a scheduler that
    there is not, and TypeMismatchError for arguments of other kinds.

    >>> f, g = hl.funcs("f g")
    >>> f[x, y] = x * y
    >>> g[x, y] = f[x, y] + f[x + 1, y]
    >>> found = hl.autoschedule(g, [640, 480])
    >>> found.scheduler_name, "def schedule(" in found.to_python()
    ('Parhelion', True)
    """
    target = get_host_target() if target is None else target
    _check_target(target, "the target of autoschedule is a Target")
    if measure:
        params["measure"] = measure
    if reassociate is not None:
        params["reassociate"] = str(reassociate).lower()
    driver: Any = importlib.import_module(_DRIVER)
    with within(timeout):
        found: AutoSchedulerResults = driver.autoschedule(
            outputs,
            arguments,
            sizes,
            {} if inputs is None else inputs,
            target,
            AutoschedulerParams(scheduler, params),
            axes,
        )
    return found


def _check_target(target: object, what: str) -> None:
    if not isinstance(target, Target):
        raise TypeMismatchError(
            f"{what}, not {target!r:.60}",
            at=here(),
            hint="hl.get_host_target() is this computer",
        )


def apply_autoscheduler(
    pipeline: Pipeline, target: Target, params: AutoschedulerParams
) -> AutoSchedulerResults:
    """See `Pipeline.apply_autoscheduler`."""
    _check_target(target, "apply_autoscheduler takes a Target first")
    if not isinstance(params, AutoschedulerParams):
        raise TypeMismatchError(
            f"apply_autoscheduler takes AutoschedulerParams, not {params!r:.60}",
            at=here(),
            hint=f"write hl.AutoschedulerParams({params!r})"
            if isinstance(params, str)
            else "",
        )
    # Checked once more: both can be assigned to.
    params = AutoschedulerParams(params.name, params.extra)
    driver: Any = importlib.import_module(_DRIVER)
    found: AutoSchedulerResults = driver.apply(pipeline, target, params)
    return found


def recommended(outputs: Sequence[Function], boxes: Sequence[Box]) -> str:
    """Returns the call of `autoschedule` that a warning recommends for outputs of these
    sizes; "" if the scheduler is not there, or if the outputs differ in size."""
    sizes = {tuple([extent for _, extent in box]) for box in boxes}
    if DEFAULT_SCHEDULER not in autoschedulers() or len(sizes) > 1:
        return ""
    names = ", ".join([plain_name(f.label) for f in outputs])
    what = names if len(outputs) == 1 else f"[{names}]"
    return f"hl.autoschedule({what}, {list(*sizes)})"
