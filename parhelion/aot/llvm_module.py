"""LLVM modules of object files: linked from parts, and written for a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parhelion.ir.target import Target
from parhelion.runtime import jit


def link(texts: Sequence[str], target: Target, internal: Sequence[str]) -> Any:
    """One module of several, optimised; functions named in `internal` are its own.
    What nothing calls, and need not be kept, is left out.

    Raises InternalError if LLVM refuses a text.
    """
    with jit.LOCK:
        machine = jit.target_machine(target)
        layout = f'target datalayout = "{machine.target_data}"\n'
        context = jit.new_context()
        first, *rest = [jit.parse(layout + text, context) for text in texts]
        for other in rest:
            first.link_in(other)
        for name in internal:
            first.get_function(name).linkage = "internal"
        jit.optimise(first, target)
        llvm = jit.binding()
        builder = llvm.create_pass_builder(
            machine, llvm.create_pipeline_tuning_options()
        )
        passes = llvm.create_new_module_pass_manager()
        passes.add_global_dead_code_eliminate_pass()
        passes.run(first, builder)
        return first


def module_object(module: Any, target: Target) -> bytes:
    """The object file that a module becomes."""
    with jit.LOCK:
        return jit.emit_object(module, target)


def module_assembly(module: Any, target: Target) -> str:
    """The assembly that a module becomes."""
    with jit.LOCK:
        return jit.emit_assembly(module, target)


__all__ = ["link", "module_assembly", "module_object"]
