"""The functions of the run time that compiled code calls: how modules declare them.

Where they are, `runtime.helpers` knows, and the run time of object files.
"""

from __future__ import annotations

from collections.abc import Mapping

from parhelion.codegen.backend import Symbol

#: A function of Python's: its address is handed on to what calls it.
_PYTHON = Symbol("void")

#: What is called for kernels, and for buffers that have a copy on a device.
DEVICE: Mapping[str, Symbol] = {
    "ph_device_sync": Symbol("i32", "ptr, ptr, ptr, i32"),
    "ph_device_leave": Symbol("i32", "ptr, ptr, i32", "nounwind"),
    "ph_device_address": Symbol("ptr", "ptr", "nounwind"),
    "ph_device_texture": Symbol("i32", "ptr, ptr, ptr, i64, i64, i64, i32, ptr"),
    "ph_device_free": Symbol("void", "ptr, ptr", "nounwind"),
    "ph_device_launch": Symbol("i32", "ptr, ptr, ptr, ptr, ptr, i32, ptr"),
    "ph_device_launched": Symbol("void", "", "nounwind"),
    "ph_device_started": Symbol(
        "ptr", "ptr, ptr, ptr, ptr, ptr, ptr, i32, i64, i64", "nounwind"
    ),
    "ph_device_ended": Symbol("void", "ptr, ptr, ptr, ptr", "nounwind"),
    "ph_device_bytes": Symbol("i64", "ptr", "nounwind"),
    "ph_device_report": Symbol("i32", "ptr, ptr, ptr"),
    "ph_device_look": Symbol("i32", "ptr, ptr, ptr, ptr"),
    "ph_device_drop": Symbol("void", "ptr, ptr, ptr", "nounwind"),
}

SYMBOLS: Mapping[str, Symbol] = {
    # Memory.
    "ph_malloc": Symbol("noalias align 64 ptr", "ptr, i64", "nounwind"),
    "ph_reserve": Symbol("noalias align 64 ptr", "ptr, i64", "nounwind"),
    "ph_free": Symbol("void", "ptr, ptr", "nounwind"),
    # Threads.
    "ph_par_for": Symbol("i32", "ptr, ptr, i32, i32, ptr"),
    "ph_fork": Symbol("i32", "ptr, ptr, ptr, ptr, ptr"),
    "ph_acquire": Symbol("i32", "ptr, ptr, i32"),
    "ph_release": Symbol("void", "ptr, i32"),
    "ph_demand": Symbol("i32", "ptr, ptr, ptr, ptr, i32, i32, i32", "cold"),
    "ph_lock": Symbol("ptr", "ptr", "nounwind"),
    "ph_unlock": Symbol("void", "ptr", "nounwind"),
    # Signals, and calls of Python.
    "ph_look": Symbol("i32", "ptr", "cold nounwind", rare=True),
    "ph_look_now": Symbol("i32", "ptr", "cold nounwind"),
    "ph_python": Symbol("i32", "ptr, ptr"),
    "ph_python_surely": Symbol("void", "ptr, ptr"),
    "ph_memo_find": _PYTHON,
    "ph_memo_store": _PYTHON,
    "ph_memo_release": _PYTHON,
    "ph_trace": _PYTHON,
    "ph_print": Symbol("void", "ptr, ptr"),
    # Profiles.
    "ph_profile_enter": Symbol("ptr", "ptr, i32", "nounwind"),
    "ph_profile_leave": Symbol("void", "ptr, ptr", "nounwind"),
    "ph_profile_count": Symbol("void", "ptr, i32, i64", "nounwind"),
    "ph_profile_add": Symbol("void", "ptr, i32, i32, i64", "nounwind"),
    "ph_profile_allocate": Symbol("void", "ptr, i32, i64", "nounwind"),
    "ph_profile_free": Symbol("void", "ptr, i32, i64", "nounwind"),
    **DEVICE,
}

__all__ = ["DEVICE", "SYMBOLS"]
