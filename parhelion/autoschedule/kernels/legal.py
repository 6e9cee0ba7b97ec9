"""Whether a schedule for a GPU can be lowered, and whose storage it is refused for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from parhelion.autoschedule.fallback import fallback
from parhelion.autoschedule.kernels.facts import kernels_for
from parhelion.autoschedule.result import AutoSchedulerResults
from parhelion.autoschedule.script import Script
from parhelion.errors import HalideError, ScheduleError, TimeLimitError
from parhelion.ir.function import Function
from parhelion.lang.autoscheduling import AutoschedulerParams
from parhelion.lang.machines import gpu_of
from parhelion.lang.target_api import Target
from parhelion.lower.kernel_refusals import RefusedStorage


def refusal(
    script: Script, target: Target
) -> tuple[HalideError, Function | None] | None:
    """Why a script cannot be lowered for a target with a GPU, and the Func whose
    storage no kernel can have, if that is why; None if it can be lowered."""
    try:
        found = kernels_for(script.tried().outputs, target)
    except RefusedStorage as error:
        return error, None if error.func is None else _named(script, error.func.name)
    except TimeLimitError:
        raise
    except HalideError as error:
        return error, None
    most = gpu_of(target).shared
    for kernel in found:
        if kernel.shared > most:
            largest = max(kernel.storage, key=lambda one: one[1])[0]
            wanted = ScheduleError(
                f"a kernel needs {kernel.shared} bytes of shared memory, and a block"
                f" has {most}"
            )
            return wanted, _named(script, largest)
    return None


def _named(script: Script, name: str) -> Function | None:
    """The Func of the pipeline of which a copy has this name."""
    return next((f for f in script.order if f.name == name), None)


def without_kernels(
    outputs: Sequence[Function],
    target: Target,
    params: AutoschedulerParams,
    error: HalideError,
    unbounded: Collection[Function] = (),
    notes: Sequence[str] = (),
) -> AutoSchedulerResults:
    """What remains where no schedule with kernels is legal: simple loops on the CPU,
    and a note that says why."""
    return AutoSchedulerResults(
        target=target,
        autoscheduler_params=params,
        script=fallback(outputs, unbounded),
        notes=[
            *notes,
            "no schedule with kernels was found that is legal, so that everything is"
            f" computed on the CPU, at the root, in simple loops ({error.what})",
        ],
    )


def unfit(f: Function, error: HalideError) -> str:
    """That a Func is not computed in the kernel of another one, as a sentence."""
    return f"{f.name} has kernels of its own or is inlined, as {error.what}"


__all__ = ["refusal", "unfit", "without_kernels"]
