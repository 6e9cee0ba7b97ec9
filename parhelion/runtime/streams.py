"""Which GPU works, and on which of its streams the work of pipelines goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from parhelion.errors import PipelineRuntimeError, TypeMismatchError, here
from parhelion.runtime import devices
from parhelion.runtime.context import DEVICE, STREAM


def cuda_stream(stream: object) -> AbstractContextManager[None]:
    """Has the pipelines that run inside a ``with`` block work on a stream of CUDA's.

    Takes the streams of PyTorch, CuPy and Numba, other objects with
    ``__cuda_stream__``, and the driver's handle as an integer. The block begins by
    waiting for what was launched before it, and ends by waiting for the stream, so that
    Buffers can be used on both sides. It holds for this Python thread or asyncio task
    alone. Raises TypeMismatchError for what is no stream, and PipelineRuntimeError if
    the GPU cannot be used, or if something on it has failed.

    >>> with hl.cuda_stream(torch.cuda.Stream()):  # doctest: +SKIP
    ...     edges = f.realize([640, 480])
    """
    return _on(_handle(stream))


def cuda_device(number: int) -> AbstractContextManager[None]:
    """Has the pipelines that run inside a ``with`` block work on another GPU.

    Takes its number, as nvidia-smi and CuPy count them. The block holds for this Python
    thread or asyncio task alone; inside, work goes to the GPU's default stream, unless
    `cuda_stream` inside of it says otherwise. Kernels are compiled for that GPU, and
    Buffers are copied to it; one whose copy is on another GPU is an error there, until
    it is freed (``copy_to_host`` and ``device_free``). In main memory all Buffers can
    be read anywhere. Raises TypeMismatchError for what is no number, and
    PipelineRuntimeError if there is no such GPU. A simulation has the number 0 alone.

    >>> with hl.cuda_device(1):  # doctest: +SKIP
    ...     edges = f.realize([640, 480])
    """
    if type(number) is not int or number < 0:
        raise TypeMismatchError(
            f"a GPU's number is wanted, not {number!r:.60}",
            at=here(),
            hint="they are counted from 0, as nvidia-smi does",
        )
    if devices.is_simulated():
        count, what = 1, "the simulation is one device"
    else:
        # Whoever uses one GPU does not ask for their number.
        from parhelion.runtime.cuda_driver import driver

        found = driver()
        devices.check(found.status, f"GPU {number}")
        count = len(found.gpus)
        what = f"there are {count}" if count != 1 else "there is one"
    if number >= count:
        raise PipelineRuntimeError(
            f"there is no GPU {number}: {what}",
            at=here(),
            hint="they are counted from 0; CUDA_VISIBLE_DEVICES says which a process"
            " sees",
        )
    return _at(number)


@contextmanager
def _at(number: int) -> Iterator[None]:
    device, stream = DEVICE.set(number + 1), STREAM.set(0)
    try:
        yield
    finally:
        STREAM.reset(stream)
        DEVICE.reset(device)


@contextmanager
def _on(handle: int) -> Iterator[None]:
    interface = devices.interface()
    devices.finish(interface, "the stream before", STREAM.get())
    token = STREAM.set(handle)
    try:
        yield
    finally:
        STREAM.reset(token)
        devices.finish(interface, "the stream", handle)


def _handle(stream: object) -> int:
    """The driver's handle of a stream."""
    handle: object = stream
    if hasattr(stream, "__cuda_stream__"):
        handle = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):  # PyTorch
        handle = stream.cuda_stream
    elif hasattr(stream, "ptr"):  # CuPy
        handle = stream.ptr
    elif hasattr(stream, "handle"):  # Numba: of ctypes
        handle = getattr(stream.handle, "value", stream.handle) or 0
    if type(handle) is not int or handle < 0:
        raise TypeMismatchError(
            f"a stream of CUDA's is wanted, not {stream!r:.60}",
            at=here(),
            legal=["torch.cuda.Stream()", "cupy.cuda.Stream()", "its handle"],
        )
    return handle


__all__ = ["cuda_device", "cuda_stream"]
