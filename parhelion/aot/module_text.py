"""LLVM text of one module: its functions, and the constants that they mention."""

from __future__ import annotations


class Text:
    """LLVM text of one module, with its constants."""

    def __init__(self) -> None:
        self.globals: list[str] = []
        self.functions: list[str] = []
        self._strings: dict[bytes, str] = {}

    def bytes(self, raw: bytes) -> str:
        """An array constant."""
        text = "".join(
            chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in raw
        )
        return f'[{len(raw)} x i8] c"{text}"'

    def string(self, data: str) -> str:
        """The address of a constant, NUL-terminated UTF-8 string."""
        raw = data.encode() + b"\0"
        if raw not in self._strings:
            name = self._strings[raw] = f"@entry.str.{len(self._strings)}"
            self.globals.append(
                f"{name} = private unnamed_addr constant {self.bytes(raw)}"
            )
        return self._strings[raw]

    def constant(self, name: str, value: str, align: int = 0) -> str:
        note = f", align {align}" if align else ""
        self.globals.append(f"@{name} = private constant {value}{note}")
        return f"@{name}"


__all__ = ["Text"]
