"""A module whose Funcs, Vars, RDoms, images and Params all get other names.

A scheduler that looks at names, or whose choices depend on their order, shows when the
same application is built with this in place of `parhelion` or `halide`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from apps.common import Module

#: What takes a name.
CONSTRUCTORS = ("Func", "Var", "RVar", "RDom", "ImageParam", "Param")


class Renamed:
    """The names of a module, with constructors that give other names than they are
    given: the same for the same. Implicit Vars, which begin with "_", keep theirs.

    old: what each new name stands for.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self.old: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return self._renaming(found) if name in CONSTRUCTORS else found

    def name(self, given: str) -> str:
        """Another name, which sorts differently."""
        if given.startswith("_"):
            return given
        new = f"q{zlib.crc32(given.encode()):08x}"
        if self.old.setdefault(new, given) != given:
            raise ValueError(f"{given} and {self.old[new]} would have one name")
        return new

    def _renaming(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*given: Any, **named: Any) -> Any:
            if isinstance(named.get("name"), str):
                named["name"] = self.name(named["name"])
            return make(*[self._new(a) for a in given], **named)

        return made

    def _new(self, argument: Any) -> Any:
        return self.name(argument) if isinstance(argument, str) else argument
