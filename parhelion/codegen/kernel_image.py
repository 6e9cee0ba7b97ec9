"""The code of kernels, as constants of the host's module.

It loads no emitters, as whoever loads code from the cache asks for its name.
"""

from __future__ import annotations

#: The constant that holds the code of all kernels of a module.
IMAGE = "parhelion.image"

#: How many devices a process can use, of which each has the code for itself.
DEVICES = 16


def image(ptx: str) -> str:
    """The constants that hold the code of a module's kernels, as LLVM's text. Whoever
    unloads the module has to find them, to end their use first."""
    raw = ptx.encode() + b"\0"
    text = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in raw
    )
    return (
        f'@{IMAGE}.text = private constant [{len(raw)} x i8] c"{text}", align 16\n'
        f"@{IMAGE}.slots = internal global [{DEVICES} x i64] zeroinitializer\n"
        f"@{IMAGE} = constant {{ ptr, i64, ptr }} "
        f"{{ ptr @{IMAGE}.text, i64 {len(raw)}, ptr @{IMAGE}.slots }}\n"
    )


__all__ = ["DEVICES", "IMAGE", "image"]
