"""Streams of a GPU: on which one the work of pipelines goes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from parhelion.errors import TypeMismatchError, here
from parhelion.runtime import devices
from parhelion.runtime.context import STREAM


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


__all__ = ["cuda_stream"]
