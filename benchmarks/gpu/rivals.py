"""What else computes the applications: CUDA of our own, and libraries, if installed."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from apps import unsharp, vgg
from apps.common import Array
from benchmarks.cases.vgg import torch_layers
from benchmarks.gpu import nvcc
from benchmarks.gpu.contender import (
    CEILING,
    CUDA,
    LIBRARY,
    PART,
    Absent,
    Contender,
    Images,
    Ready,
)
from benchmarks.gpu.device import Device

#: Bytes that are copied to see what memory gives, and the size of what shows how many
#: multiply-adds a second there are.
COPIED, BLOCKS, ROUNDS = 1 << 28, 2048, 4096


def own(
    file: str, name: str, make: Callable[[Any, Device, Images], Ready]
) -> Contender:
    """A contender of a file in ``benchmarks/cuda``. make: of its library."""

    def prepare(images: Images) -> Ready:
        return make(nvcc.library(file), Device(), images)

    return Contender(CUDA, name, prepare)


def _blur(library: Any, device: Device, images: Images) -> Ready:
    array = images["input"].array
    height, width = array.shape[0] - 2, array.shape[1] - 2
    given, out = device.copy_of(array), device.room(2 * width * height)

    def run() -> None:
        nvcc.checked(library.blur_3x3(out.pointer, given.pointer, width, height))

    return Ready(run, lambda: out.read((height, width), np.uint16))


def _unsharp(library: Any, device: Device, images: Images) -> Ready:
    array = images["input"].array
    _, height, width = array.shape
    given, out = device.copy_of(array), device.room(array.nbytes)
    taps = (ctypes.c_float * 4)(*[unsharp.gauss(k) for k in range(4)])

    def run() -> None:
        nvcc.checked(
            library.unsharp_mask(out.pointer, given.pointer, width, height, taps)
        )

    return Ready(run, lambda: out.read(array.shape, np.float32))


def _torch(name: str, make: Callable[[Any, Images], Callable[[], Any]]) -> Contender:
    """PyTorch's, which calls cuBLAS or cuDNN. make: of its module."""

    def prepare(images: Images) -> Ready:
        if importlib.util.find_spec("torch") is None:
            raise Absent("torch is not installed")
        torch = importlib.import_module("torch")
        if not torch.cuda.is_available():
            raise Absent("torch has no CUDA here")
        run = make(torch, images)
        return Ready(run, lambda: np.asarray(run().cpu().numpy()))

    return Contender(LIBRARY, name, prepare)


def _matmul(torch: Any, images: Images) -> Callable[[], Any]:
    # Products are rounded to float32, not to fewer bits.
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = [torch.from_numpy(images[n].array).cuda() for n in ("A", "B")]
    return lambda: torch.matmul(a, b)


def _cublas(images: Images) -> Ready:
    found = ctypes.util.find_library("cublas")
    if found is None:
        raise Absent("cuBLAS is not installed")
    library, device = ctypes.CDLL(found), Device()
    a, b = [images[n].array for n in ("A", "B")]
    height, depth, width = len(a), a.shape[1], b.shape[1]
    left, right = device.copy_of(a), device.copy_of(b)
    out = device.room(4 * width * height)
    handle = ctypes.c_void_p()
    nvcc.checked(library.cublasCreate_v2(ctypes.byref(handle)))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def run() -> None:
        # Its matrices are column by column: the transposed product of the transposed.
        nvcc.checked(
            library.cublasSgemm_v2(
                *(handle, 0, 0, width, height, depth, ctypes.byref(one)),
                *(right.pointer, width, left.pointer, depth, ctypes.byref(zero)),
                *(out.pointer, width),
            )
        )

    return Ready(run, lambda: out.read((height, width), np.float32))


def _convolution(torch: Any, images: Images) -> Callable[[], Any]:
    torch.backends.cudnn.allow_tf32 = False
    functional = importlib.import_module("torch.nn.functional")
    inner = torch.channels_last
    pixels = torch.from_numpy(images["input"].array).cuda().permute(0, 3, 1, 2)
    weights = torch.from_numpy(images["filter"].array.transpose(3, 0, 1, 2).copy())
    weights = weights.cuda().contiguous(memory_format=inner)
    bias = torch.from_numpy(images["bias"].array).cuda()

    def run() -> Any:
        with torch.inference_mode():
            made = functional.relu_(functional.conv2d(pixels, weights, bias))
            return made.permute(0, 2, 3, 1)

    return run


def _network(torch: Any, images: Images) -> Callable[[], Any]:
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    arrays = {name: image.array for name, image in images.items()}
    net = vgg.VGG16
    assert arrays["input"].shape == net.shapes()["input"]
    return torch_layers(net, arrays, "cuda")


def _cupy_counts(images: Images) -> Ready:
    if importlib.util.find_spec("cupy") is None:
        raise Absent("cupy is not installed")
    cupy = importlib.import_module("cupy")
    levels = cupy.asarray(images["input"].array[0].ravel())
    return Ready(lambda: cupy.bincount(levels, minlength=256))


def _cub_counts(library: Any, device: Device, images: Images) -> Ready:
    """The histogram of one channel, and its running sums."""
    array: Array = images["input"].array[0]
    given = device.copy_of(array)
    counts, sums = device.room(1024), device.room(1024)
    calls = (
        (library.cub_histogram, (counts.pointer, given.pointer, array.size)),
        (library.cub_running_sums, (sums.pointer, counts.pointer, 256)),
    )
    rooms = []
    for call, arguments in calls:
        size = ctypes.c_size_t()
        nvcc.checked(call(*arguments, None, ctypes.byref(size)))
        rooms.append((device.room(size.value), size))

    def run() -> None:
        for (call, arguments), (room, size) in zip(calls, rooms, strict=True):
            nvcc.checked(call(*arguments, room.pointer, ctypes.byref(size)))

    return Ready(run, lambda: sums.read((256,), np.int32))


#: By the name of the case.
RIVALS: Mapping[str, list[Contender]] = {
    "blur": [own("blur", "eight rows a thread", _blur)],
    "unsharp": [own("unsharp", "tiles in shared memory", _unsharp)],
    "matmul": [
        _torch("PyTorch (cuBLAS)", _matmul),
        Contender(LIBRARY, "cuBLAS", _cublas),
    ],
    "conv_layer": [_torch("PyTorch (cuDNN)", _convolution)],
    "vgg": [_torch("PyTorch (cuDNN)", _network)],
    "hist": [
        Contender(
            PART,
            "CUB, one histogram and its sums",
            own("library", "", _cub_counts).prepare,
            True,
        ),
        Contender(PART, "CuPy, one histogram", _cupy_counts, True),
    ],
}


# What limits the time.


def _copy(library: Any, device: Device, images: Images) -> Ready:
    size = ctypes.c_longlong(COPIED)
    a, b = device.room(COPIED), device.room(COPIED)

    def run() -> None:
        nvcc.checked(library.copy_bytes(a.pointer, b.pointer, size))

    return Ready(run, None, 2 * COPIED)


def _adds(library: Any, device: Device, images: Images) -> Ready:
    out = device.room(BLOCKS * 256 * 4)

    def run() -> None:
        nvcc.checked(library.fma_peak(out.pointer, BLOCKS, ROUNDS))

    return Ready(run, None, BLOCKS * 256 * 32 * ROUNDS)


def _launch(library: Any, device: Device, images: Images) -> Ready:
    return Ready(lambda: nvcc.checked(library.launch_nothing(100)), None, 100)


COPY, ADDS, LAUNCH = "copy", "multiply-adds", "a launch of nothing"
CEILINGS: Mapping[str, Contender] = {
    name: Contender(CEILING, name, own("limits", name, make).prepare, True)
    for name, make in ((COPY, _copy), (ADDS, _adds), (LAUNCH, _launch))
}

__all__ = ["ADDS", "CEILINGS", "COPY", "LAUNCH", "RIVALS", "own"]
