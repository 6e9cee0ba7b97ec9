"""A script as a Python program, to be read, edited and run."""

from __future__ import annotations

import builtins
import json
import keyword
import os
import re
from collections.abc import Sequence
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING

from parhelion.autoschedule.calls import (
    MAKERS,
    Arg,
    Call,
    FuncArg,
    ImageArg,
    LevelArg,
    Made,
    RVarArg,
    StageArg,
    Target,
    VarArg,
)
from parhelion.errors import InternalError
from parhelion.ir.expr import Var as IRVar
from parhelion.ir.function import Function, dim_name, var_label
from parhelion.ir.names import is_made, plain_name
from parhelion.ir.symbols import BufferSym
from parhelion.schedule.directives import OUTERMOST, TailStrategy

if TYPE_CHECKING:
    from parhelion.autoschedule.script import Script

_WIDTH = 88
_INDENT = "    "
#: The implicit Vars that have a name in the package.
_IMPLICIT = {f"_{i}" for i in range(10)}
_HEAD = '''\
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which %s."""
'''


def python_text(script: Script, partial: bool = False) -> str:
    """See `Script.to_python`."""
    return _Printer(script).text(partial)


class _Printer:
    """Finds a Python name for everything that the calls mention, then prints them."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.taken = {"hl", "pipeline", "schedule", *keyword.kwlist, *dir(builtins)}
        self.funcs: dict[Function, str] = {}
        self.images: dict[BufferSym, str] = {}
        self.made: dict[int, str] = {}
        self.vars: dict[str, str] = {}
        self.named_rvars: dict[str, str] = {}
        self.rvars: dict[IRVar, str] = {}
        #: Pure Vars whose names nobody gave: whose Func's they are, at which place.
        self.pure: dict[str, tuple[Function, int]] = {}

    def text(self, partial: bool) -> str:
        for call in self.script.calls:
            self._survey(call)
        self._name()
        lines = [*self._declarations(), *self._body()]
        have = (
            "have the directives that they had" if partial else "have no schedule yet"
        )
        head = _HEAD % have
        return head + "".join([f"{_INDENT}{one}\n" if one else "\n" for one in lines])

    # What is mentioned, in order of first use.

    def _survey(self, call: Call) -> None:
        self._mention(call.function)
        for arg in call.args:
            self._survey_arg(arg, call)

    def _mention(self, f: Target) -> None:
        if isinstance(f, Function):
            self.funcs[f] = ""
        elif isinstance(f, BufferSym):
            self.images[f] = ""
        else:
            self.made[f.call] = ""

    def _survey_arg(self, arg: Arg, call: Call) -> None:
        if isinstance(arg, VarArg):
            self.vars[arg.name] = ""
            if is_made(arg.name):
                self._find_pure(arg.name)
        elif isinstance(arg, RVarArg):
            v = self.script.rvar(arg, call)
            if v is None:
                self.named_rvars[arg.name] = ""
                return
            if v not in self.script.rvars:
                raise InternalError(
                    f"internal error: {var_label(v)} is of an RDom that no update of"
                    " the pipeline walks over"
                )
            self.rvars[v] = ""
            self._mention(self.script.rvars[v][0])
        elif isinstance(arg, FuncArg):
            self._mention(arg.function)
        elif isinstance(arg, ImageArg):
            self._mention(arg.image)
        elif isinstance(arg, Made):
            self._mention(arg)
        elif isinstance(arg, StageArg):
            self._mention(arg.function)
        elif isinstance(arg, LevelArg):
            self._mention(arg.function)
            self._survey_arg(arg.var, call)
        elif isinstance(arg, tuple):
            for one in arg:
                self._survey_arg(one, call)

    def _find_pure(self, name: str) -> None:
        for f in self.script.order:
            for k, v in enumerate(f.args):
                if v.name == name:
                    self.pure[name] = (f, k)
                    self._mention(f)
                    return

    # Names.

    def _name(self) -> None:
        for name in self.vars:
            if name in _IMPLICIT:
                self.vars[name] = f"hl.{name}"
            elif name == OUTERMOST.name:
                self.vars[name] = "hl.Var.outermost()"
            else:
                self.vars[name] = self._fresh(plain_name(name))
        order = {f: i for i, f in enumerate(self.script.order)}
        for f in sorted(self.funcs, key=lambda f: order[f]):
            wish = f"func{order[f]}" if is_made(f.name) else plain_name(f.name)
            self.funcs[f] = self._fresh(wish)
        for s in self.images:
            wish = "image" if is_made(s.name) else plain_name(s.name)
            self.images[s] = self._fresh(wish)
        for v in self.rvars:
            of, letter = dim_name(v)
            parts = [plain_name(of), letter] if letter else [plain_name(of)]
            self.rvars[v] = self._fresh("_".join(parts))
        for name in self.named_rvars:
            self.named_rvars[name] = self._fresh(plain_name(name))
        for call in sorted(self.made):
            maker = self.script.calls[call]
            of = self._known(maker.function)
            self.made[call] = self._fresh(f"{of}_{_PART[maker.method]}")

    def _fresh(self, wish: str) -> str:
        name = re.sub(r"\W", "_", wish, flags=re.ASCII) or "v"
        if name[0].isdigit():
            name = f"v{name}"
        if name in self.taken:
            k = 2
            while f"{name}_{k}" in self.taken:
                k += 1
            name = f"{name}_{k}"
        self.taken.add(name)
        return name

    def _known(self, f: Target) -> str:
        if isinstance(f, BufferSym):
            return self.images[f]
        return self.funcs[f] if isinstance(f, Function) else self.made[f.call]

    # The text.

    def _declarations(self) -> list[str]:
        order = {f: i for i, f in enumerate(self.script.order)}
        lines = [
            f"{self.funcs[f]} = pipeline.get_func({order[f]})"
            for f in sorted(self.funcs, key=lambda f: order[f])
        ]
        lines += [
            f"{known} = pipeline.get_image({self.script.images.index(s)})"
            for s, known in self.images.items()
        ]
        plain, others = [], []
        for name, known in self.vars.items():
            if name in self.pure:
                f, k = self.pure[name]
                others.append(f"{known} = {self.funcs[f]}.args()[{k}]")
            elif name == known:
                plain.append(name)
            elif not known.startswith("hl."):
                others.append(f"{known} = hl.Var({_quoted(name)})")
        lines += _declared(plain, "hl.Var", "hl.vars")
        lines += others
        for v, known in self.rvars.items():
            f, k, i = self.script.rvars[v]
            lines.append(f"{known} = {self.funcs[f]}.rvars({k})[{i}]")
        lines += [
            f"{known} = hl.RVar({_quoted(name)})"
            for name, known in self.named_rvars.items()
        ]
        return lines

    def _body(self) -> list[str]:
        """The calls; those in a row on one definition as one chain."""
        lines: list[str] = []
        last: Target | None = None
        for _, run in groupby(enumerate(self.script.calls), key=self._chain):
            calls = list(run)
            number, first = calls[0]
            if first.function != last:
                lines += ["", f"# {self._title(first.function)}"]
            last = first.function
            receiver = self._stage(first.function, first.stage)
            start = ""
            if number in self.made:
                start = f"{self.made[number]} = "
            parts = [(c.method, self._args(c)) for _, c in calls]
            lines += _chain_text(start, receiver, parts)
        return lines

    def _stage(self, of: Target, stage: int) -> str:
        known = self._known(of)
        return f"{known}.update({stage - 1})" if stage > 0 else known

    def _title(self, of: Target) -> str:
        """What a comment calls a Func or an image."""
        if isinstance(of, Made):
            maker = self.script.calls[of.call]
            return f"{self._title(maker.function)}: {_PART[maker.method]}"
        if is_made(of.name):
            kind = "a Func" if isinstance(of, Function) else "an ImageParam"
            if of.site is None:
                return f"{kind} without a name"
            file = os.path.basename(of.site.file)
            return f"{kind} without a name, of {file}, line {of.site.line}"
        return plain_name(of.name)

    def _chain(self, numbered: tuple[int, Call]) -> object:
        i, call = numbered
        # Makers return the Func that they make, `unscheduled` returns nothing.
        apart = call.method in MAKERS or call.method == "unscheduled"
        return (call.function, max(call.stage, 0), i if apart else -1)

    def _args(self, call: Call) -> list[str]:
        """The arguments of a call, without a tail that goes without saying."""
        given = call.args
        if given and given[-1] is TailStrategy.Auto:
            given = given[:-1]
        return [self._arg(a, call) for a in given]

    def _arg(self, arg: Arg, call: Call, depth: int = 0) -> str:
        if isinstance(arg, VarArg):
            return self.vars[arg.name]
        if isinstance(arg, RVarArg):
            v = self.script.rvar(arg, call)
            return self.named_rvars[arg.name] if v is None else self.rvars[v]
        if isinstance(arg, FuncArg):
            return self.funcs[arg.function]
        if isinstance(arg, ImageArg):
            return self.images[arg.image]
        if isinstance(arg, Made):
            return self.made[arg.call]
        if isinstance(arg, StageArg):
            return self._stage(arg.function, arg.stage)
        if isinstance(arg, LevelArg):
            var = self._arg(arg.var, call)
            which = "" if arg.stage < 0 else f", {arg.stage}"
            return f"hl.LoopLevel({self._known(arg.function)}, {var}{which})"
        if isinstance(arg, tuple):
            inside = ", ".join([self._arg(a, call, depth + 1) for a in arg])
            return f"({inside})" if depth and len(arg) > 1 else f"[{inside}]"
        if isinstance(arg, Enum):
            return f"hl.{type(arg).__name__}.{arg.name}"
        return repr(arg)


#: What the Func that a directive makes is called.
_PART = {"rfactor": "parts", "in_": "wrapper", "clone_in": "clone"}


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _declared(names: Sequence[str], one: str, many: str) -> list[str]:
    if len(names) == 1:
        return [f"{names[0]} = {one}({_quoted(names[0])})"]
    lines: list[str] = []
    left = list(names)
    while left:
        count = len(left)
        while count > 1 and _too_long(_several(left[:count], many)):
            count -= 1
        if count == 1:
            lines.append(f"{left[0]} = {one}({_quoted(left[0])})")
        else:
            lines.append(_several(left[:count], many))
        left = left[count:]
    return lines


def _several(names: Sequence[str], many: str) -> str:
    return f'{", ".join(names)} = {many}("{" ".join(names)}")'


def _too_long(line: str) -> bool:
    return len(_INDENT) + len(line) > _WIDTH


def _chain_text(
    start: str, receiver: str, parts: Sequence[tuple[str, Sequence[str]]]
) -> list[str]:
    """``start receiver.method(args).method(args)``, over several lines if it is long:
    as a code formatter would put it."""
    flat = [f".{method}({', '.join(args)})" for method, args in parts]
    whole = start + receiver + "".join(flat)
    if not _too_long(whole):
        return [whole]
    if len(parts) == 1:
        return _call_text(f"{start}{receiver}.{parts[0][0]}", parts[0][1], "")
    if len(parts) == 2 and not receiver.endswith(")"):
        return [line for p in parts for line in _chain_text("", receiver, [p])]
    lines = [f"{start}("]
    if receiver.endswith(")"):
        lines.append(f"{_INDENT}{receiver}")
        receiver = ""
    for k, (method, args) in enumerate(parts):
        head = f"{_INDENT}{'' if k else receiver}.{method}"
        lines += _call_text(head, args, _INDENT)
    return [*lines, ")"]


def _call_text(head: str, args: Sequence[str], indent: str) -> list[str]:
    whole = f"{head}({', '.join(args)})"
    if not _too_long(whole):
        return [whole]
    inside = f"{indent}{_INDENT}{', '.join(args)}"
    if not _too_long(inside):
        return [f"{head}(", inside, f"{indent})"]
    return [f"{head}(", *[f"{indent}{_INDENT}{a}," for a in args], f"{indent})"]


__all__ = ["python_text"]
