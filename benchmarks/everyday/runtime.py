"""All contenders of one everyday pipeline, timed in turn in one process.

    python -m benchmarks.everyday.runtime NAME LABEL...

Says what `benchmarks.auto.runtime` does; the number of threads comes from
HL_NUM_THREADS.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.auto.contenders import Setting
from benchmarks.auto.gate import Gate
from benchmarks.auto.runtime import own_output, run
from benchmarks.everyday import baselines
from benchmarks.everyday.contenders import BASELINES, OURS
from benchmarks.everyday.pipelines import pipeline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("labels", nargs="+")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--gate", type=Path, help="a file to lock while it measures")
    options = parser.parse_args()
    baselines.register()
    setting = Setting(int(os.environ["HL_NUM_THREADS"]))
    every = (*BASELINES.values(), OURS)
    taking = [c for c in every if c.label in options.labels]
    case = pipeline(options.name).case()
    gate = Gate(options.gate) if options.gate else None
    run(case, taking, setting, options.seconds, own_output(), gate)


if __name__ == "__main__":
    main()
