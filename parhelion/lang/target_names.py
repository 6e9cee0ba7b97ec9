"""The words of targets: systems, processors, what these have, and how code is made."""

from __future__ import annotations

import enum


class TargetOS(enum.Enum):
    """The operating systems of targets; the values are their names in target
    strings."""

    OSUnknown = "os_unknown"
    Linux = "linux"
    Windows = "windows"
    OSX = "osx"
    Android = "android"
    IOS = "ios"
    NoOS = "noos"
    wasmrt = "wasmrt"
    QuRT = "qurt"


class TargetArch(enum.Enum):
    """The processors of targets; the values are their names in target strings."""

    ArchUnknown = "arch_unknown"
    X86 = "x86"
    ARM = "arm"
    RISCV = "riscv"
    WebAssembly = "wasm"
    Hexagon = "hexagon"
    POWERPC = "powerpc"


class TargetFeature(enum.Enum):
    """What a processor has, or how code for it is made; the values are the names in
    target strings."""

    JIT = "jit"
    Debug = "debug"
    NoAsserts = "no_asserts"
    NoBoundsQuery = "no_bounds_query"
    NoRuntime = "no_runtime"
    UserContext = "user_context"
    Profile = "profile"
    StrictFloat = "strict_float"
    LargeBuffers = "large_buffers"
    SSE41 = "sse41"
    AVX = "avx"
    AVX2 = "avx2"
    F16C = "f16c"
    FMA = "fma"
    FMA4 = "fma4"
    AVX512 = "avx512"
    AVX512_KNL = "avx512_knl"
    AVX512_Skylake = "avx512_skylake"
    AVX512_Cannonlake = "avx512_cannonlake"
    AVX512_SapphireRapids = "avx512_sapphirerapids"
    AVX512_Zen4 = "avx512_zen4"
    AVX512_Zen5 = "avx512_zen5"
    AVXVNNI = "avxvnni"
    ARMv7s = "armv7s"
    ARMv8a = "armv8a"
    ARMv81a = "armv81a"
    ARMv82a = "armv82a"
    ARMv83a = "armv83a"
    ARMv84a = "armv84a"
    ARMv85a = "armv85a"
    ARMv86a = "armv86a"
    ARMv87a = "armv87a"
    ARMv88a = "armv88a"
    ARMv89a = "armv89a"
    NoNEON = "no_neon"
    RVV = "rvv"
    WasmSimd128 = "wasm_simd128"
    ARMDotProd = "arm_dot_prod"
    ARMFp16 = "arm_fp16"
    SVE = "sve"
    SVE2 = "sve2"
    CUDA = "cuda"
    CUDACapability30 = "cuda_capability_30"
    CUDACapability32 = "cuda_capability_32"
    CUDACapability35 = "cuda_capability_35"
    CUDACapability50 = "cuda_capability_50"
    CUDACapability61 = "cuda_capability_61"
    CUDACapability70 = "cuda_capability_70"
    CUDACapability75 = "cuda_capability_75"
    CUDACapability80 = "cuda_capability_80"
    CUDACapability86 = "cuda_capability_86"
    OpenCL = "opencl"
    Metal = "metal"
    Vulkan = "vulkan"
    WebGPU = "webgpu"
    D3D12Compute = "d3d12compute"
    EnableBacktraces = "enable_backtraces"
    VSX = "vsx"
    POWER_ARCH_2_07 = "power_arch_2_07"
    CLDoubles = "cl_doubles"
    CLHalf = "cl_half"
    CLAtomics64 = "cl_atomics64"
    EGL = "egl"
    CPlusPlusMangling = "c_plus_plus_name_mangling"
    HexagonDma = "hexagon_dma"
    HVX_128 = "hvx_128"
    HVX = "hvx"
    HVX_v62 = "hvx_v62"
    HVX_v65 = "hvx_v65"
    HVX_v66 = "hvx_v66"
    HVX_v68 = "hvx_v68"
    FuzzFloatStores = "fuzz_float_stores"
    SoftFloatABI = "soft_float_abi"
    MSAN = "msan"
    TraceLoads = "trace_loads"
    TraceStores = "trace_stores"
    TraceRealizations = "trace_realizations"
    TracePipeline = "trace_pipeline"
    TSAN = "tsan"
    ASAN = "asan"
    CheckUnsafePromises = "check_unsafe_promises"
    EmbedBitcode = "embed_bitcode"
    EnableLLVMLoopOpt = "enable_llvm_loop_opt"
    WasmMvpOnly = "wasm_mvponly"
    WasmThreads = "wasm_threads"
    WasmBulkMemory = "wasm_bulk_memory"
    LLVMLargeCodeModel = "llvm_large_code_model"
    SanitizerCoverage = "sanitizer_coverage"
    ProfileByTimer = "profile_by_timer"
    SPIRV = "spirv"
    VulkanInt8 = "vk_int8"
    VulkanInt16 = "vk_int16"
    VulkanInt64 = "vk_int64"
    VulkanFloat16 = "vk_float16"
    VulkanFloat64 = "vk_float64"
    VulkanV10 = "vk_v10"
    VulkanV12 = "vk_v12"
    VulkanV13 = "vk_v13"
    Semihosting = "semihosting"
    AVX10_1 = "avx10_1"
    X86APX = "x86apx"
    Simulator = "simulator"


class TargetProcessorTune(enum.Enum):
    """Whose processor code is tuned for; the values are the names in target strings.

    Code is tuned for the processor that a target's features say, so that only
    TuneGeneric is compiled for.
    """

    TuneGeneric = "tune_generic"
    TuneAMDFam10 = "tune_amdfam10"
    TuneBdVer1 = "tune_bdver1"
    TuneBdVer2 = "tune_bdver2"
    TuneBdVer3 = "tune_bdver3"
    TuneBdVer4 = "tune_bdver4"
    TuneBtVer1 = "tune_btver1"
    TuneBtVer2 = "tune_btver2"
    TuneK8 = "tune_k8"
    TuneK8_SSE3 = "tune_k8_sse3"
    TuneZnVer1 = "tune_znver1"
    TuneZnVer2 = "tune_znver2"
    TuneZnVer3 = "tune_znver3"
    TuneZnVer4 = "tune_znver4"
    TuneZnVer5 = "tune_znver5"


#: Features that a target may name, and that no code is made with.
UNMADE = frozenset(
    {
        TargetFeature.EnableBacktraces,
        TargetFeature.VSX,
        TargetFeature.POWER_ARCH_2_07,
        TargetFeature.CLDoubles,
        TargetFeature.CLHalf,
        TargetFeature.CLAtomics64,
        TargetFeature.EGL,
        TargetFeature.CPlusPlusMangling,
        TargetFeature.HexagonDma,
        TargetFeature.HVX_128,
        TargetFeature.HVX,
        TargetFeature.HVX_v62,
        TargetFeature.HVX_v65,
        TargetFeature.HVX_v66,
        TargetFeature.HVX_v68,
        TargetFeature.FuzzFloatStores,
        TargetFeature.SoftFloatABI,
        TargetFeature.MSAN,
        TargetFeature.TraceLoads,
        TargetFeature.TraceStores,
        TargetFeature.TraceRealizations,
        TargetFeature.TracePipeline,
        TargetFeature.TSAN,
        TargetFeature.ASAN,
        TargetFeature.CheckUnsafePromises,
        TargetFeature.EmbedBitcode,
        TargetFeature.EnableLLVMLoopOpt,
        TargetFeature.WasmMvpOnly,
        TargetFeature.WasmThreads,
        TargetFeature.WasmBulkMemory,
        TargetFeature.LLVMLargeCodeModel,
        TargetFeature.SanitizerCoverage,
        TargetFeature.ProfileByTimer,
        TargetFeature.SPIRV,
        TargetFeature.VulkanInt8,
        TargetFeature.VulkanInt16,
        TargetFeature.VulkanInt64,
        TargetFeature.VulkanFloat16,
        TargetFeature.VulkanFloat64,
        TargetFeature.VulkanV10,
        TargetFeature.VulkanV12,
        TargetFeature.VulkanV13,
        TargetFeature.Semihosting,
        TargetFeature.AVX10_1,
        TargetFeature.X86APX,
        TargetFeature.Simulator,
    }
)

__all__ = ["UNMADE", "TargetArch", "TargetFeature", "TargetOS", "TargetProcessorTune"]
