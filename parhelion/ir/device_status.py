"""What devices report: a status that says what went wrong, as a number and a sentence.

The functions of the run time that deal with devices return one, 0 if all is well: its
low byte is a `Kind`, the bits above are the driver's own number, 0 if it has said none.
"""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What went wrong."""

    NO_DRIVER = 1
    OLD_DRIVER = 2
    NO_DEVICE = 3
    NO_MEMORY = 4
    CODE_REFUSED = 5
    LAUNCH_FAILED = 6
    DEVICE_LOST = 7
    COPY_FAILED = 8
    OTHER_DEVICE = 9
    NO_HOST = 10
    BOTH_NEWER = 11
    NO_LAUNCH = 12
    NO_TEXTURE = 13


#: (what happened, what to do about it)
_TOLD: dict[Kind, tuple[str, str]] = {
    Kind.NO_DRIVER: (
        "the driver of NVIDIA's GPUs, libcuda.so.1, is not installed",
        "install NVIDIA's driver, or set PARHELION_GPU=simulate to run the kernels on "
        "the CPU",
    ),
    Kind.OLD_DRIVER: (
        "the driver lacks a function that is needed",
        "install a newer driver, one for CUDA 12 or later",
    ),
    Kind.NO_DEVICE: (
        "there is no GPU that can be used",
        "see what nvidia-smi lists, and what CUDA_VISIBLE_DEVICES and HL_GPU_DEVICE "
        "say; PARHELION_GPU=simulate runs the kernels on the CPU",
    ),
    Kind.NO_MEMORY: (
        "the device is out of memory",
        "free Buffers on the device, compute less at a time, or see with nvidia-smi "
        "who else uses it",
    ),
    Kind.CODE_REFUSED: (
        "the driver refuses the code of the kernel",
        "compile for the device's own compute capability, or install a newer driver",
    ),
    Kind.LAUNCH_FAILED: (
        "the kernel cannot be launched",
        "give its blocks fewer threads or less storage",
    ),
    Kind.DEVICE_LOST: (
        "the device has stopped",
        "a kernel has made it do so, perhaps another program's or library's; the "
        "process cannot use the device any more",
    ),
    Kind.COPY_FAILED: (
        "the copy between the memory of the device and of the host failed",
        "see that both still exist",
    ),
    Kind.OTHER_DEVICE: (
        "its pixels are on another device",
        "copy_to_host() and device_free() before it is used here, or use it inside of"
        " `with hl.cuda_device(n)` for the GPU n that it is on",
    ),
    Kind.NO_HOST: (
        "its pixels are needed in memory, but it has none but those on the device",
        "give a buffer that has memory, too",
    ),
    Kind.BOTH_NEWER: (
        "its copy in memory and the one on the device are both marked as the newer",
        "set_host_dirty(False) or set_device_dirty(False)",
    ),
    Kind.NO_TEXTURE: (
        "the driver makes no texture of its memory",
        "leave it in the device's memory: give its store_in MemoryType.Heap",
    ),
    Kind.NO_LAUNCH: (
        "the device is a simulation, which launches no kernels",
        "compile for the target that runs it",
    ),
}

#: The driver's names of the numbers that one may see (cuda.h, `CUresult`).
CUDA_ERRORS: dict[int, str] = {
    1: "CUDA_ERROR_INVALID_VALUE",
    2: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    4: "CUDA_ERROR_DEINITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    46: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    200: "CUDA_ERROR_INVALID_IMAGE",
    201: "CUDA_ERROR_INVALID_CONTEXT",
    205: "CUDA_ERROR_MAP_FAILED",
    209: "CUDA_ERROR_NO_BINARY_FOR_GPU",
    214: "CUDA_ERROR_ECC_UNCORRECTABLE",
    216: "CUDA_ERROR_CONTEXT_ALREADY_IN_USE",
    218: "CUDA_ERROR_INVALID_PTX",
    220: "CUDA_ERROR_NVLINK_UNCORRECTABLE",
    221: "CUDA_ERROR_JIT_COMPILER_NOT_FOUND",
    222: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
    223: "CUDA_ERROR_JIT_COMPILATION_DISABLED",
    300: "CUDA_ERROR_INVALID_SOURCE",
    304: "CUDA_ERROR_OPERATING_SYSTEM",
    400: "CUDA_ERROR_INVALID_HANDLE",
    500: "CUDA_ERROR_NOT_FOUND",
    600: "CUDA_ERROR_NOT_READY",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    701: "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
    702: "CUDA_ERROR_LAUNCH_TIMEOUT",
    709: "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    714: "CUDA_ERROR_HARDWARE_STACK_ERROR",
    715: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    716: "CUDA_ERROR_MISALIGNED_ADDRESS",
    717: "CUDA_ERROR_INVALID_ADDRESS_SPACE",
    718: "CUDA_ERROR_INVALID_PC",
    719: "CUDA_ERROR_LAUNCH_FAILED",
    801: "CUDA_ERROR_NOT_SUPPORTED",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    900: "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
    999: "CUDA_ERROR_UNKNOWN",
}

#: Launches do not wait, so that it is a later use of the device that fails.
_WHICH = "; CUDA_LAUNCH_BLOCKING=1 in the environment tells which kernel it was"

#: What to do about some of them in particular.
_REMEDIES: dict[int, str] = {
    3: "a process that was forked cannot use the device of its parent: use the start "
    "method 'spawn' of multiprocessing",
    222: "install a newer driver: this one does not know the version of PTX",
    700: "a kernel has read or written outside of its memory, and the process cannot "
    f"use the device any more{_WHICH}",
    701: "give its blocks fewer threads: all of a block's registers have to fit",
    702: "the kernel took longer than a GPU with a display may; give it less to do",
    715: f"a kernel has met an instruction that the device does not know{_WHICH}",
    716: "a kernel has read or written at an address that is no multiple of the "
    f"access's size{_WHICH}",
    719: "a kernel has made the device stop, and the process cannot use it any "
    f"more{_WHICH}",
    803: "the driver's library and its kernel module are of different versions; "
    "restart the computer",
}


def status(kind: Kind, number: int = 0) -> int:
    """The status of a kind and the driver's number."""
    return int(kind) | number << 8


def kind_of(status: int) -> Kind | None:
    """The kind of a status; None for a number that is no kind."""
    try:
        return Kind(status & 0xFF)
    except ValueError:
        return None


def error_name(number: int) -> str:
    """What the driver calls an error."""
    return CUDA_ERRORS.get(number, f"CUDA error {number}")


def explain(status: int) -> tuple[str, str]:
    """What a status means, and what to do about it."""
    kind, number = kind_of(status), status >> 8
    if kind is None:
        return f"the device failed with the status {status}", ""
    what, remedy = _TOLD[kind]
    if number:
        known = number in CUDA_ERRORS
        what += f" ({error_name(number)}{f', {number}' if known else ''})"
    return what, _REMEDIES.get(number, remedy)


__all__ = ["CUDA_ERRORS", "Kind", "error_name", "explain", "kind_of", "status"]
