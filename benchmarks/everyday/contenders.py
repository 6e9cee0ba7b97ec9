"""What is compared on the everyday pipelines."""

from __future__ import annotations

from benchmarks.auto import adams
from benchmarks.auto.contenders import Contender
from benchmarks.everyday import baselines

OURS = Contender("parhelion", "scheduler", "Parhelion")
HALIDES = Contender("halide", "scheduler", "Mullapudi2016")
#: What our scheduler must not lose to, by the words of the tables.
BASELINES = {
    "rows": Contender("parhelion", "scheduler", baselines.ROWS),
    "Halide's Mullapudi2016": HALIDES,
    "our Mullapudi2016": Contender("parhelion", "scheduler", "Mullapudi2016"),
    "Halide's Adams2019": Contender("halide", "search", adams.NAME),
    "best random": Contender("parhelion", "pinned", baselines.RANDOM),
}

__all__ = ["BASELINES", "HALIDES", "OURS"]
