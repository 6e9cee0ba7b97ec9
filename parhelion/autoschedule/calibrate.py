"""Measuring this computer for the cost model: ``python -m …autoschedule.calibrate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from parhelion.autoschedule.machine import calibration, fit
from parhelion.autoschedule.machine.fit import SCALED, Fit
from parhelion.autoschedule.machine.machine import Machine, host
from parhelion.errors import HalideError


def table(machine: Machine, found: Fit) -> str:
    """What was measured, beside what is usual, and the costs that follow: nanoseconds,
    of bytes too."""
    scaled = found.scaled(machine)
    lines = [
        f"the core takes {found.pace:g} times as long as usual",
        "kernel      measured   usual  factor   costs, by hand -> here",
    ]
    for name, expected in machine.family.usual.items():
        costs = ", ".join(
            [
                f"{c} {getattr(machine, c):g} -> {getattr(scaled, c):.3g}"
                for c in SCALED[name]
            ]
        )
        mark = "!" if name in found.clamped else ""
        lines.append(
            f"{name:10} {found.measured[name]:9.4g} {expected:7.4g}"
            f" {found.factors[name]:6.3g}{mark:1}   {costs}"
        )
    if scaled.l2 > machine.l2:
        lines.append(
            "the last-level cache is fast: the second counts for two of its size"
        )
    if found.clamped:
        lines.append("! beyond what is believed: the factor is the nearest that is")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m parhelion.autoschedule.calibrate",
        description="Measures this computer for the automatic scheduler's cost model.",
    )
    parser.add_argument("--path", type=Path, help="the file, if not the usual one")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="show what is kept, only")
    what.add_argument("--dry-run", action="store_true", help="measure, keep nothing")
    told = parser.parse_args(arguments)
    machine = host()
    try:
        path = told.path or fit.place(machine)
        if told.show:
            found = fit.read(path, machine if told.path is None else None)
        elif told.dry_run:
            found = calibration.measure(machine)
        else:
            found = calibration.calibrate(path)
    except (OSError, RuntimeError, ValueError, HalideError) as error:
        print(
            f"{told.path or 'the kept file'}: {calibration.why(error)}", file=sys.stderr
        )
        return 1
    print(fit.processor())
    print(table(machine, found))
    if not told.dry_run:
        print(path)
    return 0


__all__ = ["main", "table"]

if __name__ == "__main__":
    sys.exit(main())
