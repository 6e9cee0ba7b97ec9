"""`hl.main`: the command line of a file of Generators, with Halide's options."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError, here
from parhelion.lang.autoscheduling import AutoschedulerParams, load_plugin
from parhelion.lang.generator import Built, find_generator, registered_generators
from parhelion.lang.generator_context import GeneratorContext
from parhelion.lang.module import Module, compile_standalone_runtime
from parhelion.lang.module import OutputFileType as Kind
from parhelion.lang.target_api import (
    Target,
    TargetOS,
    get_target_from_environment,
)

#: How the names of the files of each kind end.
ENDINGS: dict[Kind, str] = {
    Kind.assembly: ".s",
    Kind.bitcode: ".bc",
    Kind.c_header: ".h",
    Kind.c_source: ".c",
    Kind.llvm_assembly: ".ll",
    Kind.object: ".o",
    Kind.python_extension: ".py.cpp",
    Kind.schedule: ".schedule.py",
    Kind.static_library: ".a",
    Kind.stmt: ".stmt",
    Kind.stmt_html: ".stmt.html",
    Kind.conceptual_stmt: ".conceptual.stmt",
    Kind.conceptual_stmt_html: ".conceptual.stmt.html",
}
_DEFAULT = (Kind.c_header, Kind.static_library)

#: What they are on Windows, where it is not the same.
_ON_WINDOWS = {Kind.object: ".obj", Kind.static_library: ".lib"}

USAGE = f"""\
usage: python FILE [-g GENERATOR] -o FOLDER [options] [target=TARGET[,TARGET…]]
              [PARAM=VALUE …]

  -g NAME    the Generator to run; may be left out where the file has but one
  -f NAME    what the compiled function is called [the Generator's name]
  -o FOLDER  where files are written
  -n NAME    what files are called, before their endings [the function's name]
  -e KIND,…  what files are written [{",".join(k.name for k in _DEFAULT)}]; of
             {", ".join(k.name for k in ENDINGS)}
  -s NAME    the automatic scheduler to use (the same as autoscheduler=NAME)
  -p NAME,…  plugins with automatic schedulers, which must be there
  -r NAME    write the run time alone, as files of this name (object, static_library)
  -t SECONDS stop after that time [0: never]
  -v 1       print the names of the files that are written
  -h         print this

A target is a string such as host, x86-64-linux-avx2 or arm-64-linux; by default what
HL_TARGET says, else this computer. Of several targets, the most demanding first, the
function chooses when it runs. PARAM is a GeneratorParam, NAME.type or NAME.dim of an
input or output that leaves it open, or autoscheduler.PARAM.
"""


@dataclass(slots=True)
class _Wanted:
    """What a command line asks for."""

    generator: str = ""
    function: str = ""
    folder: str = ""
    base: str = ""
    kinds: tuple[Kind, ...] = _DEFAULT
    scheduler: str = ""
    plugins: tuple[str, ...] = ()
    runtime: str = ""
    seconds: float = 0
    verbose: bool = False
    targets: tuple[Target, ...] = ()
    params: dict[str, str] = field(default_factory=dict)


def main() -> None:
    """Runs the command line of a file of Generators.

    Call it at the end of the file, under ``if __name__ == "__main__":``. ``python FILE
    -h`` lists the options. Ends the process with code 1 and a message if something is
    wrong.
    """
    place = here()
    try:
        run(sys.argv[1:])
    except HalideError as error:
        if error.at == place:
            # What is wrong is on the command line, not where it is read.
            error = HalideError(error.what, legal=error.legal, hint=error.hint)
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(1)


def run(words: Sequence[str]) -> list[str]:
    """Does what a command line says; the files written. Raises HalideError."""
    if any([word in ("-h", "-help", "--help") for word in words]):
        print(USAGE, end="")
        return []
    wanted = _read(words)
    for plugin in wanted.plugins:
        load_plugin(plugin)
    if not wanted.generator and not wanted.runtime:
        wanted.generator = _only_generator()
    if not wanted.folder:
        raise HalideError("no folder for the files is given", hint="-o FOLDER")
    stop = threading.Timer(wanted.seconds, _late, [wanted.seconds])
    stop.daemon = True
    if wanted.seconds:
        stop.start()
    try:
        Path(wanted.folder).mkdir(parents=True, exist_ok=True)
        files = _write_runtime(wanted) if wanted.runtime else []
        if wanted.generator:
            files += _write(wanted)
    except OSError as error:
        raise HalideError(f"a file cannot be written: {error}") from error
    finally:
        stop.cancel()
    if wanted.verbose:
        print("\n".join(files))
    return files


def _late(seconds: float) -> None:
    print(f"stopped after {seconds:g} seconds (-t)", file=sys.stderr, flush=True)
    os._exit(1)


def _only_generator() -> str:
    known = registered_generators()
    if len(known) == 1:
        return known[0]
    if not known:
        raise HalideError(
            "there is no Generator", hint="@hl.generator above a class makes one of it"
        )
    raise HalideError("which Generator is to run?", legal=[f"-g {n}" for n in known])


# Reading.


def _read(words: Sequence[str]) -> _Wanted:
    wanted = _Wanted()
    seen: set[str] = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            _read_param(word, wanted, seen)
            continue
        if len(word) != 2 or word[1] not in _OPTIONS:
            raise HalideError(f"there is no option {word}", hint="-h lists them")
        if not rest or (rest[0].startswith("-") and len(rest[0]) == 2):
            raise HalideError(
                f"the option {word} lacks its value", hint="-h lists them"
            )
        if word in seen:
            raise HalideError(f"the option {word} is given twice")
        seen.add(word)
        _read_option(word[1], rest.pop(0), wanted)
    return wanted


_OPTIONS = "defgnoprstv"


def _read_param(word: str, wanted: _Wanted, seen: set[str]) -> None:
    name, equals, value = word.partition("=")
    if not equals or not name:
        raise HalideError(f"{word!r} is neither an option nor PARAM=VALUE")
    if name in seen:
        raise HalideError(f"{name!r} is given twice")
    seen.add(name)
    if name == "target":
        wanted.targets = tuple([Target(one) for one in value.split(",")])
        for one in wanted.targets:
            if wanted.targets.count(one) > 1:
                raise HalideError(f"the target {one} is given twice")
    elif name in ("autoscheduler", "autoscheduler.name"):
        _choose_scheduler(value, wanted)
    else:
        wanted.params[name] = value


def _choose_scheduler(name: str, wanted: _Wanted) -> None:
    if wanted.scheduler not in ("", name):
        raise HalideError(
            f"two automatic schedulers are named, {wanted.scheduler!r} and {name!r}"
        )
    wanted.scheduler = name


def _read_option(letter: str, value: str, wanted: _Wanted) -> None:
    match letter:
        case "g":
            wanted.generator = value
        case "f":
            wanted.function = value
        case "o":
            wanted.folder = value
        case "n":
            wanted.base = value
        case "e":
            wanted.kinds = tuple([_kind(one) for one in _listed(value)]) or _DEFAULT
        case "s":
            _choose_scheduler(value, wanted)
        case "p":
            wanted.plugins = tuple(_listed(value))
        case "r":
            wanted.runtime = value
        case "t":
            wanted.seconds = _seconds(value)
        case "v":
            wanted.verbose = value != "0"
        case "d":
            if value != "0":
                raise HalideError("gradient modules (-d 1) are not available")


def _listed(value: str) -> list[str]:
    return [one.strip() for one in value.split(",") if one.strip()]


def _kind(name: str) -> Kind:
    found = [kind for kind in ENDINGS if kind.name == name]
    if not found:
        known = name in Kind.__members__
        raise HalideError(
            f"-e {name}: files of that kind are not built by Parhelion"
            if known
            else f"-e {name}: there are no files of that kind",
            legal=[kind.name for kind in ENDINGS],
        )
    return found[0]


def _seconds(value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = -1
    if not 0 <= found < 1e9:
        raise HalideError(f"-t {value}: write a number of seconds")
    return found


# Writing.


def _ending(kind: Kind, target: Target) -> str:
    windows = target.os is TargetOS.Windows
    return _ON_WINDOWS.get(kind, ENDINGS[kind]) if windows else ENDINGS[kind]


def _write_runtime(wanted: _Wanted) -> list[str]:
    target = wanted.targets[-1] if wanted.targets else get_target_from_environment()
    library = (Kind.object, Kind.static_library)
    kinds = [kind for kind in wanted.kinds if kind in library]
    if not kinds:
        raise HalideError(
            "the run time (-r) is written as an object file or a static library",
            hint="-e static_library",
        )
    prefix = Path(wanted.folder) / wanted.runtime
    files = {kind: f"{prefix}{_ending(kind, target)}" for kind in kinds}
    return list(compile_standalone_runtime(files, target).values())


#: What `-e schedule` writes where none was found, so that builds need not ask.
_NO_SCHEDULE = """\
# No automatic scheduler was asked: the schedule is that of the Generator.
# autoscheduler=Parhelion asks one.
"""


def _build(wanted: _Wanted, target: Target) -> Built:
    find_generator(wanted.generator)
    context = GeneratorContext(target, AutoschedulerParams(wanted.scheduler))
    with context:
        return find_generator(wanted.generator)(wanted.params)._built()


def _write(wanted: _Wanted) -> list[str]:
    function = wanted.function or wanted.generator
    prefix = str(Path(wanted.folder) / (wanted.base or function))
    target = (*wanted.targets, get_target_from_environment())[0]
    files = {kind: prefix + _ending(kind, target) for kind in wanted.kinds}
    if len(wanted.targets) > 1:
        return _write_choice(wanted, function, prefix, files)
    made = _build(wanted, target)
    rest: dict[Kind, str | os.PathLike[str]] = {**files}
    rest.pop(Kind.schedule, None)
    made.module(function, target).compile(rest)
    if Kind.schedule in files:
        Path(files[Kind.schedule]).write_text(made.schedule or _NO_SCHEDULE)
    return list(files.values())


def _write_choice(
    wanted: _Wanted, function: str, prefix: str, files: dict[Kind, str]
) -> list[str]:
    """The function for several targets, of which it chooses when it runs."""
    possible = (Kind.c_header, Kind.object, Kind.static_library)
    for kind in files:
        if kind not in possible:
            raise HalideError(
                f"-e {kind.name} is for one target; {len(wanted.targets)} are given",
                legal=[k.name for k in possible],
            )

    from parhelion.aot.archive import archive
    from parhelion.aot.header import header_text
    from parhelion.lang.multitarget import compiled_for

    def make(name: str, target: Target) -> Module:
        return _build(wanted, target).module(name, target)

    suffixes = ["_" + str(t).replace("-", "_") for t in wanted.targets]
    members, interface = compiled_for(make, function, wanted.targets, suffixes)
    written: list[str] = []
    for kind, path in files.items():
        if kind is Kind.c_header:
            text = header_text(interface, ", ".join(map(str, wanted.targets)))
            Path(path).write_text(text)
        elif kind is Kind.static_library:
            Path(path).write_bytes(archive(members))
        else:
            ends = [*["-" + str(t) for t in wanted.targets], ""]
            for member, end in zip(members, ends, strict=True):
                written.append(prefix + end + _ending(kind, wanted.targets[0]))
                Path(written[-1]).write_bytes(member.data)
            continue
        written.append(path)
    return written


__all__ = ["main", "run"]
