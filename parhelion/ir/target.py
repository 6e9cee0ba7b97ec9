"""What machine code is made for: the processor, its features and vector width."""

from __future__ import annotations

from collections.abc import Iterable

from parhelion.dataclass import dataclass
from parhelion.errors import HalideError
from parhelion.ir.tuning import Tuning, tuning_of
from parhelion.types import Type


@dataclass(frozen=True, slots=True)
class Target:
    """A machine to generate code for.

    triple, cpu, features: as LLVM spells them; `features` is the sorted tuple of
        those that are on.
    missing: what processors of that name may have and this one does not, as on a
        virtual machine that hides it.
    vector_bits: width of the widest registers that code should use.
    """

    triple: str
    cpu: str
    features: tuple[str, ...]
    vector_bits: int
    missing: tuple[str, ...] = ()

    def has(self, feature: str) -> bool:
        """Whether the machine has `feature` (LLVM's name: "avx2", "f16c", …)."""
        return feature in self.features

    @property
    def arch(self) -> str:
        """The first part of the triple: "x86_64", "aarch64", …"""
        return self.triple.split("-", 1)[0]

    def is_x86(self) -> bool:
        return self.arch in ("x86_64", "amd64")

    @property
    def fuses(self) -> bool:
        """Whether a product and a sum that are rounded once are one instruction."""
        if self.arch in ("aarch64", "arm64", "riscv64", "nvptx64"):
            return True
        return self.has("vfp4" if self.arch.startswith("arm") else "fma")

    @property
    def compares_signed(self) -> bool:
        """Whether vectors of 64-bit numbers are compared as signed ones only."""
        return self.is_x86() and not self.has("avx512f")

    @property
    def bits(self) -> int:
        """Of a pointer: 64 or 32."""
        narrow = ("i386", "i686", "arm", "riscv32", "wasm32")
        short = self.arch.startswith(narrow) and not self.arch.startswith("arm64")
        return 32 if short else 64

    def natural_vector_size(self, t: Type) -> int:
        """How many lanes of `t` fill one vector register."""
        return max(1, self.vector_bits // (8 * t.bytes()))

    @property
    def narrowest_masked(self) -> int:
        """The narrowest elements, in bits, for which a masked move is an instruction.

        AVX has them for 32 and 64 bits, AVX-512BW for bytes as well (as Bools are in
        memory); elsewhere LLVM makes each lane a branch of its own.
        """
        return 1 if self.has("avx512bw") else 32

    def gathers(self, width: int) -> bool:
        """Whether loads and stores of some lanes that lie anywhere are an instruction,
        for elements of so many bits.

        AVX-512 has them for 32 and 64 bits. AVX2 has such loads, which LLVM does not
        choose for most processors. Elsewhere LLVM makes each lane a branch of its own;
        so it does in kernels, where threads that branch take turns anyway.
        """
        if self.arch == "nvptx64":
            return True
        return self.has("avx512f") and width >= 32

    @property
    def dots_bytes(self) -> bool:
        """Whether four products of bytes are added to a number by one instruction, for
        registers of every size."""
        return self.is_x86() and self.has("avx512vnni") and self.has("avx512vl")

    @property
    def tuning(self) -> Tuning | None:
        """The measured sizes that passes ask for; None where nothing is known."""
        return tuning_of(self.arch)

    def feature_string(self) -> str:
        """The features as LLVM's target machine takes them."""
        # In this order, as LLVM takes what is built on a feature away with it.
        told = [f"-{f}" for f in self.missing] + [f"+{f}" for f in self.features]
        if self.arch.startswith("armv7") and not self.has("neon"):
            # The architecture's name alone stands for a processor that has it, and the
            # 32 registers that go with it.
            told = ["-neon", "-d32", *told]
        return ",".join(told)


def _vector_bits(arch: str, features: frozenset[str]) -> int:
    if arch.startswith("armv7") and "neon" not in features:
        return 32
    if arch not in ("x86_64", "amd64"):
        return 128
    if {"avx512bw", "avx512dq", "avx512vl"} <= features:
        return 512
    return 256 if "avx2" in features else 128


def make_target(
    triple: str, cpu: str, features: Iterable[str], missing: Iterable[str] = ()
) -> Target:
    """A target whose vector width follows from its features."""
    ordered = tuple(sorted(set(features)))
    arch = triple.split("-", 1)[0]
    bits = _vector_bits(arch, frozenset(ordered))
    return Target(triple, cpu, ordered, bits, tuple(sorted(set(missing))))


#: The plainest processor of each first part of a triple, and what code for it may use
#: in any case.
_PLAINEST: dict[str, tuple[str, tuple[str, ...]]] = {
    "x86_64": ("x86-64", ()),
    "i686": ("pentium4", ()),
    "aarch64": ("generic", ("neon",)),
    "arm64": ("generic", ("neon",)),
    # The linker keeps the run time of one object, for programs of others without NEON.
    "armv7": ("generic", ("vfp3d16", "dsp")),
    "armv7a": ("generic", ("vfp3d16", "dsp")),
    "armv7s": ("generic", ("vfp3d16", "dsp")),
    "riscv64": ("generic-rv64", ("m", "a", "f", "d", "c")),
    "wasm32": ("generic", ()),
    "nvptx64": ("sm_75", ("ptx63",)),
}

#: The GPUs that LLVM 22 and the drivers of today know, oldest first, each with the
#: first version of PTX that has it: newer drivers take older versions.
_GPUS = {
    75: 63,
    80: 70,
    86: 71,
    87: 74,
    89: 78,
    90: 78,
    100: 86,
    103: 88,
    120: 87,
    121: 88,
}


def plainest(triple: str) -> Target:
    """The least of the machines that run code for `triple`: what is made for it runs on
    all of them."""
    cpu, features = _PLAINEST[triple.split("-", 1)[0]]
    return make_target(triple, cpu, features)


def gpu_target(arch: str) -> Target:
    """The target of kernels for an NVIDIA GPU, as `arch` calls it: "sm_80".

    Code for one that is not known is made for the newest older one, as drivers compile
    it for what they find. Raises HalideError for one that is too old.
    """
    number = arch.removeprefix("sm_").rstrip("af")
    known = [n for n in _GPUS if number.isdecimal() and n <= int(number)]
    if not known:
        raise HalideError(
            f"there is no code for the GPU {arch!r}",
            legal=[f"sm_{n}" for n in _GPUS],
            hint="kernels need compute capability 7.5 (Turing) or newer",
        )
    cpu = max(known)
    return make_target("nvptx64-nvidia-cuda", f"sm_{cpu}", [f"ptx{_GPUS[cpu]}"])


def generic_target(vector_bits: int = 128) -> Target:
    """An x86-64 machine with the vector extensions of the given width, and no more:
    128 (SSE4.1), 256 (AVX2 and FMA) or 512 (AVX-512 of 2017)."""
    levels = {
        128: ("x86-64-v2", ("sse4.1", "sse4.2", "ssse3", "popcnt")),
        256: ("x86-64-v3", ("avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "sse4.1")),
        512: ("x86-64-v4", ("avx2", "fma", "f16c", "avx512f", "avx512bw", "sse4.1")),
    }
    if vector_bits not in levels:
        raise HalideError(
            f"there is no x86-64 level with {vector_bits}-bit vectors",
            legal=[str(bits) for bits in levels],
        )
    cpu, features = levels[vector_bits]
    return Target("x86_64-unknown-linux-gnu", cpu, tuple(sorted(features)), vector_bits)


__all__ = ["Target", "generic_target", "gpu_target", "make_target", "plainest"]
