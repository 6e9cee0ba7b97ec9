"""The words of the language, and its largest numbers."""

from __future__ import annotations

#: Words with a meaning of their own, which name nothing.
RESERVED = frozenset(
    [
        *("struct", "parameter", "vector", "stencil", "return", "for", "endfor"),
        *("int8", "int16", "int", "float", "double"),
        # Not in the language, but whoever writes them does not mean a variable.
        *("if", "else", "while", "do"),
    ]
)
#: What to write in place of words that other languages have, or have there.
INSTEAD = {
    "if": "write condition ? one : other",
    "else": "write condition ? one : other",
    "while": "Forma has loops over numbers alone: for i = 1..3 … endfor",
    "do": "Forma has loops over numbers alone: for i = 1..3 … endfor",
    "for": "loops stand in programs and vector functions: for i = 1..3 … endfor",
    "endfor": "it ends a loop: for i = 1..3 … endfor",
    "vector": "inputs and functions are declared outside of functions and loops",
    "stencil": "functions are declared outside of functions and loops",
    "struct": "structs are declared outside of functions and loops",
    "parameter": "parameters are declared outside of functions and loops",
}
#: The largest int, and the largest number that is rounded to a float.
LARGEST_INT = 2**31 - 1
LARGEST_FLOAT = 3.4028235677973362e38

__all__ = ["INSTEAD", "LARGEST_FLOAT", "LARGEST_INT", "RESERVED"]
