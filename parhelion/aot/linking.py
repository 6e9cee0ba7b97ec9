"""The system's C compiler, for linking compiled pipelines into Python extensions."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path

from parhelion.errors import HalideError, here

#: How the file of an extension module ends that keeps to the stable interface.
SUFFIX = ".abi3.so"


def c_compiler() -> list[str]:
    """The command of the C compiler: what ``CC`` says, else ``cc``.

    Raises HalideError if there is none.
    """
    words = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if shutil.which(words[0]) is None:
        raise HalideError(
            f"a Python extension is linked by a C compiler, and {words[0]!r} is not "
            "there",
            at=here(),
            hint="install one (Debian: apt install gcc), or name it in the environment "
            "variable CC",
        )
    return words


def python_headers() -> Path:
    """The folder of ``Python.h``. Raises HalideError if it is not installed."""
    folder = Path(sysconfig.get_paths()["include"])
    if not (folder / "Python.h").is_file():
        raise HalideError(
            f"a Python extension needs the file {folder / 'Python.h'}, which is not "
            "there",
            at=here(),
            hint="install Python's headers (Debian: apt install python3-dev)",
        )
    return folder


def link_extension(
    folder: Path, module: str, source: str, objects: Sequence[bytes]
) -> Path:
    """Compiles the C of an extension and links it with object files: the path of
    ``FOLDER/MODULE.abi3.so``, which shows nothing but the module's entry.

    It takes the place of an older one at once, so that processes that have that loaded
    keep it. Raises HalideError with the compiler's messages if it fails.
    """
    compiler, include = c_compiler(), python_headers()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{module}-", dir=folder) as name:
        work = Path(name)
        (work / "module.c").write_text(source)
        (work / "module.map").write_text(f"{{ global: PyInit_{module}; local: *; }};\n")
        files = []
        for i, code in enumerate(objects):
            (work / f"part{i}.o").write_bytes(code)
            files.append(f"part{i}.o")
        made = work / "module.so"
        words = [
            *compiler,
            *("-O2", "-shared", "-fPIC", f"-I{include}", "module.c", *files),
            *("-Wl,--version-script=module.map", "-o", made.name, "-lpthread", "-lm"),
        ]
        done = subprocess.run(
            words, cwd=work, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise HalideError(
                f"the C compiler failed on the extension {module!r}",
                at=here(),
                detail=f"{shlex.join(words)}\n{done.stderr.strip()}",
            )
        target = folder / f"{module}{SUFFIX}"
        os.replace(made, target)
    return target


__all__ = ["SUFFIX", "c_compiler", "link_extension", "python_headers"]
