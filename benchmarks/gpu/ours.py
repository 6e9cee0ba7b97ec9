"""Parhelion's contenders: schedules by hand and those of the schedulers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import parhelion as hl
from apps.common import App, Array
from benchmarks.auto.estimates import set_estimates
from benchmarks.case import Case, Schedule
from benchmarks.gpu.contender import AUTOMATIC, HAND, Contender, Images, Ready

SCHEDULERS = ("Parhelion", "Mullapudi2016")
#: What automatic schedules are for.
CUDA = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)


def by_hand(case: Case, name: str, schedule: Schedule) -> Contender:
    """A case under a schedule of its application's."""

    def prepare(images: Images) -> Ready:
        app = case.algorithm(hl)
        schedule(hl, app)
        return ready(case, app, images)

    return Contender(HAND, name, prepare)


def automatic(case: Case, scheduler: str) -> Contender:
    """A case under the schedule that a scheduler finds for it."""

    def prepare(images: Images) -> Ready:
        app = case.algorithm(hl)
        set_estimates(case, app, images)
        params = hl.AutoschedulerParams(scheduler)
        hl.Pipeline([app.output]).apply_autoscheduler(CUDA, params)
        return ready(case, app, images)

    return Contender(AUTOMATIC, scheduler, prepare)


def ready(case: Case, app: App, images: Images) -> Ready:
    """A scheduled application with its images on the device, where its result stays."""
    for name, image in images.items():
        buffer = image.buffer(hl)
        buffer.copy_to_device()
        app.inputs[name].set(buffer)
    for name, value in case.values.items():
        app.params[name].set(value)
    app.output.compile_jit()
    (output,) = case.outputs
    out = output.new().buffer(hl)
    return Ready(lambda: app.output.realize(out), lambda: np.array(out))


def on_host(case: Case, images: Images) -> Array:
    """The case under the first of its schedules for CPUs."""
    app = case.build(hl, next(iter(case.schedules)))
    case.bind(hl, app, images)
    (output,) = case.outputs
    image = output.new()
    app.output.realize(image.buffer(hl))
    return image.array


def of_func(name: str, by: str, make: Callable[[Images], hl.Func]) -> Contender:
    """A Func that is scheduled as it is made, of the size of the image ``input``."""

    def prepare(images: Images) -> Ready:
        func, array = make(images), images["input"].array
        func.compile_jit()
        (kind,) = func.types()
        out = hl.Buffer(kind, list(array.shape[::-1]))
        return Ready(lambda: func.realize(out), lambda: np.array(out))

    return Contender(by, name, prepare)


__all__ = ["CUDA", "SCHEDULERS", "automatic", "by_hand", "of_func", "on_host", "ready"]
