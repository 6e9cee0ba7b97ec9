"""What the tests of object files share: compilers, emulators, and running a program."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import parhelion as hl

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Machine:
    """target: for the compiler. gcc: the prefix of the compilers' names. emulator: what
    runs its programs here; "" where they run by themselves. package: of Debian."""

    name: str
    target: str
    gcc: str = ""
    emulator: str = ""
    package: str = "gcc, g++"

    def tool(self, name: str) -> str:
        """The path of a tool; skips the test where it is missing."""
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is missing (Debian: {self.package})")
        return found

    def run(
        self,
        source: Path,
        objects: Sequence[Path],
        folder: Path,
        args: Sequence[object],
        flags: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """Compiles a program against the headers in `folder`, and runs it."""
        plus = source.suffix == ".cpp"
        compiler = self.tool(f"{self.gcc}{'g++' if plus else 'gcc'}")
        emulator = [self.tool(self.emulator)] if self.emulator else []
        program = folder / f"program-{self.name}"
        options = ["-O1", "-Wall", "-Wextra", "-Werror", f"-I{folder}", *flags]
        options += ["-std=c++17"] if plus else ["-std=gnu11"]
        if emulator:
            options.append("-static")
        files = [str(source), *map(str, objects), "-o", str(program)]
        made = subprocess.run(
            [compiler, *options, *files, "-lpthread", "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        return subprocess.run(
            [*emulator, str(program), *map(str, args)],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, "HL_NUM_THREADS": "2"},
        )


HOST = Machine("host", "host")
MACHINES = (
    HOST,
    Machine(
        "aarch64",
        "arm-64-linux",
        "aarch64-linux-gnu-",
        "qemu-aarch64",
        "qemu-user, g++-aarch64-linux-gnu",
    ),
    Machine(
        "armv7",
        "arm-32-linux",
        "arm-linux-gnueabihf-",
        "qemu-arm",
        "qemu-user, g++-arm-linux-gnueabihf",
    ),
)


def halide_headers() -> Path:
    """The folder of the headers that Halide's wheel has; skips where it is missing."""
    halide = pytest.importorskip("halide")
    assert halide.__file__ is not None
    folder = Path(halide.__file__).parent / "include"
    if not (folder / "HalideRuntime.h").exists():
        pytest.skip("Halide's headers are missing")
    return folder


def target(machine: Machine) -> hl.Target:
    return hl.Target(machine.target)
