"""The C header of a compiled pipeline: its functions, and the structs they take.

The structs are those of Halide's public run-time header, with its include guard, so
that a caller may include both.
"""

from __future__ import annotations

from parhelion.aot.devices_ir import HEADER
from parhelion.aot.interface import Interface
from parhelion.codegen.structs import C_STRUCTS

_RUNTIME = """\
#ifndef HALIDE_HALIDERUNTIME_H
struct halide_filter_metadata_t;
#ifdef __cplusplus
extern "C" {
#endif
// Errors, memory, printing and parallel loops may be replaced: by functions given to
// these, or by functions of one's own called halide_error, halide_malloc, halide_free,
// halide_print and halide_do_par_for. Memory must be aligned to 64 bytes.
typedef void (*halide_error_handler_t)(void *, const char *);
halide_error_handler_t halide_set_error_handler(halide_error_handler_t handler);
typedef void *(*halide_malloc_t)(void *, size_t);
typedef void (*halide_free_t)(void *, void *);
halide_malloc_t halide_set_custom_malloc(halide_malloc_t user_malloc);
halide_free_t halide_set_custom_free(halide_free_t user_free);
typedef void (*halide_print_t)(void *, const char *);
halide_print_t halide_set_custom_print(halide_print_t print);
typedef int (*halide_task_t)(void *user_context, int index, uint8_t *closure);
typedef int (*halide_do_par_for_t)(void *, halide_task_t, int, int, uint8_t *);
halide_do_par_for_t halide_set_custom_do_par_for(halide_do_par_for_t do_par_for);
int halide_set_num_threads(int n);
int halide_get_num_threads(void);
void halide_shutdown_thread_pool(void);
#ifdef __cplusplus
}
#endif
#endif
#ifdef __cplusplus
extern "C" {
#endif
// Memory of intermediate results is kept for the next call. This sets the most bytes
// that are kept (0: none; -1: a quarter of the machine's, or PARHELION_KEPT_MB of the
// environment), and returns what that was.
int64_t halide_set_kept_memory(int64_t bytes);
// Gives back what is kept now, and returns how many bytes that were.
int64_t halide_release_memory(void);
#ifdef __cplusplus
}
#endif
"""


def header_text(interface: Interface, target: str, devices: bool = False) -> str:
    """The header of one pipeline, compiled for `target`. devices: whether it has
    kernels."""
    name = interface.name
    guard = f"PARHELION_{name.upper()}_H"
    listed = "\n".join([f"//   {line}" for line in _explained(interface)])
    return f"""\
#ifndef {guard}
#define {guard}
// Made by Parhelion for {target}.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

{C_STRUCTS}
{_RUNTIME}{HEADER if devices else ""}
#ifdef __cplusplus
extern "C" {{
#endif

// Returns 0, or the code of an error, of which halide_error was told.
{listed}
{interface.signature()};

// The same, given an array of the addresses of its arguments (for buffers, the
// addresses of the structs themselves).
int {name}_argv(void **args);

// Its arguments: names, types and dimensions.
const struct halide_filter_metadata_t *{name}_metadata(void);

#ifdef __cplusplus
}}
#endif
#endif
"""


def _explained(interface: Interface) -> list[str]:
    lines = []
    for p in interface.parameters:
        if p.is_buffer:
            what = "output" if p.is_output else "input"
            plural = "" if p.dimensions == 1 else "s"
            lines.append(
                f"{p.spelled}: {what} of {p.type}, {p.dimensions} dimension{plural}"
            )
        else:
            lines.append(f"{p.spelled}: {p.type}")
    return lines


__all__ = ["header_text"]
