"""Families of processors: which one a target is of."""

from __future__ import annotations

from parhelion.autoschedule.machine.families.emerald_rapids import EMERALD_RAPIDS
from parhelion.autoschedule.machine.families.family import Family
from parhelion.autoschedule.machine.families.zen3 import ZEN3
from parhelion.autoschedule.machine.families.zen4 import ZEN4
from parhelion.autoschedule.machine.families.zen5 import ZEN5
from parhelion.ir.target import Target

#: What a processor that none of them names is taken for: the first that fits.
FAMILIES = (EMERALD_RAPIDS, ZEN5, ZEN4, ZEN3)


def family_of(target: Target) -> Family:
    """The family whose costs are those of code for a target."""
    fitting = [f for f in FAMILIES if f.fits(target)]
    return next((f for f in fitting if target.cpu in f.cpus), fitting[0])


__all__ = ["EMERALD_RAPIDS", "FAMILIES", "ZEN3", "ZEN4", "ZEN5", "Family", "family_of"]
