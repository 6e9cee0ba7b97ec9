"""Halide's Adams2019: searches with limits, and the schedules that they found.

    python -m benchmarks.auto.adams CASE

searches, in a process of at most 16 GB, and prints the schedule as Python. A search may
take minutes, so schedules are kept (see `library`), and the comparison runs those.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from apps.common import App, Module
from benchmarks.auto import translate
from benchmarks.auto.estimates import set_estimates
from benchmarks.auto.load import CALM, Others
from benchmarks.auto.renamed import Renamed
from benchmarks.auto.series import find
from benchmarks.case import load
from benchmarks.halide_host import target_of
from benchmarks.process import environment

NAME = "Adams2019"
#: Seconds of the processor and bytes that a search, which is on one thread, may take.
SECONDS = 180
MEMORY = 16 << 30
#: How the first line of a schedule says what the search took, or that there is none.
_TOOK = "# found in "
_NONE = "# no answer"
#: How the second one, where there is none, says that the computer was shared.
_SHARED = "# other processes used {:.0%} of the computer meanwhile\n"
_OUT_OF_MEMORY = f"# no answer: memory, {MEMORY >> 30} GB\n"


class NoAnswer(Exception):
    """There is no schedule, and why."""


def load_plugin(hl: Module, name: str) -> None:
    """Makes one of the schedulers in Halide's wheel known."""
    folder = Path(hl.__file__).parent / "lib64"
    hl.load_plugin(str(folder / f"libautoschedule_{name.lower()}.so"))


def funcs_of(hl: Module, pipeline: Any) -> list[Any]:
    """The Funcs of a Halide pipeline, which does not say how many there are."""
    found: list[Any] = []
    while True:
        try:
            found.append(pipeline.get_func(len(found)))
        except hl.HalideError as error:
            if "functions in the pipeline" not in str(error):
                raise
            return found


def search(name: str, threads: int) -> str:
    """The schedule of a case, as Python, with a first line that says what it took; or
    a comment with the reason that there is none."""
    hl, chosen = load("halide"), find(name)
    load_plugin(hl, NAME)
    app = chosen.algorithm(hl)
    set_estimates(chosen, app, chosen.inputs())
    pipeline = hl.Pipeline([app.output])
    names = [f.name() for f in funcs_of(hl, pipeline)]
    params = hl.AutoschedulerParams(NAME, {"parallelism": str(threads)})
    start = time.process_time()
    try:
        result = pipeline.apply_autoscheduler(target_of(hl), params)
    except MemoryError:
        return _OUT_OF_MEMORY
    except hl.HalideError as error:
        return f"# no answer: {str(error).strip().splitlines()[-1]}\n"
    took = time.process_time() - start
    text = translate.to_python(result.schedule_source, names)
    return f"{_TOOK}{took:.2f} s by Halide's {NAME}, for {threads} thread(s)\n{text}"


def searched(name: str, threads: int) -> str:
    """Searches in a process of its own. Returns what came of it, as `search` says it,
    and where that is nothing, whether other processes were busy meanwhile. Raises
    RuntimeError where the process failed otherwise."""
    others = Others()
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", __name__, name],
        env=environment(threads),
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout
    if done.returncode == -signal.SIGXCPU:
        text = f"# no answer: time, {SECONDS} s\n"
    elif done.returncode < 0:  # C++ ends the process where it finds no memory.
        text = f"# no answer: crashed, signal {-done.returncode}\n"
        if "bad_alloc" in done.stderr:
            text = _OUT_OF_MEMORY
    elif done.returncode:
        raise RuntimeError(f"search of {name}: {done.stderr.strip()}")
    share = others.share() or 0.0
    if text.startswith(_NONE) and share > CALM:
        text += _SHARED.format(share)
    return text


def apply(hl: Module, app: App, text: str | None) -> dict[str, Any]:
    """Schedules a fresh application as a search came to, None where there was none.
    Raises NoAnswer, with the reason that the text gives."""
    if text is None:
        raise NoAnswer("not searched")
    first, *rest = text.splitlines()
    if not first.startswith(_TOOK):
        said = [line.removeprefix("# ") for line in (first, *rest)]
        raise NoAnswer("; ".join(said))
    names: dict[str, Any] = {}
    exec(compile(text, NAME, "exec"), names)
    funcs = funcs_of(hl, hl.Pipeline([app.output]))
    called = translate.base_names([f.name() for f in funcs])
    if isinstance(hl, Renamed):
        called = [hl.old.get(name, name) for name in called]
    names["schedule"](dict(zip(called, funcs, strict=True)))
    return {"search": float(first.removeprefix(_TOOK).split()[0])}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(search(sys.argv[1], int(os.environ["HL_NUM_THREADS"])), end="")
