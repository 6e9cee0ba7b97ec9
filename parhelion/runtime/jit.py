"""LLVM text to machine code in this process.

Each compiled module is a library of its own in an LLVM JIT (ORC with JITLink), unloaded
when its `Compiled` dies. Measured on LLVM 22: loading an object takes 0.3 ms this way,
1.1 ms with an MCJIT engine per module, and linking within 2 GB is never a question. Of
a library that is unloaded LLVM keeps about 9 KiB, as long as the JIT lives; so a JIT
takes a number of libraries, and goes with the last of them.

llvmlite is imported by the first compilation, not by `import parhelion`.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from parhelion.codegen.target import host_target
from parhelion.dataclass import dataclass
from parhelion.errors import InternalError
from parhelion.ir import progress
from parhelion.ir.target import Target, generic_target
from parhelion.runtime import faults, helpers
from parhelion.runtime.after_fork import LLVM, freed_by_forks

if TYPE_CHECKING:
    import llvmlite.binding as llvm

#: LLVM is used by one thread at a time.
LOCK = threading.RLock()
freed_by_forks(LOCK, LLVM)
_NUMBER = itertools.count()


@dataclass(slots=True)
class CompileTimes:
    """Seconds that the parts of one compilation took."""

    parse: float = 0.0
    optimise: float = 0.0
    emit: float = 0.0
    load: float = 0.0

    def total(self) -> float:
        return self.parse + self.optimise + self.emit + self.load


@cache
def binding() -> Any:
    """llvmlite's binding, made ready for this computer."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # For the few instructions that have no name in LLVM's language (`aot.choose`).
    llvm.initialize_native_asmparser()
    # The generated code calls libm; ORC finds it among the global symbols.
    ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)
    return llvm


@cache
def target_machine(target: Target, level: int = 2) -> llvm.TargetMachine:
    """Code generation for `target`: position independent, optimisation level 2.

    Level 3 adds no pass that generated code was seen to gain from.
    """
    llvm = binding()
    if target.arch != host_target().arch:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(target.triple)
    return machine.create_target_machine(
        cpu=target.cpu,
        features=target.feature_string(),
        opt=level,
        reloc="pic",
        codemodel="small",
    )


#: How many libraries one JIT takes.
_LIBRARIES = 64


class _Engine:
    """A JIT, held by its libraries, and for `left` more. The interpreter's exit leaves
    it alone: threads may stand in its code."""

    def __init__(self) -> None:
        self.llvm = binding().create_lljit_compiler(
            target_machine(host_target()), use_jit_link=True
        )
        self.llvm._owned = True  # it does not go when Python lets go of it
        self.left = _LIBRARIES
        weakref.finalize(self, _dispose, self.llvm).atexit = False


def _dispose(engine: Any) -> None:
    engine._owned = False
    engine.close()


_engine: _Engine | None = None


def _current() -> _Engine:
    """The JIT for the next library. Call it while LOCK is held."""
    global _engine
    if _engine is None or _engine.left == 0:
        _engine = _Engine()
    _engine.left -= 1
    return _engine


#: Libraries that stay loaded.
_KEPT: list[Any] = []


def keep(library: Any) -> None:
    """Keeps a library loaded until the process ends, even after LLVM is gone."""
    library.detach()
    _KEPT.append(library)


def new_context() -> Any:
    """A context for modules that are to be linked with each other."""
    return binding().create_context()


def parse(text: str, context: Any = None) -> Any:
    """A module, verified. Raises InternalError if LLVM refuses the text."""
    llvm = binding()
    context = context or new_context()
    try:
        module = llvm.parse_assembly(text, context)
        module.verify()
    except RuntimeError as error:
        raise InternalError(
            "internal error: LLVM refuses the generated code", detail=str(error)
        ) from error
    return module


def optimise(module: Any, target: Target) -> None:
    """The few passes that pay for themselves on code that comes simplified.

    Measured over twelve schedules of four applications (22,000 lines of LLVM text,
    one core): no pass at all leaves 1.3 to 1.6 s for the code generator; these three
    take 0.07 s and leave 1.0 s. LLVM's own pipelines take 0.56 s (O1) to 0.87 s (O3)
    more and leave 1.2 s. Run times are the same within 5 %, whichever is chosen.
    `sroa` is for small arrays on the stack whose indices became constant.
    """
    llvm = binding()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(target_machine(target), tuning)
    # Of all functions at once: each run leaves callbacks in the builder that refer to
    # what is gone after it, and they are never freed (8 KiB).
    passes = llvm.create_new_module_pass_manager()
    # Of functions that say so, which stand for code with branches inside a value.
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def optimised_text(text: str, target: Target | None = None) -> str:
    """LLVM text after the optimiser (for this computer unless told otherwise)."""
    target = target or host_target()
    with LOCK:
        module = parse(text)
        optimise(module, target)
        return str(module)


def emit_object(module: Any, target: Target, level: int = 2) -> bytes:
    """The object file that an optimised module becomes, without the instructions that
    LLVM is known to choose wrong (see `faults`)."""
    machine = target_machine(target, level)
    code = bytes(machine.emit_object(module))
    if not target.has("avx512f") or not faults.suspected(code):
        return code
    mended = _mended(module, target, level)
    return code if mended is None else bytes(machine.emit_object(parse(mended)))


def emit_assembly(module: Any, target: Target) -> str:
    """The assembly that an optimised module becomes, as `emit_object`."""
    machine = target_machine(target)
    text = str(machine.emit_assembly(module))
    if not target.has("avx512f") or not (_faulty(text) or faults.stale_mask(text)):
        return text
    mended = _mended(module, target, 2)
    return text if mended is None else str(machine.emit_assembly(parse(mended)))


def _mended(module: Any, target: Target, level: int) -> str | None:
    """A module's text with fences that keep LLVM from the instructions that it chooses
    wrong; None if it chooses none."""
    machine = target_machine(target, level)
    found = str(machine.emit_assembly(module))
    if not _faulty(found) and not faults.stale_mask(found):
        return None
    for everywhere in (False, True):
        text = faults.rewritten(str(module), everywhere)
        if not _faulty(str(machine.emit_assembly(parse(text)))):
            return text
    raise InternalError(
        "internal error: LLVM chooses instructions that it is known to encode wrong, "
        "however they are written",
        detail=text,
    )


def _faulty(assembly: str) -> bool:
    """Whether assembly has instructions that LLVM has chosen wrong."""
    if faults.move_mask(assembly):
        return True
    return faults.ternary(assembly) and not _ternary_mended()


@cache
def _ternary_mended() -> bool:
    """Whether the loaded LLVM gets masked vpternlogs right: asked of it at the first
    module that has one, so that no other pays."""
    machine = target_machine(generic_target(512))
    return faults.ternary_mended(lambda probe: str(machine.emit_assembly(parse(probe))))


def assembly_text(text: str, target: Target | None = None) -> str:
    """The assembly that LLVM text becomes."""
    target = target or host_target()
    with LOCK:
        module = parse(text)
        optimise(module, target)
        return emit_assembly(module, target)


def object_code(
    text: str,
    target: Target | None = None,
    times: CompileTimes | None = None,
    level: int = 2,
) -> bytes:
    """The relocatable object file (ELF) that LLVM text becomes.

    level: how hard the code generator tries, 0 to 3.
    """
    return made_object(text, target or host_target(), times or CompileTimes(), level)[0]


def made_object(
    text: str, target: Target, times: CompileTimes, level: int = 2
) -> tuple[bytes, frozenset[str]]:
    """The object file, and the helpers that it calls."""
    progress.step("LLVM")
    with LOCK:
        start = time.perf_counter()
        module = parse(text)
        parsed = time.perf_counter()
        optimise(module, target)
        optimised = time.perf_counter()
        called = helpers.called(module)
        code = emit_object(module, target, level)
        times.parse = parsed - start
        times.optimise = optimised - parsed
        times.emit = time.perf_counter() - optimised
    return code, called


def load(
    code: bytes, exports: tuple[str, ...], imports: Mapping[str, int]
) -> tuple[Any, dict[str, int]]:
    """Links an object file into this process.

    Returns a library, which unloads the code when it dies, and the addresses of the
    `exports`. `imports` are addresses of symbols that libc and libm do not have.
    """
    with LOCK:
        llvm = binding()
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        engine = _current()
        try:
            library = builder.link(engine.llvm, f"ph{next(_NUMBER)}")
        except RuntimeError as error:
            raise InternalError(
                "internal error: the compiled code does not link", detail=str(error)
            ) from error
        library.engine = engine
        return library, {name: library[name] for name in exports}


def load_kept(
    name: str,
    exports: tuple[str, ...],
    make: Callable[[], bytes],
    imports: Mapping[str, int] | None = None,
) -> tuple[Any, dict[str, int]]:
    """As `load`, of the object file that the persistent cache has under a name. Where
    it has none that can be linked, `make` makes it, and it is kept."""
    from parhelion.runtime import cache

    imports = imports or {}
    code = cache.load(name)
    if code is not None and is_object(code):
        try:
            return load(code, exports, imports)
        except InternalError:
            cache.discard(name)  # it is not what was stored
    code = make()
    cache.store(name, code)
    return load(code, exports, imports)


def is_object(code: bytes) -> bool:
    """Whether bytes look like an object file (LLVM ends the process for some that do
    not)."""
    return code.startswith(b"\x7fELF")
