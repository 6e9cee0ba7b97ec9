"""One function compiled for several targets, of which each computer takes its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from parhelion.aot.archive import Member, archive
from parhelion.aot.choose import chooser_text
from parhelion.aot.header import header_text
from parhelion.aot.interface import Interface
from parhelion.aot.llvm_module import link, module_object
from parhelion.aot.objects import ObjectModules
from parhelion.errors import HalideError, here
from parhelion.lang.loop_dump import file_name, write
from parhelion.lang.machines import machine_of
from parhelion.lang.module import Module
from parhelion.lang.target_api import Target, TargetFeature, TargetOS, check_target

#: Makes a Module of a name, for a target.
Maker = Callable[[str, Target], Module]


def compiled_for(
    make: Maker, name: str, targets: Sequence[Target], suffixes: Sequence[str]
) -> tuple[list[Member], Interface]:
    """Object files: the function for each target, and the one that chooses, last.

    targets: from the most demanding to the least, which must serve wherever the
    library is used. suffixes: what is added to the name for each.
    """
    symbol = name.replace("$", "_")
    members: list[Member] = []
    choices = []
    interface: Interface | None = None
    for target, suffix in zip(targets, suffixes, strict=True):
        own = f"{symbol}{suffix}"
        program: ObjectModules = make(own, target)._program()
        members.append(Member(f"{own}.o", program.object_code(), program.exports))
        choices.append((own, machine_of(target)))
        interface = program.interface
    assert interface is not None
    whole = Interface(
        symbol, interface.parameters, interface.embedded, interface.user_context
    )
    base = machine_of(targets[-1])
    module = link([chooser_text(whole, base, choices)], base, [])
    exports = (symbol, f"{symbol}_argv", f"{symbol}_metadata")
    members.append(Member(f"{symbol}.o", module_object(module, base), exports))
    return members, whole


def write_library(
    make: Maker,
    name: str,
    prefix: str | os.PathLike[str],
    targets: Sequence[Target],
) -> None:
    """``PREFIX.a`` (for Windows ``PREFIX.lib``) with all of it, and ``PREFIX.h``."""
    start = file_name(prefix)
    _check(targets)
    suffixes = ["_" + str(t).replace("-", "_") for t in targets]
    members, interface = compiled_for(make, name, targets, suffixes)
    end = "lib" if _for_windows(targets) else "a"
    write(f"{start}.{end}", archive(members))
    text = header_text(interface, ", ".join(map(str, targets)))
    write(f"{start}.h", text)


def write_objects(
    make: Maker,
    name: str,
    prefix: str | os.PathLike[str],
    targets: Sequence[Target],
    suffixes: Sequence[str],
) -> None:
    """``PREFIX-SUFFIX.o`` for each target, ``PREFIX.o``, which chooses, and
    ``PREFIX.h``; for Windows, ``.obj`` for ``.o``."""
    start = file_name(prefix)
    _check(targets)
    if len(suffixes) != len(targets):
        raise HalideError(
            f"{len(targets)} targets need as many suffixes, not {len(suffixes)}",
            at=here(),
        )
    plain = ["_" + "".join([c if c.isalnum() else "_" for c in s]) for s in suffixes]
    for i, (suffix, spelled) in enumerate(zip(suffixes, plain, strict=True)):
        if spelled in plain[:i]:
            other = suffixes[plain.index(spelled)]
            raise HalideError(
                f"the suffixes {other!r} and {suffix!r} give two functions one name",
                at=here(),
            )
    members, interface = compiled_for(make, name, targets, plain)
    kind = "obj" if _for_windows(targets) else "o"
    ends = [*[f"-{s}" for s in suffixes], ""]
    for member, end in zip(members, ends, strict=True):
        write(f"{start}{end}.{kind}", member.data)
    text = header_text(interface, ", ".join(map(str, targets)))
    write(f"{start}.h", text)


def _for_windows(targets: Sequence[Target]) -> bool:
    return targets[0].os is TargetOS.Windows


def _check(targets: Sequence[Target]) -> None:
    for i, t in enumerate(targets):
        check_target(t)
        if t in targets[:i]:
            raise HalideError(f"the target {t} is there twice", at=here())
    if not targets:
        raise HalideError("code for no target at all is asked for", at=here())
    first = targets[0]
    for t in targets:
        if (t.arch, t.os, t.bits) != (first.arch, first.os, first.bits):
            raise HalideError(
                f"{first} and {t} are no computers that one program runs on", at=here()
            )
        context = TargetFeature.UserContext
        if t.has_feature(context) != first.has_feature(context):
            raise HalideError(
                f"{first} and {t} do not take the same arguments: all have the feature "
                "user_context, or none",
                at=here(),
            )


__all__ = ["write_library", "write_objects"]
