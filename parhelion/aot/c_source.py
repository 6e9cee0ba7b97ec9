"""The C text of a pipeline, with the interface of its object file."""

from __future__ import annotations

import numpy as np

from parhelion.aot.interface import Interface, c_type, interface_of
from parhelion.codegen.c.function import Constant, Head, emit_c
from parhelion.ir.bindings import SET
from parhelion.ir.pipeline import Lowered
from parhelion.ir.symbols import BufferSym


def c_source(lowered: Lowered, name: str, user_context: bool = False) -> str:
    """A C file with the functions `name` and ``NAME_argv``, as `header.header_text`
    declares them; it has no ``NAME_metadata``, and nobody is told of an error but by
    the code that the function returns. The pixels of images that the algorithm
    mentions are part of the text.

    `lowered` has no vectors. Raises HalideError for what C cannot say, or a name that
    C has not.
    """
    interface = interface_of(lowered, name, user_context)
    names = [p.spelled for p in interface.parameters]
    context = ["__user_context"] if user_context else []
    head = Head(
        name,
        interface.signature(),
        [*context, *names],
        {
            p.argument.symbol: n
            for p, n in zip(interface.parameters, names, strict=True)
        },
        {b: _constant(b) for b in interface.embedded},
    )
    return f"{emit_c(lowered, head)}\n{_argv(interface)}"


def _constant(symbol: BufferSym) -> Constant:
    image = SET.of(symbol)
    layout = image._layout()
    # Dimension 0, the array's last axis, is dense in the text.
    pixels = np.asarray(image).ravel().tolist()
    return Constant(layout.mins, layout.extents, pixels)


def _argv(interface: Interface) -> str:
    """The same function, given an array of the addresses of its arguments."""
    kinds = ["void const *"] if interface.user_context else []
    kinds += ["" if p.is_buffer else c_type(p.type) for p in interface.parameters]
    given = []
    for i, kind in enumerate(kinds):
        star = "*" if kind.endswith("*") else " *"
        given.append(f"*({kind}{star})args[{i}]" if kind else f"args[{i}]")
    name = interface.name
    unused = "" if given else "  (void)args;\n"
    return (
        f"int {name}_argv(void **args) {{\n{unused}"
        f"  return {name}({', '.join(given)});\n}}\n"
    )


__all__ = ["c_source"]
