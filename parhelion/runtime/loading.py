"""Modules that code generation wrote, compiled and loaded into this process."""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from parhelion.codegen.kernel_image import IMAGE
from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.ir.target import Target
from parhelion.runtime import helpers, jit

#: Calls of compiled code: ``i32 f(ptr context, ptr argv)``. ctypes releases the GIL.
EntryPoint = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(slots=True, weakref_slot=True)
class Compiled:
    """A loaded module. It stays loaded as long as this object lives.

    source: gives the module as code generation wrote it. address: of the function
    `name`. helpers: what it calls of the run time. entry: that function, callable with
    two addresses.
    """

    name: str
    source: Callable[[], str] = field(repr=False)
    target: Target
    address: int
    object_code: bytes
    helpers: frozenset[str]
    times: jit.CompileTimes
    entry: Callable[[int, int], int]
    _library: Any = field(repr=False)

    @property
    def text(self) -> str:
        """The module as code generation wrote it."""
        return self.source()

    def llvm(self) -> str:
        """The optimised LLVM module, as text."""
        return jit.optimised_text(self.text, self.target)

    def assembly(self) -> str:
        """The machine code, as assembly text."""
        return jit.assembly_text(self.text, self.target)


def compile_module(
    text: str,
    name: str,
    target: Target | None = None,
    foreign: Mapping[str, int] | None = None,
) -> Compiled:
    """Compiles LLVM text for this computer and loads it.

    The module defines ``i32 NAME_argv(ptr context, ptr argv)``. `foreign` has the
    addresses of user's functions that it calls. Raises InternalError if LLVM refuses
    the text.
    """
    times = jit.CompileTimes()
    target = target or host_target()
    code, called = jit.made_object(text, target, times)
    return load_module(code, name, lambda: text, target, called, foreign, times)


def load_module(
    code: bytes,
    name: str,
    source: Callable[[], str],
    target: Target,
    called: frozenset[str],
    foreign: Mapping[str, int] | None = None,
    times: jit.CompileTimes | None = None,
    entry: str = "",
) -> Compiled:
    """Loads an object file that was made of a module as `compile_module` takes it.
    `source` gives the module's text, for those who look at it. `called` has the helpers
    that it calls. `entry` is what its function is called, if not after `name`."""
    from parhelion.runtime import threads

    times = times or jit.CompileTimes()
    start = time.perf_counter()
    entry = entry or f"{name}_argv"
    imports = helpers.addresses(called)
    imports = {**imports, **(foreign or {})}
    kernels = "ph_device_launch" in called
    exports = (entry, IMAGE) if kernels else (entry,)
    library, addresses = jit.load(code, exports, imports)
    times.load = time.perf_counter() - start
    address = addresses[entry]
    watched = not called.isdisjoint(helpers.WATCHED)
    run = threads.watched(address) if watched else EntryPoint(address)
    made = Compiled(name, source, target, address, code, called, times, run, library)
    if kernels:
        from parhelion.runtime import devices

        # The library is held until its kernels are gone.
        image = addresses[IMAGE]
        weakref.finalize(made, devices.unload, image, library).atexit = False
    return made


__all__ = ["Compiled", "compile_module", "load_module"]
