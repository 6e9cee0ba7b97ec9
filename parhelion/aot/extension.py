"""Python extensions of compiled pipelines: the C around them, and their type stubs.

An extension module has one function for each pipeline, which takes arrays (of NumPy,
or any that offer the buffer protocol or DLPack) and numbers. It needs neither this
package nor NumPy to run, and keeps to CPython's stable interface (abi3, from 3.11 on).
Axes are as in `hl.Buffer`, dimension 0 is an array's last axis, and as in Halide's
extensions the first one of an array in Fortran's order.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence

from parhelion.aot.extension_c import SUPPORT
from parhelion.aot.header import header_text
from parhelion.aot.interface import Interface, Parameter, c_type
from parhelion.errors import HalideError, here
from parhelion.ir.build import const_int
from parhelion.ir.symbols import BufferSym
from parhelion.types import Type

#: The module's text that users see, in both files.
_MADE = "Compiled image-processing pipelines, made by Parhelion."


def check_module_name(name: str) -> None:
    """Raises HalideError unless `name` can be that of a Python module written in C."""
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        raise HalideError(
            f"{name!r} is no name for a Python module",
            at=here(),
            hint="letters, digits and underscores, a digit not first",
        )


def argument_names(interface: Interface) -> list[str]:
    """What the arguments are called in Python: as in C, but for Python's own words."""
    return [
        f"{p.name}_" if keyword.iskeyword(p.name) else p.name
        for p in interface.parameters
    ]


def extension_text(module: str, interfaces: Sequence[tuple[Interface, str]]) -> str:
    """The C (and C++) of an extension module, to be compiled and linked with the
    objects of the functions. interfaces: each with the target that it is compiled for.
    """
    check_module_name(module)
    dims = max([1, *[p.dimensions for i, _ in interfaces for p in i.parameters]])
    parts = [
        _HEAD,
        f"#define PH_DIMS {dims}\n",
        *[header_text(interface, target) for interface, target in interfaces],
        SUPPORT,
        *[_function(interface) for interface, _ in interfaces],
        _module(module, [interface for interface, _ in interfaces]),
    ]
    return "\n".join(parts)


_HEAD = """\
// A Python module of compiled pipelines, made by Parhelion.
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
"""


def _function(interface: Interface) -> str:
    """The Python function around one compiled function."""
    name, parameters = interface.name, interface.parameters
    buffers = [p for p in parameters if p.is_buffer]
    places = {p.name: k for k, p in enumerate(buffers)}
    names = argument_names(interface)
    images = "".join([_image(p) for p in buffers])
    words = "".join(
        [f'    static char word_{i}[] = "{n}";\n' for i, n in enumerate(names)]
    )
    listed = ", ".join([f"word_{i}" for i in range(len(names))])
    given = ", ".join([f"&given[{i}]" for i in range(len(names))])
    steps: list[str] = []
    passed: list[str] = []
    if interface.user_context:
        passed.append("NULL")
    for i, p in enumerate(parameters):
        if p.is_buffer:
            k = places[p.name]
            steps.append(
                f"    if (ph_open(&arrays[{k}], &images[{k}], given[{i}])) goto done;\n"
            )
            passed.append(f"&arrays[{k}].buffer")
        else:
            steps.append(_scalar(p, i))
            passed.append(f"value_{i}")
    # The declarations come first: C++ does not jump over them.
    wide = [_wide(p.type) for p in parameters if not p.is_buffer]
    declared = "".join(
        [
            f"    {c_type(p.type)} value_{i};\n"
            for i, p in enumerate(parameters)
            if not p.is_buffer
        ]
        + [f"    {one};\n" for one in sorted(set(wide))]
    )
    return f"""
static PyObject *ph_call_{name}(PyObject *module, PyObject *args, PyObject *named) {{
    static const ph_image images[] = {{
{images}    }};
{words}    static char *words[] = {{{listed}, NULL}};
    PyObject *given[{len(names)}], *result = NULL;
    ph_array arrays[{len(buffers)}];
    PyThreadState *thread;
    int code;
{declared}    (void)module;
    memset(arrays, 0, sizeof arrays);
    if (!PyArg_ParseTupleAndKeywords(args, named, "{"O" * len(names)}:{name}", words,
                                     {given}))
        return NULL;
{"".join(steps)}    if (ph_apart(arrays, images, {len(buffers)})) goto done;
    ph_message[0] = 0;
    thread = PyEval_SaveThread();
    code = {name}({", ".join(passed)});
    PyEval_RestoreThread(thread);
    result = code ? ph_raise("{name}", code) : Py_NewRef(Py_None);
done:
    for (int i = 0; i < {len(buffers)}; i++) ph_close(&arrays[i]);
    return result;
}}
"""


def _image(p: Parameter) -> str:
    t, symbol = p.type, p.argument.symbol
    assert isinstance(symbol, BufferSym)
    promised = symbol.dims[0].fixed_stride if symbol.dims else None
    stride = None if promised is None else const_int(promised)
    return (
        f'        {{"{p.name}", "{t}", {int(t.kind)}, {t.width}, {p.dimensions}, '
        f"{int(p.is_output)}, {stride or 0}}},\n"
    )


def _wide(t: Type) -> str:
    """The declaration of what a scalar is read into before it is narrowed."""
    if t.is_bool():
        return "int truth"
    if t.is_float():
        return "double real"
    if t.is_int():
        return "int64_t whole"
    return "uint64_t natural"


def _scalar(p: Parameter, i: int) -> str:
    """Reads a number from ``given[i]`` into ``value_i``."""
    t = p.type
    if t.is_bool():
        return (
            f'    if (ph_truth(given[{i}], "{p.name}", &truth)) goto done;\n'
            f"    value_{i} = truth;\n"
        )
    if t.is_float():
        lines = f'    if (ph_real(given[{i}], "{p.name}", "{t}", &real)) goto done;\n'
        if t.width == 16:
            digits, bias = (8, 127) if t.is_bfloat() else (11, 15)
            return (
                lines
                + f"    value_{i} = ph_short(real, {digits}, {bias});\n"
                + (
                    f"    if (fabs(real) < HUGE_VAL && (value_{i} & 0x7fff) == "
                    f"{(2 * bias + 1) << (digits - 1)}) {{\n"
                    f'        ph_too_large("{p.name}", "{t}", given[{i}]);\n'
                    "        goto done;\n    }\n"
                )
            )
        lines += f"    value_{i} = ({c_type(t)})real;\n"
        if t.width == 32:
            lines += (
                f"    if (fabs(real) < HUGE_VAL && isinf(value_{i})) {{\n"
                f'        ph_too_large("{p.name}", "{t}", given[{i}]);\n'
                "        goto done;\n    }\n"
            )
        return lines
    reader, wide = ("signed", "whole") if t.is_int() else ("unsigned", "natural")
    cast = "(void const *)(uintptr_t)" if t.is_handle() else f"({c_type(t)})"
    return (
        f'    if (ph_{reader}(given[{i}], "{p.name}", "{t}", {t.width}, &{wide}))\n'
        f"        goto done;\n    value_{i} = {cast}{wide};\n"
    )


def _module(module: str, interfaces: Sequence[Interface]) -> str:
    rows = "".join(
        [
            f'    {{"{i.name}", (PyCFunction)(void (*)(void))ph_call_{i.name},\n'
            f"     METH_VARARGS | METH_KEYWORDS, {_c_string(_doc(i))}}},\n"
            for i in interfaces
        ]
    )
    return f"""
static PyMethodDef ph_methods[] = {{
{rows}    {{NULL, NULL, 0, NULL}},
}};

static int ph_start(PyObject *module) {{
    (void)module;
    halide_set_error_handler(ph_remember);
    return 0;
}}

static PyModuleDef_Slot ph_slots[] = {{
    {{Py_mod_exec, (void *)ph_start}},
    {{0, NULL}},
}};

static struct PyModuleDef ph_module = {{
    PyModuleDef_HEAD_INIT, "{module}", "{_MADE}", 0, ph_methods, ph_slots,
    NULL, NULL, NULL,
}};

PyMODINIT_FUNC PyInit_{module}(void) {{ return PyModuleDef_Init(&ph_module); }}
"""


def _doc(interface: Interface) -> str:
    """The text of a function, with its signature as `inspect` reads it."""
    listed = ", ".join(["$module", "/", *argument_names(interface)])
    lines = [f"{interface.name}({listed})", "--", "", *_told(interface)]
    return "\n".join(lines)


def _told(interface: Interface) -> list[str]:
    """What the arguments are, a line for each, and what is raised."""
    lines = ["Computes the outputs into the arrays given.", ""]
    for name, p in zip(argument_names(interface), interface.parameters, strict=True):
        if p.is_buffer:
            plural = "" if p.dimensions == 1 else "s"
            what = "output" if p.is_output else "input"
            lines.append(
                f"{name}: {what}, an array of {p.type} with {p.dimensions} "
                f"dimension{plural}"
            )
        else:
            lines.append(f"{name}: {p.type}")
    lines += [
        "",
        "Dimension 0 is an array's last axis, and the first of one in Fortran's order.",
        "Raises TypeError for other types, OverflowError for numbers that do not fit,",
        "ValueError and IndexError for arrays that do not, RuntimeError where the",
        "pipeline's own requirements fail.",
    ]
    return lines


def _c_string(text: str) -> str:
    lines = text.split("\n")
    return "\n     ".join([f'"{line}\\n"' for line in lines[:-1]] + [f'"{lines[-1]}"'])


# The stub.


def stub_text(interfaces: Sequence[Interface]) -> str:
    """The ``.pyi`` of an extension module."""
    parts = [_STUB_HEAD]
    for interface in interfaces:
        arguments = "".join(
            [
                f"    {name}: {_annotation(p)},\n"
                for name, p in zip(
                    argument_names(interface), interface.parameters, strict=True
                )
            ]
        )
        told = "\n    ".join(_told(interface)).replace("\n    \n", "\n\n")
        parts.append(
            f'def {interface.name}(\n{arguments}) -> None:\n    """{told}\n    """\n'
        )
    return "\n".join(parts)


_STUB_HEAD = f'''\
"""{_MADE}"""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

class _Tensor(Protocol):
    """An array of another library, handed over by DLPack. Those can be hashed, NumPy's
    cannot: so that the types of NumPy's pixels are checked."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, Any]: ...
    def __hash__(self) -> int: ...
'''


def _annotation(p: Parameter) -> str:
    t = p.type
    if p.is_buffer:
        # What NumPy has no type for travels as the integers of its bits.
        kind = "bool_" if t.is_bool() else str(t)
        if t.is_bfloat() or t.is_handle():
            kind = f"uint{t.width}"
        return f"npt.NDArray[np.{kind}] | _Tensor"
    if t.is_bool():
        return "bool | np.bool_"
    if t.is_float():
        return "float | np.floating[Any] | np.integer[Any]"
    return "int | np.integer[Any]"


__all__ = ["argument_names", "check_module_name", "extension_text", "stub_text"]
