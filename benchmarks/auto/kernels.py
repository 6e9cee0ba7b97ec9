"""Kernels that the schedulers make for a GPU: how many, of how many threads.

    python -m benchmarks.auto.kernels [APP...]

For each application of the 2016 paper and each scheduler: kernels, how often one run
launches them, definitions that stay on the CPU, the most threads and bytes of shared
memory of a block, and how long the schedule took to find. Nothing is run, and no GPU is
needed. The 2012 paper counts 25 kernels and 83 launches of its schedule for local
Laplacian (section 6).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator

import parhelion as hl
from benchmarks.auto.estimates import set_estimates
from benchmarks.cases import ORDER, case
from benchmarks.report import table
from parhelion.autoschedule.kernels.facts import Kernel, kernels_for
from parhelion.lang.machines import gpu_of

SCHEDULERS = ("Mullapudi2016", "Parhelion")
HEAD = [
    *("application", "scheduler", "kernels", "launches", "on the CPU"),
    *("most threads", "most shared memory", "seconds"),
]


def target() -> hl.Target:
    """This computer with a GPU of NVIDIA's, whether it has one or not."""
    return hl.get_host_target().with_feature(hl.TargetFeature.CUDA)


def scheduled(name: str, scheduler: str) -> tuple[list[Kernel], int, float]:
    """The kernels of an application, each checked to be one that devices take, how many
    definitions have none, and the seconds that finding its schedule took."""
    one = case(name)
    app = one.algorithm(hl)
    set_estimates(one, app, one.inputs())
    pipeline = hl.Pipeline([app.output])
    begin = time.perf_counter()
    found = pipeline.apply_autoscheduler(target(), hl.AutoschedulerParams(scheduler))
    seconds = time.perf_counter() - begin
    left = [n for n in found.notes if "stays on the CPU" in n]
    made = kernels_for([app.output._function], target())
    gpu = gpu_of(target())
    for kernel in made:
        assert math.prod(kernel.threads) <= gpu.threads, kernel
        assert kernel.shared <= gpu.shared, kernel
    return made, len(left), seconds


def rows(names: list[str]) -> Iterator[list[str]]:
    """The rows of the table. A kernel in loops of the host's has no known number of
    launches."""
    for name in names:
        for scheduler in SCHEDULERS:
            kernels, left, seconds = scheduled(name, scheduler)
            launches = str(len(kernels))
            if any(k.around for k in kernels):
                launches = f"more than {launches}"
            threads = max([math.prod(k.threads) for k in kernels], default=0)
            shared = max([k.shared for k in kernels], default=0)
            yield [
                *(name, scheduler, str(len(kernels)), launches, str(left)),
                *(str(threads), str(shared), f"{seconds:.1f}"),
            ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.auto.kernels")
    parser.add_argument("apps", nargs="*", help="names; by default all")
    names = parser.parse_args().apps or list(ORDER)
    head, *made = table(HEAD, []).split("\n")
    print(head, *made, sep="\n", flush=True)
    for row in rows(names):
        print(table([], [row]).split("\n")[-1], flush=True)


if __name__ == "__main__":
    main()
