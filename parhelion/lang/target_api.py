"""`Target`: the machine to compile for, by Halide's names.

``hl.get_host_target()`` is this computer. Pipelines that run in this process are
always compiled for it, and a target of another processor or system is refused; of a
given target's features, or those of ``HL_JIT_TARGET``, `strict_float` and `profile` are
honoured.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable

from parhelion.codegen.target import host_target
from parhelion.errors import HalideError, TypeMismatchError, here
from parhelion.ir.target import Target as Machine
from parhelion.lang.convert import TypeLike, check_type
from parhelion.lang.target_names import UNMADE
from parhelion.lang.target_names import TargetArch as TargetArch
from parhelion.lang.target_names import TargetFeature as TargetFeature
from parhelion.lang.target_names import TargetOS as TargetOS
from parhelion.lang.target_names import TargetProcessorTune as TargetProcessorTune
from parhelion.runtime.program import PLAIN, Options
from parhelion.schedule.directives import DeviceAPI

_ZEN4 = ("avx512vnni", "avx512bf16", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq")
#: LLVM's names of the features that a target string may list.
LLVM_FEATURES: dict[TargetFeature, tuple[str, ...]] = {
    TargetFeature.SSE41: ("sse4.1",),
    TargetFeature.AVX: ("avx",),
    TargetFeature.AVX2: ("avx2",),
    TargetFeature.F16C: ("f16c",),
    TargetFeature.FMA: ("fma",),
    TargetFeature.FMA4: ("fma4",),
    TargetFeature.AVX512: ("avx512f", "avx512cd"),
    TargetFeature.AVX512_Skylake: ("avx512f", "avx512bw", "avx512dq", "avx512vl"),
    TargetFeature.AVX512_Cannonlake: ("avx512ifma", "avx512vbmi"),
    TargetFeature.AVX512_SapphireRapids: ("avx512vnni", "avx512bf16", "avxvnni"),
    TargetFeature.AVX512_Zen4: _ZEN4,
    TargetFeature.AVX512_Zen5: (*_ZEN4, "avx512vp2intersect", "avxvnni"),
    TargetFeature.AVXVNNI: ("avxvnni",),
    TargetFeature.ARMDotProd: ("dotprod",),
    TargetFeature.ARMFp16: ("fullfp16",),
    TargetFeature.SVE: ("sve",),
    TargetFeature.SVE2: ("sve2",),
    TargetFeature.ARMv8a: ("v8a",),
    TargetFeature.ARMv81a: ("v8.1a",),
    TargetFeature.ARMv82a: ("v8.2a",),
    TargetFeature.ARMv83a: ("v8.3a",),
    TargetFeature.ARMv84a: ("v8.4a",),
    TargetFeature.ARMv85a: ("v8.5a",),
    TargetFeature.ARMv86a: ("v8.6a",),
    TargetFeature.ARMv87a: ("v8.7a",),
    TargetFeature.ARMv88a: ("v8.8a",),
    TargetFeature.ARMv89a: ("v8.9a",),
    TargetFeature.RVV: ("v",),
    TargetFeature.WasmSimd128: ("simd128",),
}

#: The features that stand for all instructions of one maker's processors, and how
#: LLVM's names of those begin. Halide makes code from them with instructions that no
#: list here has, so that another maker's processor is not given the name.
_MAKERS: dict[TargetFeature, tuple[str, ...]] = {
    TargetFeature.AVX512_SapphireRapids: ("sapphirerapids", "emerald", "granite"),
    TargetFeature.AVX512_Zen4: ("znver",),
    TargetFeature.AVX512_Zen5: ("znver",),
}

#: What a target has one of that runs kernels.
_GPUS = frozenset(
    {
        TargetFeature.CUDA,
        TargetFeature.OpenCL,
        TargetFeature.Metal,
        TargetFeature.Vulkan,
        TargetFeature.WebGPU,
        TargetFeature.D3D12Compute,
    }
)

#: The architecture of each feature that only one has.
_OWNERS: dict[TargetFeature, TargetArch] = {
    feature: arch
    for arch, names in {
        TargetArch.X86: "SSE41 AVX AVX2 F16C FMA FMA4 AVX512 AVX512_KNL AVX512_Skylake "
        "AVX512_Cannonlake AVX512_SapphireRapids AVX512_Zen4 AVX512_Zen5 AVXVNNI "
        "AVX10_1 X86APX",
        TargetArch.ARM: "ARMv7s ARMv8a ARMv81a ARMv82a ARMv83a ARMv84a ARMv85a ARMv86a "
        "ARMv87a ARMv88a ARMv89a NoNEON ARMDotProd ARMFp16 SVE SVE2",
        TargetArch.RISCV: "RVV",
        TargetArch.WebAssembly: "WasmSimd128 WasmMvpOnly WasmThreads WasmBulkMemory",
        TargetArch.POWERPC: "VSX POWER_ARCH_2_07",
    }.items()
    for feature in [TargetFeature[name] for name in names.split()]
}

_FEATURES = {f.value: f for f in TargetFeature}
_ARCHES = {a.value: a for a in TargetArch}
_SYSTEMS = {s.value: s for s in TargetOS}
_TUNED = {t.value: t for t in TargetProcessorTune}


class Target:
    """What code is compiled for: a processor, an operating system and features.

    ``Target("x86-64-linux-avx2")`` is ``Target(TargetOS.Linux, TargetArch.X86, 64,
    [TargetFeature.AVX2])``. ``Target("host")`` is this computer, and features may
    follow: ``"host-strict_float"``. ``Target()`` is unknown.

    Raises HalideError for a text that cannot be read and for features of another
    processor, and TypeMismatchError for arguments of other kinds.

    >>> hl.Target("arm-64-linux-sve").has_feature(hl.TargetFeature.SVE)
    True
    """

    __slots__ = ("_features", "arch", "bits", "os", "processor_tune")

    def __init__(
        self,
        os: str | TargetOS = TargetOS.OSUnknown,
        arch: TargetArch = TargetArch.ArchUnknown,
        bits: int = 0,
        processor_tune: TargetProcessorTune
        | Iterable[TargetFeature] = TargetProcessorTune.TuneGeneric,
        features: Iterable[TargetFeature] = (),
    ) -> None:
        """The features may stand in the place of `processor_tune`, too.

        Raises TypeMismatchError for what is none of these, and HalideError for a
        text that cannot be read, and for features of another architecture."""
        if not isinstance(processor_tune, TargetProcessorTune):
            features = (*processor_tune, *features)
            processor_tune = TargetProcessorTune.TuneGeneric
        self.processor_tune = processor_tune
        asked = tuple(features)
        for given, kind, what in (
            (os, str | TargetOS, "is written as a string, or begins with a TargetOS"),
            (arch, TargetArch, "has a TargetArch"),
            (bits, int, "has a number of bits"),
            *[(f, TargetFeature, "has TargetFeatures") for f in asked],
        ):
            if not isinstance(given, kind):
                raise TypeMismatchError(
                    f"a target {what}, not {given!r:.60}", at=here()
                )
        self._features: frozenset[TargetFeature] = frozenset(asked)
        if isinstance(os, str):
            self._parse(os)
        else:
            self.os, self.arch, self.bits = os, arch, bits
        self._check_features()

    def _check_features(self) -> None:
        """Raises HalideError if a feature is one of another architecture."""
        for feature in sorted(self._features, key=lambda f: f.value):
            owner = _OWNERS.get(feature)
            unknown = self.arch is TargetArch.ArchUnknown
            if owner not in (None, self.arch) and not unknown:
                assert owner is not None
                raise HalideError(
                    f"the feature {feature.value} is of {owner.value} processors, and "
                    f"the target is {self.arch.value}",
                    at=here(),
                )

    def _parse(self, text: str) -> None:
        self.os, self.arch, self.bits = TargetOS.OSUnknown, TargetArch.ArchUnknown, 0
        before: dict[str, str] = {}

        def once(what: str, part: str) -> None:
            if what in before:
                raise HalideError(
                    f"the target {text!r} has two {what}, {before[what]!r} and "
                    f"{part!r}",
                    at=here(),
                )
            before[what] = part

        for i, part in enumerate(text.split("-")):
            if part == "host" and i == 0:
                host = get_host_target()
                self.os, self.arch, self.bits = host.os, host.arch, host.bits
                self._features |= host._features
            elif part in _ARCHES:
                once("architectures", part)
                self.arch = _ARCHES[part]
            elif part in _SYSTEMS:
                once("operating systems", part)
                self.os = _SYSTEMS[part]
            elif part in ("32", "64"):
                once("numbers of bits", part)
                self.bits = int(part)
            elif part in _TUNED:
                once("processors to tune for", part)
                self.processor_tune = _TUNED[part]
            elif part in _FEATURES:
                self._features |= {_FEATURES[part]}
            else:
                raise HalideError(
                    f"the target {text!r} has the unknown part {part!r}",
                    at=here(),
                    legal=["host", *_ARCHES, "32", "64", *_SYSTEMS, *_FEATURES],
                )

    @staticmethod
    def validate_target_string(name: str) -> bool:
        """Returns whether `name` can be read as a target."""
        try:
            Target(name)
        except HalideError:
            return False
        return True

    def has_feature(self, feature: TargetFeature) -> bool:
        """Returns whether the target has a feature.

        Raises TypeMismatchError for what is no TargetFeature.
        """
        if not isinstance(feature, TargetFeature):
            raise TypeMismatchError(
                f"a feature is a TargetFeature, not {feature!r:.60}", at=here()
            )
        return feature in self._features

    def features_any_of(self, features: Iterable[TargetFeature]) -> bool:
        """Returns whether the target has at least one of the features."""
        return not self._features.isdisjoint(features)

    def features_all_of(self, features: Iterable[TargetFeature]) -> bool:
        """Returns whether the target has all of the features."""
        return self._features.issuperset(features)

    def set_feature(self, feature: TargetFeature, value: bool = True) -> None:
        """Adds a feature, or takes it away if `value` is False."""
        one = {feature}
        self._features = self._features | one if value else self._features - one

    def set_features(
        self, features: Iterable[TargetFeature], value: bool = True
    ) -> None:
        """Adds features, or takes them away if `value` is False."""
        for f in features:
            self.set_feature(f, value)

    def with_feature(self, feature: TargetFeature) -> Target:
        """Returns a copy that has the feature."""
        return self._with(self._features | {feature})

    def without_feature(self, feature: TargetFeature) -> Target:
        """Returns a copy that lacks the feature."""
        return self._with(self._features - {feature})

    def _with(self, features: Iterable[TargetFeature]) -> Target:
        return Target(self.os, self.arch, self.bits, self.processor_tune, features)

    def has_gpu_feature(self) -> bool:
        """Returns whether the target has a GPU, for `Func.gpu_tile`."""
        return self.features_any_of(_GPUS)

    def supports_device_api(self, device: DeviceAPI) -> bool:
        """Returns whether the target has what runs the code of a DeviceAPI.

        >>> hl.Target("x86-64-linux-cuda").supports_device_api(hl.DeviceAPI.CUDA)
        True
        """
        if device in (DeviceAPI.None_, DeviceAPI.Host):
            return True
        if device is DeviceAPI.Default_GPU:
            return self.has_gpu_feature()
        return self.has_feature(target_feature_for_device_api(device))

    def supports_type(
        self, type: TypeLike, device: DeviceAPI = DeviceAPI.Default_GPU
    ) -> bool:
        """Returns whether a device computes with values of a type; without a device,
        whether all that the target has do.

        On CPUs and with CUDA all types are computed with.
        """
        type = check_type(type, "a device computes with")
        if device is DeviceAPI.Default_GPU:
            return not self.features_any_of(_GPUS - {TargetFeature.CUDA}) or (
                type.width < 64
            )
        return self.supports_device_api(device)

    def has_large_buffers(self) -> bool:
        """Returns whether Buffers may have more than 2**31 - 1 elements: on 64 bits."""
        return self.bits == 64

    def maximum_buffer_size(self) -> int:
        """Returns the largest size of a Buffer in bytes."""
        return 2**63 - 1 if self.bits == 64 else 2**31 - 1

    def natural_vector_size(self, type: TypeLike) -> int:
        """Returns how many lanes of a type fill one vector register.

        >>> hl.Target("x86-64-linux-avx2").natural_vector_size(hl.UInt(8))
        32
        """
        type = check_type(type, "a vector has")
        bits = 128
        if self.arch is TargetArch.X86:
            wide = (TargetFeature.AVX512_Skylake, TargetFeature.AVX512)
            if self.features_any_of(wide):
                bits = 512
            elif self.has_feature(
                TargetFeature.AVX if type.is_float() else TargetFeature.AVX2
            ):
                bits = 256
        return max(1, bits // (8 * type.bytes()))

    def supported(self) -> bool:
        """Returns whether code for this processor can be made and run here."""
        return self.arch is get_host_target().arch

    def to_string(self) -> str:
        """Returns the text that ``Target(text)`` reads."""
        parts = [self.arch.value]
        if self.bits:
            parts.append(str(self.bits))
        parts.append(self.os.value)
        if self.processor_tune is not TargetProcessorTune.TuneGeneric:
            parts.append(self.processor_tune.value)
        return "-".join(parts + sorted(f.value for f in self._features))

    def __str__(self) -> str:
        return self.to_string()

    def __repr__(self) -> str:
        return f"<parhelion.Target {self.to_string()}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Target):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[object, ...]:
        return self.os, self.arch, self.bits, self.processor_tune, self._features


def get_host_target() -> Target:
    """Returns the target that is this computer.

    >>> hl.get_host_target().supported()
    True
    """
    return Target(*_described(host_target()))


@functools.cache
def _described(
    host: Machine,
) -> tuple[TargetOS, TargetArch, int, tuple[TargetFeature, ...]]:
    """A computer as Targets describe it. It is kept, as every schedule asks for it and
    the names of the features take longer to find than a Func to build."""
    import platform  # only here: it takes longer than the rest of this module

    arch = TargetArch.ARM if host.arch in ("aarch64", "arm64") else TargetArch.X86
    system = {"Linux": TargetOS.Linux, "Darwin": TargetOS.OSX}
    features = [
        f
        for f, names in LLVM_FEATURES.items()
        if all([host.has(n) for n in names]) and host.cpu.startswith(_MAKERS.get(f, ""))
    ]
    found = system.get(platform.system(), TargetOS.OSUnknown)
    return found, arch, 64, tuple(features)


def target_feature_for_device_api(api: DeviceAPI) -> TargetFeature:
    """Returns the feature of targets that have what runs the code of a DeviceAPI.

    Raises HalideError where there is none, as for DeviceAPI.Host. (Halide returns the
    number of its features then.)

    >>> hl.target_feature_for_device_api(hl.DeviceAPI.CUDA)
    <TargetFeature.CUDA: 'cuda'>
    """
    if api is not DeviceAPI.CUDA:
        raise HalideError(
            f"no feature of targets stands for {api}",
            at=here(),
            legal=["DeviceAPI.CUDA"],
        )
    return TargetFeature.CUDA


def host_supports_target_device(target: Target) -> bool:
    """Returns whether code for `target` runs here.

    Its processor must be this one. If it has the feature CUDA, there must be a driver
    and a GPU of NVIDIA's, or kernels must be run on the CPU (PARHELION_GPU=simulate in
    the environment). For other GPUs there are no kernels.

    >>> hl.host_supports_target_device(hl.get_host_target())
    True
    """
    if not target.supported() or target.features_any_of(_GPUS - {TargetFeature.CUDA}):
        return False
    if not target.has_feature(TargetFeature.CUDA):
        return True
    if os.environ.get("PARHELION_GPU") == "simulate":
        return True
    from parhelion.runtime.cuda_driver import driver

    return driver().chosen() is not None


def get_target_from_environment() -> Target:
    """Returns the target that ``HL_TARGET`` names in the environment, else this
    computer.

    Raises HalideError for a text that cannot be read.

    >>> hl.get_target_from_environment().bits
    64
    """
    return Target(os.environ.get("HL_TARGET") or "host")


def get_jit_target_from_environment() -> Target:
    """Returns the target that ``HL_JIT_TARGET`` names in the environment, else this
    computer; with the feature JIT.

    Raises HalideError for a text that cannot be read.

    >>> hl.get_jit_target_from_environment().has_feature(hl.TargetFeature.JIT)
    True
    """
    found = Target(os.environ.get("HL_JIT_TARGET") or "host")
    return found.with_feature(TargetFeature.JIT)


def check_target(target: object) -> None:
    """Raises TypeMismatchError for what is no Target."""
    if not isinstance(target, Target):
        meant = f"hl.Target({target!r})" if isinstance(target, str) else ""
        raise TypeMismatchError(
            f"a target is a Target, not {target!r:.60}", at=here(), hint=meant
        )
    unmade = sorted(f.value for f in target._features & UNMADE)
    if target.processor_tune is not TargetProcessorTune.TuneGeneric:
        unmade.append(target.processor_tune.value)
    if unmade:
        raise HalideError(
            f"no code is made for targets with {unmade[0]}, as {target} has it",
            at=here(),
            hint="leave it out: Target.without_feature",
        )


def strict(target: Target | None) -> bool:
    """Whether code for `target` rounds every float operation by itself."""
    return target is not None and target.has_feature(TargetFeature.StrictFloat)


def options(target: Target | None) -> Options:
    """What `target` asks of code that runs in this process; if it is None, what the
    environment's ``HL_JIT_TARGET`` does."""
    if target is None:
        if not os.environ.get("HL_JIT_TARGET"):
            return PLAIN
        target = get_jit_target_from_environment()
    check_target(target)
    _check_runs_here(target)
    return Options(strict(target), target.has_feature(TargetFeature.Profile))


def _check_runs_here(target: Target) -> None:
    """Raises HalideError for code that is asked for of another processor or system than
    this one's. What a target leaves open is this computer's."""
    host = get_host_target()
    parts = (
        (target.arch, TargetArch.ArchUnknown, host.arch),
        (target.bits, 0, host.bits),
        (target.os, TargetOS.OSUnknown, host.os),
    )
    if any(wanted not in (unknown, here_is) for wanted, unknown, here_is in parts):
        asked, own = (Target(t.os, t.arch, t.bits) for t in (target, host))
        raise HalideError(
            f"code for {asked} does not run on this computer, which is {own}",
            at=here(),
            hint="compile_to_file and its kin write code for other targets; what runs"
            " here is for hl.get_host_target()",
        )
