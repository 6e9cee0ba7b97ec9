"""PTX to machine code by NVIDIA's assembler, which tells what each kernel takes.

Nothing that runs needs it, as the driver has an assembler of its own. It is for tests,
and for who wants to know the registers of a kernel without a GPU.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, InternalError

#: Where toolkits are, and the packages on PyPI that have the assembler: the first one
#: needs no others.
_TOOLKIT = "/usr/local/cuda"
WHEELS = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc")

_ENTRY = re.compile(r"Compiling entry function '([^']+)' for '([^']+)'")
_FRAME = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_USED = re.compile(r"Used (\d+) registers")
_BARRIERS = re.compile(r"used (\d+) barriers")
_SHARED = re.compile(r"(\d+) bytes smem")


@dataclass(frozen=True, slots=True)
class Assembled:
    """What one kernel takes on one GPU.

    registers: of each thread. frame: bytes of each thread's memory, of which spilled
    ones are stored and loaded where registers do not suffice. shared: bytes of a block
    beside those that its launch asks for. barriers: how many different ones.
    """

    name: str
    arch: str
    registers: int
    frame: int
    spill_stores: int
    spill_loads: int
    shared: int
    barriers: int


def find_ptxas() -> str | None:
    """The path of ``ptxas``: on PATH, of a toolkit (CUDA_HOME, /usr/local/cuda), or of
    a package of `WHEELS`; None if there is none."""
    found = shutil.which("ptxas")
    if found:
        return found
    places = [Path(home) for home in (os.environ.get("CUDA_HOME"), _TOOLKIT) if home]
    for place in [home / "bin" / "ptxas" for home in places]:
        if os.access(place, os.X_OK):
            return str(place)
    return next(_in_wheels(), None)


def _in_wheels() -> Iterator[str]:
    for wheel in WHEELS:
        try:
            mine = files(wheel) or []
        except PackageNotFoundError:
            continue
        for path in [str(file.locate()) for file in mine if file.name == "ptxas"]:
            if os.access(path, os.X_OK):
                yield path


def assemble(ptx: str, arch: str) -> tuple[Assembled, ...]:
    """Assembles a PTX text for a GPU ("sm_80"), and says what each kernel takes.

    Raises HalideError without ptxas, and InternalError if it refuses the text.
    """
    ptxas = find_ptxas()
    if ptxas is None:
        raise HalideError(
            "assembling PTX needs ptxas, which is not found",
            hint=f"pip install {WHEELS[0]}, or put a CUDA toolkit's bin folder on PATH",
        )
    with tempfile.TemporaryDirectory() as folder:
        source, code = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        done = subprocess.run(
            [ptxas, "-v", f"-arch={arch}", "-o", str(code), str(source)],
            capture_output=True,
            text=True,
        )
    if done.returncode:
        raise InternalError(
            f"internal error: ptxas refuses the generated PTX for {arch}",
            detail=done.stderr.strip() or done.stdout.strip(),
        )
    return tuple(parse(done.stdout + done.stderr))


def parse(told: str) -> Iterator[Assembled]:
    """What ``ptxas -v`` has told, one kernel after another."""
    name, arch, frame = "", "", (0, 0, 0)
    for line in told.splitlines():
        entry = _ENTRY.search(line)
        if entry is not None:
            name, arch = entry.groups()
            frame = (0, 0, 0)
            continue
        stack = _FRAME.search(line)
        if stack is not None:
            one, two, three = map(int, stack.groups())
            frame = (one, two, three)
            continue
        used = _USED.search(line)
        if used is not None and name:
            shared, barriers = _SHARED.search(line), _BARRIERS.search(line)
            yield Assembled(
                name,
                arch,
                int(used[1]),
                *frame,
                int(shared[1]) if shared else 0,
                int(barriers[1]) if barriers else 0,
            )
            name = ""


def table(kernels: tuple[Assembled, ...]) -> str:
    """What kernels take, as a table with a line for each."""
    head = ("kernel", "GPU", "registers", "frame", "spills", "shared", "barriers")
    rows = [
        (
            *(k.name, k.arch, str(k.registers), str(k.frame)),
            *(f"{k.spill_stores}+{k.spill_loads}", str(k.shared), str(k.barriers)),
        )
        for k in kernels
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        first, *rest = [
            cell.ljust(w) if i < 2 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join((first, *rest)).rstrip())
    return "\n".join(lines)


__all__ = ["WHEELS", "Assembled", "assemble", "find_ptxas", "parse", "table"]
