"""What a `Target` is to code generation: a triple, a processor and its features.

Code for a named target uses what the target names, and what every processor that has
that also has (those of the level that LLVM calls by the processor's name), so that it
runs on all computers of that description. Only the target that is this computer's own,
in a process, gets what this computer has besides.
"""

from __future__ import annotations

from parhelion.codegen.target import named_device
from parhelion.errors import HalideError, here
from parhelion.ir.device import Device, device_of
from parhelion.ir.target import Target as Machine
from parhelion.ir.target import gpu_target, make_target, plainest
from parhelion.lang.target_api import (
    LLVM_FEATURES,
    Target,
    TargetArch,
    TargetFeature,
    TargetOS,
)

_F = TargetFeature

_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16")
_V3 = (*_V2, "avx", "avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl")
_CANNONLAKE = (*_V4, "avx512ifma", "avx512vbmi")
_SAPPHIRE = (*_CANNONLAKE, "avx512vbmi2", "avx512vnni", "avx512bitalg", "avx512bf16")
#: For each x86 level, the highest first: the feature that asks for it, the processor
#: that LLVM knows a level by that is no higher, and what there is for sure. No level is
#: a maker's processor, as others have what it has without all of its features.
_X86_LEVELS: tuple[tuple[TargetFeature, str, tuple[str, ...]], ...] = (
    (_F.AVX512_Zen5, "x86-64-v4", _SAPPHIRE),
    (_F.AVX512_SapphireRapids, "x86-64-v4", _SAPPHIRE),
    (_F.AVX512_Zen4, "x86-64-v4", _SAPPHIRE),
    (_F.AVX512_Cannonlake, "x86-64-v4", _CANNONLAKE),
    (_F.AVX512_Skylake, "x86-64-v4", _V4),
    (_F.AVX512_KNL, "x86-64-v3", (*_V3, "avx512f", "avx512cd")),
    (_F.AVX2, "x86-64-v3", _V3),
    (_F.AVX, "x86-64-v2", (*_V2, "avx")),
    (_F.SSE41, "x86-64", ("sse3", "ssse3", "sse4.1")),
)

#: The compute capability that each feature names, in tenths.
_CAPABILITIES: dict[TargetFeature, int] = {
    _F.CUDACapability30: 30,
    _F.CUDACapability32: 32,
    _F.CUDACapability35: 35,
    _F.CUDACapability50: 50,
    _F.CUDACapability61: 61,
    _F.CUDACapability70: 70,
    _F.CUDACapability75: 75,
    _F.CUDACapability80: 80,
    _F.CUDACapability86: 86,
}

_LINUX = {
    (TargetArch.X86, 64): "x86_64-unknown-linux-gnu",
    (TargetArch.X86, 32): "i686-unknown-linux-gnu",
    (TargetArch.ARM, 64): "aarch64-unknown-linux-gnu",
    (TargetArch.ARM, 32): "armv7a-unknown-linux-gnueabihf",
    (TargetArch.RISCV, 64): "riscv64-unknown-linux-gnu",
}
_BARE = {
    (TargetArch.X86, 64): "x86_64-unknown-none-elf",
    (TargetArch.X86, 32): "i686-unknown-none-elf",
    (TargetArch.ARM, 64): "aarch64-unknown-none-elf",
    (TargetArch.ARM, 32): "armv7a-unknown-none-eabihf",
    (TargetArch.RISCV, 64): "riscv64-unknown-none-elf",
    (TargetArch.WebAssembly, 32): "wasm32-unknown-unknown",
}
#: LLVM's names of what each system is on.
_TRIPLES: dict[TargetOS, dict[tuple[TargetArch, int], str]] = {
    TargetOS.Linux: _LINUX,
    TargetOS.NoOS: _BARE,
    TargetOS.Android: {
        (TargetArch.X86, 64): "x86_64-unknown-linux-android",
        (TargetArch.X86, 32): "i686-unknown-linux-android",
        (TargetArch.ARM, 64): "aarch64-unknown-linux-android",
        (TargetArch.ARM, 32): "armv7a-unknown-linux-androideabi",
    },
    TargetOS.Windows: {
        (TargetArch.X86, 64): "x86_64-pc-windows-msvc",
        (TargetArch.X86, 32): "i686-pc-windows-msvc",
        (TargetArch.ARM, 64): "aarch64-pc-windows-msvc",
    },
    TargetOS.OSX: {
        (TargetArch.X86, 64): "x86_64-apple-macosx",
        (TargetArch.ARM, 64): "arm64-apple-macosx",
    },
    TargetOS.IOS: {
        (TargetArch.ARM, 64): "arm64-apple-ios",
        (TargetArch.ARM, 32): "armv7-apple-ios",
    },
    TargetOS.wasmrt: {(TargetArch.WebAssembly, 32): "wasm32-unknown-unknown"},
}


def device_named_by(target: Target) -> Device | None:
    """What kernels of ahead-of-time code for `target` are made for: the GPU that the
    environment or the target's newest CUDACapability names, else any that there is code
    for. None for a target without CUDA, unless PARHELION_GPU names something.

    Raises HalideError for a GPU that is too old.
    """
    named = named_device()
    if named is not None or not target.has_feature(_F.CUDA):
        return named
    capable = _capability(target)
    return device_of(gpu_target(f"sm_{75 if capable is None else capable}").cpu)


def gpu_of(target: Target) -> Device:
    """The limits of the GPU that schedules for a target are found for: that of its
    newest CUDACapability, whose blocks may share more than the 48 KiB of any GPU; else
    those that any GPU has, and a simulation of one."""
    capable = _capability(target)
    return Device("sm_80") if capable is None else device_of(f"sm_{capable}")


def _capability(target: Target) -> int | None:
    """The newest CUDACapability that a target has."""
    capable = [n for f, n in _CAPABILITIES.items() if target.has_feature(f)]
    return max(capable, default=None)


def machine_of(target: Target) -> Machine:
    """The machine that ahead-of-time code for `target` is made for.

    Raises HalideError for a target that no code can be made for.
    """
    kind = (target.arch, target.bits)
    triple = _TRIPLES.get(target.os, {}).get(kind)
    if triple is None:
        raise HalideError(
            f"code for {target} cannot be made",
            at=here(),
            legal=[
                f"{arch.value}-{bits}-{system.value}"
                for system, known in _TRIPLES.items()
                for arch, bits in known
            ],
        )
    if target.has_feature(TargetFeature.ARMv7s):
        triple = triple.replace("armv7-", "armv7s-", 1)
    plain = plainest(triple)
    cpu, features = plain.cpu, set(plain.features)
    if target.arch is TargetArch.X86:
        for asked, name, has in _X86_LEVELS:
            if target.has_feature(asked):
                cpu = name
                features.update(has)
                break
    for feature, names in LLVM_FEATURES.items():
        if target.has_feature(feature):
            features.update(names)
    if target.arch is TargetArch.ARM:
        if target.has_feature(TargetFeature.NoNEON):
            features.discard("neon")
        elif target.bits == 32:
            features.update(("neon", "vfp3"))
    return make_target(triple, cpu, tuple(features))


__all__ = ["gpu_of", "machine_of"]
