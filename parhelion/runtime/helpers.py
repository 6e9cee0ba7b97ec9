"""The functions of the run time that compiled code calls, and its tables, by name.

A module's declarations say which it calls (`called`); whoever loads it is given their
addresses (`addresses`). Each helper has a provider: a module of this package with a
function `symbols`, which is imported and asked when code needs one of its helpers.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable
from typing import Any

_PROVIDERS: dict[str, str] = {}


def provide(provider: str, names: Iterable[str]) -> None:
    """Makes the helpers of a provider known: a module by its dotted name, whose
    function `symbols` gives the addresses of at least these names."""
    for name in names:
        _PROVIDERS[name] = provider


provide(
    "parhelion.runtime.threads",
    (
        *("ph_malloc", "ph_reserve", "ph_free", "ph_par_for", "ph_print"),
        *("ph_lock", "ph_unlock"),
        *("ph_fork", "ph_acquire", "ph_release", "ph_demand"),
        *("ph_watched", "ph_look", "ph_look_now", "ph_python", "ph_python_surely"),
    ),
)
provide("parhelion.runtime.memo", ("ph_memo_find", "ph_memo_store", "ph_memo_release"))
provide("parhelion.runtime.trace", ("ph_trace",))
provide(
    "parhelion.runtime.profile",
    (
        *("ph_profile_enter", "ph_profile_leave", "ph_profile_count"),
        "ph_profile_add",
        *("ph_profile_allocate", "ph_profile_free"),
    ),
)
provide(
    "parhelion.runtime.devices",
    (
        *("ph_device_sync", "ph_device_address", "ph_device_leave", "ph_device_free"),
        *("ph_device_launch", "ph_device_launched", "ph_device_finish"),
        "ph_device_texture",
        *("ph_device_started", "ph_device_ended", "ph_device_bytes"),
        *("ph_device_report", "ph_device_look", "ph_device_drop"),
        *("ph_device_simulated", "ph_device_cuda"),
    ),
)

#: Those that may run for long enough to be interrupted, or that call Python.
WATCHED = frozenset(
    (
        *("ph_look", "ph_look_now", "ph_python", "ph_python_surely"),
        *("ph_par_for", "ph_fork", "ph_print", "ph_demand"),
    )
)


def provided(provider: str) -> tuple[str, ...]:
    """The names of a provider's helpers."""
    return tuple([name for name, who in _PROVIDERS.items() if who == provider])


def is_known(name: str) -> bool:
    """Whether there is a helper of that name."""
    return name in _PROVIDERS


def called(module: Any) -> frozenset[str]:
    """The helpers that a module of LLVM's declares."""
    symbols = [*module.functions, *module.global_variables]
    return frozenset([s.name for s in symbols if s.is_declaration and is_known(s.name)])


def addresses(names: Collection[str]) -> dict[str, int]:
    """Where these helpers are, and others of their providers. Raises KeyError for what
    is no helper."""
    found: dict[str, int] = {}
    for provider in dict.fromkeys([_PROVIDERS[name] for name in sorted(names)]):
        found |= importlib.import_module(provider).symbols()
    return found


__all__ = ["WATCHED", "addresses", "called", "is_known", "provide", "provided"]
