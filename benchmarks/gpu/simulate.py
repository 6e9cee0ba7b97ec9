"""Our contenders on the simulator, at small sizes, beside the CPU's results."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import parhelion as hl
from apps.common import Array
from benchmarks.gpu import applications, filters, ours
from benchmarks.gpu.contender import Contender, Images, Job
from benchmarks.gpu.runtime import apart, wrong
from parhelion.runtime import devices

MODULES = {m.GROUP: m for m in (applications, filters)}


def every() -> list[tuple[str, str]]:
    """The group and the name of each job that is simulated."""
    return [(group, name) for group, m in MODULES.items() for name in m.names()]


def run(group: str, name: str, only: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Each contender's label, and what is wrong with it; empty if nothing is. only: the
    makers of contenders, all of ours if left out. Nothing is timed."""
    before = os.environ.get("PARHELION_GPU")
    os.environ["PARHELION_GPU"] = "simulate"
    try:
        job: Job = MODULES[group].job(name, simulated=True)
        images = job.inputs()
        try:
            if group == applications.GROUP:
                wanted = ours.on_host(applications.small(name), images)
            else:
                wanted = filters.on_host(name, images)
        except hl.HalideError as error:
            yield "on the CPU", str(error).splitlines()[0]
            return
        for one in job.contenders:
            if not only or one.by in only:
                yield one.label, _wrong(job, one, images, wanted)
    finally:
        if before is None:
            del os.environ["PARHELION_GPU"]
        else:
            os.environ["PARHELION_GPU"] = before


def _wrong(job: Job, one: Contender, images: Images, wanted: Array) -> str:
    try:
        ready = one.prepare(images)
        devices.reset_counts()
        ready.run()
        assert ready.result is not None
        got = ready.result()
    except hl.HalideError as error:
        return str(error).splitlines()[0]
    if not devices.counts().launches:
        return "nothing was launched"
    return wrong(apart(got, wanted), job.tolerance)


__all__ = ["every", "run"]
