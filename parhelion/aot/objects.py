"""Object files of pipelines, and the other forms of the same module.

A pipeline's module has three parts, linked before code is made: the compiled body with
its bounds query, the exported functions around it (`entry`), and the run time
(`runtime_ir`), of which what nothing calls is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from parhelion.aot.entry import entry_text
from parhelion.aot.interface import Interface, interface_of
from parhelion.aot.llvm_module import link, module_assembly, module_object
from parhelion.aot.query import query_of
from parhelion.aot.runtime_ir import (
    aot_devices,
    aot_runtime,
    has_devices,
    has_threads,
)
from parhelion.codegen.failure_site import FailureSite
from parhelion.codegen.kernel_image import image
from parhelion.codegen.llvm import emit_with_sites
from parhelion.codegen.module import quoted
from parhelion.codegen.symbols import DEVICE
from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.ir import stmt as S
from parhelion.ir.deep import run_deep
from parhelion.ir.pipeline import Lowered
from parhelion.ir.rewrite import Rewriter, nodes
from parhelion.ir.target import Target
from parhelion.runtime.kernels import ptx_of
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a target string asks of ahead-of-time code besides its processor's features.

    user_context: the functions take a context of the caller's first. runtime: the
    object has the run time. asserts: calls are checked.
    """

    user_context: bool = False
    runtime: bool = True
    asserts: bool = True


class ObjectModules:
    """A lowered pipeline as the LLVM module of an object file.

    target_name: as users write the target. Raises HalideError for what cannot run
    without Python.
    """

    def __init__(
        self,
        lowered: Lowered,
        name: str,
        target: Target,
        target_name: str,
        wishes: Wishes,
    ) -> None:
        self.interface: Interface = interface_of(lowered, name, wishes.user_context)
        self.target, self.wishes = target, wishes
        if not wishes.asserts:
            bare = without_asserts(lowered.body)
            lowered = replace(lowered, body=bare, demands=())
        body_name, query_name = f"{name}.body", f"{name}.query"
        body = emit_with_sites(replace(lowered, name=body_name), target)
        _refuse_python(lowered, body.calls)
        if name in {symbol.split("@")[0] for symbol in body.imports}:
            raise HalideError(
                f"the function {name!r} has the name of one that it calls",
                at=here(),
                hint="give it a name of its own (fn_name); else it is called as the "
                "first output",
            )
        asked, places = query_of(lowered, query_name)
        query = emit_with_sites(asked, target)
        entry = entry_text(
            self.interface,
            lowered,
            target,
            target_name,
            f"{body_name}_argv",
            f"{query_name}_argv",
            places,
            _told_by_argument(body.failures, lowered),
            _told_by_argument(query.failures, lowered),
        )
        if "ph_fork" in body.calls and not has_threads(target):
            raise HalideError(
                f"an async Func needs a thread, and there are none on {target_name}",
                at=here(),
            )
        self._kernels = not body.calls.isdisjoint(DEVICE)
        if self._kernels and not has_devices(target):
            raise HalideError(
                f"there are no devices for kernels on {target_name}: they need Linux "
                "and pointers of 64 bits",
                at=here(),
            )
        #: The code of kernels, which is a constant of the module.
        self.ptx = ptx_of(body, lowered.device)
        self.texts = [_by_name(body.text, body.imports), query.text, entry]
        if self.ptx:
            self.texts[0] += image(self.ptx)

    def linked(self) -> Any:
        """The whole module, its own functions internal but for the exported ones."""
        name = self.interface.name
        own = [f"{name}.body_argv", f"{name}.query_argv"]
        texts = list(self.texts)
        if self.wishes.runtime:
            texts.append(aot_runtime(self.target))
            if self._kernels:
                texts.append(aot_devices(self.target))
        return link(texts, self.target, own)

    def object_code(self) -> bytes:
        """An object file: ELF for Linux."""
        return module_object(self.linked(), self.target)

    def assembly(self) -> str:
        return self._shown("#") + module_assembly(self.linked(), self.target)

    def llvm(self) -> str:
        return self._shown(";") + str(self.linked())

    def _shown(self, mark: str) -> str:
        """The code of kernels in comments: in the constant it is hard to read."""
        if not self.ptx:
            return ""
        lines = ["The kernels, which are a constant below:", "", *self.ptx.split("\n")]
        return "".join([f"{mark} {line}".rstrip() + "\n" for line in lines])

    def bitcode(self) -> bytes:
        return bytes(self.linked().as_bitcode())

    @property
    def on_devices(self) -> bool:
        """Whether it has kernels."""
        return self._kernels

    @property
    def exports(self) -> tuple[str, ...]:
        name = self.interface.name
        return (name, f"{name}_argv", f"{name}_metadata")


def runtime_object(target: Target) -> tuple[bytes, tuple[str, ...]]:
    """An object file with the run time alone, all of it, and the names it defines."""
    texts = [aot_runtime(target, needed=True)]
    if has_devices(target):
        texts.append(aot_devices(target, needed=True))
    module = link(texts, target, [])
    names = sorted([f.name for f in module.functions if not f.is_declaration])
    return module_object(module, target), tuple(names)


class _Unchecked(Rewriter):
    def on_assert(self, s: S.Assert) -> S.Stmt:
        return S.NOP


def without_asserts(body: S.Stmt) -> S.Stmt:
    """The program without the checks of what it is given (the feature no_asserts)."""
    return run_deep(lambda: _Unchecked().go(body))


def _told_by_argument(
    sites: Sequence[FailureSite], lowered: Lowered
) -> list[FailureSite]:
    """Failures that name the arguments as callers know them, where the names inside
    had to be made unique."""
    names = {a.symbol.name: a.name for a in lowered.args if a.symbol.name != a.name}
    if not names:
        return list(sites)
    longest = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})(?![\w$])")

    def told(arg: Type | str) -> Type | str:
        if not isinstance(arg, str):
            return arg
        return pattern.sub(lambda m: names[m[0]], arg)

    return [replace(s, args=tuple([told(a) for a in s.args])) for s in sites]


def _by_name(text: str, imports: dict[str, int]) -> str:
    """Foreign functions by the names that the linker knows."""
    for symbol in imports:
        name = symbol.split("@")[0]
        if name == "function":
            raise HalideError(
                "a C function that was given by its address has no name to link with",
                at=here(),
                hint="give its name, or a function of a ctypes library",
            )
        if name != symbol:
            text = text.replace(f"@{quoted(symbol)}", f"@{quoted(name)}")
    return text


def _refuse_python(lowered: Lowered, calls: frozenset[str]) -> None:
    """Raises HalideError for what only a process with Python can offer."""
    if "ph_memo_find" in calls:
        raise HalideError(
            "a memoized Func cannot be compiled ahead of time yet: its results are "
            "kept by a process with Python",
            at=here(),
        )
    for s in nodes(lowered.body):
        if isinstance(s, S.RunExtern):
            code = s.func.extern
            if code is not None and code.packed:
                raise HalideError(
                    f"Func {s.func.label!r} is computed by a Python function, which no "
                    "object file can call",
                    at=s.func.site,
                )


__all__ = ["ObjectModules", "Wishes", "runtime_object", "without_asserts"]
