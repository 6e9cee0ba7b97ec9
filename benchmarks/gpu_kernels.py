"""What the kernels of the applications take on a GPU, as its assembler tells.

    python -m benchmarks.gpu_kernels --page docs/gpu-kernels.md

compiles all of them, under the schedules by hand and those that the schedulers find,
and those of recursive filters, and has each assembled by ``ptxas`` for two
architectures: the registers of a thread, the bytes that do not fit into them (spills),
and the shared memory of a block. No device is needed, and nothing is measured.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

import parhelion as hl
from apps import (
    bilateral_grid,
    blur,
    camera_pipe,
    conv_layer,
    harris,
    hist,
    interpolate,
    lens_blur,
    level_set,
    local_laplacian,
    matmul,
    max_filter,
    nl_means,
    unsharp,
    vgg,
)
from apps.common import App, Module
from apps.recursive import boxes, bspline, gaussian, sat
from benchmarks.auto.estimates import set_estimates
from benchmarks.case import Case, Output
from benchmarks.cases import all_cases
from benchmarks.cases.vgg import inputs as vgg_inputs
from parhelion.codegen.module import DeviceKernel
from parhelion.codegen.nvptx.assemble import Assembled, assemble
from parhelion.codegen.nvptx.kernel import write_kernel
from parhelion.codegen.nvptx.module import Kernels
from parhelion.codegen.target import host_target
from parhelion.ir.build import const_int
from parhelion.ir.deep import run_deep
from parhelion.ir.device import device_of
from parhelion.ir.pipeline import Lowered
from parhelion.ir.stmt import For, ForKind, Stmt
from parhelion.ir.target import gpu_target
from parhelion.lower import passes
from parhelion.lower.options import LowerOptions
from parhelion.runtime import jit
from parhelion.schedule.spec import PipelineSpec

Algorithm = Callable[[Module], App]
Schedule = Callable[[Module, App], None]

ARCHS = ("sm_80", "sm_90")

#: Two blocks of VGG-16's five and one of its hidden layers: the others' kernels differ
#: in their constants.
NETWORK = vgg.Network(size=32, blocks=((64, 2), (128, 2)), hidden=(256,))

#: The 2012 paper's applications, then those of 2016 that are not among them.
PROGRAMS: Mapping[str, tuple[Algorithm, Mapping[str, Schedule]]] = {
    "camera_pipe": (camera_pipe.algorithm, camera_pipe.GPU_SCHEDULES),
    "local_laplacian": (local_laplacian.algorithm, local_laplacian.GPU_SCHEDULES),
    "bilateral_grid": (bilateral_grid.algorithm, bilateral_grid.GPU_SCHEDULES),
    "level_set": (level_set.iteration, level_set.GPU_SCHEDULES),
    "blur": (blur.algorithm, blur.GPU_SCHEDULES),
    "unsharp": (unsharp.algorithm, unsharp.GPU_SCHEDULES),
    "harris": (harris.algorithm, harris.GPU_SCHEDULES),
    "hist": (hist.algorithm, hist.GPU_SCHEDULES),
    "interpolate": (interpolate.algorithm, interpolate.GPU_SCHEDULES),
    "lens_blur": (lens_blur.algorithm, lens_blur.GPU_SCHEDULES),
    "max_filter": (max_filter.algorithm, max_filter.GPU_SCHEDULES),
    "nl_means": (nl_means.algorithm, nl_means.GPU_SCHEDULES),
    "matmul": (matmul.algorithm, matmul.GPU_SCHEDULES),
    "conv_layer": (conv_layer.algorithm, conv_layer.GPU_SCHEDULES),
    "vgg": (lambda hl: vgg.algorithm(hl, NETWORK), vgg.GPU_SCHEDULES),
}


#: What the benchmarks' cases call applications that are named otherwise here.
CASES = {"camera": "camera_pipe"}
#: Who finds schedules for a GPU.
SCHEDULERS = ("Parhelion", "Mullapudi2016")

#: What recursive filters and automatic schedules are made for here.
CUDA = hl.get_host_target().with_feature(hl.TargetFeature.CUDA)


def _tiles(dtype: type) -> np.ndarray:
    """An image of many tiles."""
    return np.zeros((1024, 1024), dtype)


def _box() -> hl.Func:
    image = _tiles(np.uint8)
    out = sat.sums_of(image, sat.table_of(image).as_func(CUDA), 5)
    x, y = out.args()
    return out.gpu_tile(x, y, hl.Var("tx"), hl.Var("ty"), 32, 8)


#: The 2015 paper's recursive filters (section 8), scheduled automatically: of Figures
#: 6, 7, 8, 9 and 11. Tables are of integers, the others of floats.
RECURSIVE: Mapping[str, Callable[[], hl.Func]] = {
    "summed-area table": lambda: sat.table_of(_tiles(np.uint8)).as_func(CUDA),
    "box by a table": _box,
    "B-spline": lambda: bspline.spline_of(_tiles(np.float32)).as_func(CUDA),
    **{
        f"Gaussian of order {k}": lambda k=k: gaussian.blur_of(  # type: ignore[misc]
            _tiles(np.float32), 5.0, k
        ).as_func(CUDA)
        for k in (1, 2, 3)
    },
    "difference of Gaussians, the paper's": lambda: boxes.by_tables_of_two(
        _tiles(np.uint8), (4, 9), CUDA
    ),
    "difference of Gaussians": lambda: boxes.by_a_table_of_three(
        _tiles(np.uint8), (4, 9), CUDA
    ),
}


@dataclass(frozen=True)
class Kernel:
    """One kernel. func: what it computes, without a number that tells Funcs of one name
    apart. threads: of a block, along x, y and z; None where the host knows the number
    only when it runs. shared: bytes of a block. on: what it takes, for each
    architecture."""

    func: str
    threads: tuple[int | None, ...]
    shared: int
    on: tuple[Assembled, ...]

    def spills(self) -> list[int]:
        """The bytes that a thread stores and loads as its registers do not suffice, for
        each architecture."""
        return [a.spill_stores + a.spill_loads for a in self.on]

    def frame(self) -> int:
        """The bytes of a thread's memory that are not in registers."""
        return max([a.frame for a in self.on])


def kernels(app: App, archs: Sequence[str] = ARCHS) -> list[Kernel]:
    """The kernels of an application that is scheduled, assembled."""
    return run_deep(lambda: _kernels(app, archs))


def _kernels(app: App, archs: Sequence[str]) -> list[Kernel]:
    made: list[DeviceKernel] = []
    told: dict[str, list[Assembled]] = {}
    for arch in archs:
        program = lowered(app, arch)
        module = Kernels(gpu_target(arch), strict_float=program.strict_float)
        made = [write_kernel(module, loop) for loop in loops_over_blocks(program)]
        ptx = jit.assembly_text(module.text("app"), module.target)
        for one in assemble(ptx, arch):
            told.setdefault(one.name, []).append(one)
    return [
        Kernel(
            k.func.split("$")[0],
            tuple([const_int(n) for n in k.threads]),
            k.shared,
            tuple(told[k.name]),
        )
        for k in made
    ]


def lowered(app: App, arch: str) -> Lowered:
    """An application that is scheduled, for a device."""
    spec = PipelineSpec.of([app.output._function], ())
    options = LowerOptions(target=host_target(), device=device_of(arch))
    return passes.lower(spec, name="app", options=options)


def loops_over_blocks(program: Lowered) -> list[For]:
    """The kernels of a program, in its order."""
    found: list[For] = []
    stack: list[Stmt] = [passes.for_processor(program, host_target())]
    while stack:
        s = stack.pop()
        if isinstance(s, For) and s.kind is ForKind.GPU_BLOCK:
            found.append(s)
            continue
        stack += reversed([c for c in s.children() if isinstance(c, Stmt)])
    return found


def every() -> list[tuple[str, str, list[Kernel]]]:
    """All kernels, by application and schedule."""
    out: list[tuple[str, str, list[Kernel]]] = []
    for name, (algorithm, schedules) in PROGRAMS.items():
        for way, schedule in schedules.items():
            app = algorithm(hl)
            schedule(hl, app)
            out.append((name, way, kernels(app)))
            print(name, way, len(out[-1][2]), flush=True)
    for name, func in RECURSIVE.items():
        out.append((name, "automatic", kernels(recursive(func()))))
        print(name, len(out[-1][2]), flush=True)
    for case in cases():
        for scheduler in SCHEDULERS:
            app = automatic(case, scheduler)
            out.append((case.name, scheduler, kernels(app)))
            print(case.name, scheduler, len(out[-1][2]), flush=True)
    return out


def cases() -> list[Case]:
    """The applications at the sizes of the benchmarks, VGG-16 as `NETWORK`."""
    found = [c for c in all_cases() if CASES.get(c.name, c.name) in PROGRAMS]
    return [_network(c) if c.name == "vgg" else c for c in found]


def _network(case: Case) -> Case:
    return replace(
        case,
        algorithm=partial(vgg.algorithm, net=NETWORK),
        inputs=partial(vgg_inputs, NETWORK),
        outputs=(Output(np.float32, (NETWORK.classes, NETWORK.batch)),),
    )


def automatic(case: Case, scheduler: str) -> App:
    """An application under the schedule that a scheduler finds for its case."""
    app = case.algorithm(hl)
    set_estimates(case, app, case.inputs())
    params = hl.AutoschedulerParams(scheduler)
    hl.Pipeline([app.output]).apply_autoscheduler(CUDA, params)
    return app


def recursive(output: hl.Func) -> App:
    """A recursive filter as an application that is scheduled."""
    return App(output, {}, {}, {})


# The page.

PAGE = """# What the applications' kernels take

Written by `python -m benchmarks.gpu_kernels --page {page}`. **No device was measured
for this page.** Each kernel was compiled to PTX and assembled by `ptxas` for two
architectures, which tells the registers that a thread takes and the bytes that it
stores and loads because they do not suffice (spills). Shared memory is that of a block,
in bytes; local is what a thread has in memory, not in registers. Threads are those of a
block, and n stands for a number that only the host knows when it runs.

The schedules are `GPU_SCHEDULES` of each file in `apps/`; of VGG-16 there are two
blocks of layers and one hidden layer here. Those of [recursive
filters](recursive-filters.md#on-a-gpu), of 1024 x 1024 pixels, are automatic;
`Parhelion` and `Mullapudi2016` are what these schedulers find for the applications, at
the sizes of the [benchmarks](benchmarks.md). Kernels of a schedule that take the same
are one line. That they compute what the CPU's schedules compute is shown by
`tests/gpu/test_apps.py`, bit for bit, and by `tests/gpu/test_recursive.py`, on the
simulator; automatic schedules are compared by `python -m benchmarks.gpu --simulate`.

The 2012 paper's local Laplacian runs 25 kernels in 83 launches (section 6.2), and so
does `gpu, published`; with all levels of intensity in one launch, and the finest of
them recomputed, `gpu` runs each of 24 kernels once. Of the bilateral grid the paper
says (section 6.3) that a block for each cell with atomic additions, `gpu, atomics`,
took 40 ms, and a thread for each cell, `gpu, cells`, 11 ms. Of the difference of two
Gaussians by three box filters the 2015 paper says (section 8) that it takes 13 kernels,
in which whole images are read or written 10 times, and 25 kernels and 13 times by the
filters of Nehab and others (2011). Here it is 12 kernels and 11 times as in the paper,
and 6 kernels and 5 times by one table of order 3, which is exact in integers.

## All schedules

{summary}

## Kernels

{table}
"""


def line(cells: Sequence[object]) -> str:
    return "| " + " | ".join([str(c) for c in cells]) + " |"


def summary(found: Sequence[tuple[str, str, list[Kernel]]]) -> str:
    """A line for each schedule: its kernels, and the most that one of them takes."""
    head = ["application", "schedule", "kernels", "registers", "shared", "local"]
    lines = [line([*head, "spills"]), line(["---"] * 2 + ["---:"] * 5)]
    for name, way, some in found:
        most = [
            max([a.registers for k in some for a in k.on]),
            max([k.shared for k in some]),
            max([k.frame() for k in some]),
            max([max(k.spills()) for k in some]),
        ]
        lines.append(line([name, way, len(some), *most]))
    return "\n".join(lines)


def table(found: Sequence[tuple[str, str, list[Kernel]]]) -> str:
    """A line for each kernel; those that take the same are one."""
    head = ["application", "schedule", "kernel", "threads", "shared", "local"]
    for what in ("registers", "spills"):
        head += [f"{what} {arch}" for arch in ARCHS]
    lines = [line(head), line(["---"] * 4 + ["---:"] * 6)]
    for name, way, some in found:
        rows: dict[tuple[object, ...], Counter[str]] = {}
        for k in some:
            threads = " x ".join(["n" if n is None else str(n) for n in k.threads])
            registers = [a.registers for a in k.on]
            key = (threads, k.shared, k.frame(), *registers, *k.spills())
            rows.setdefault(key, Counter())[k.func] += 1
        for key, funcs in rows.items():
            named = [f"`{f}`" + (f" ({n})" if n > 1 else "") for f, n in funcs.items()]
            lines.append(line([name, way, ", ".join(named), *key]))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.gpu_kernels", description=__doc__)
    parser.add_argument("--page", type=Path, help="write this page")
    options = parser.parse_args()
    found = every()
    print(table(found))
    if options.page:
        options.page.write_text(
            PAGE.format(page=options.page, summary=summary(found), table=table(found))
        )


if __name__ == "__main__":
    main()
