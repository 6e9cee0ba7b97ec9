"""Pipelines as bytes and files: `serialize_pipeline` and what reads them again.

The file is a header, a document (`schedule.serial`) and the pixels of the Buffers that
definitions mention: docs/serialisation.md. Nothing in it is code.
"""

from __future__ import annotations

import hashlib
import math
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any, Literal, overload

import numpy as np

from parhelion.errors import (
    HalideError,
    SerialisationError,
    TypeMismatchError,
    UnwritableFileError,
    here,
)
from parhelion.ir.bindings import SET
from parhelion.ir.names import unique_name
from parhelion.ir.promises import Symbol
from parhelion.ir.symbols import BufferSym, ParamSym
from parhelion.lang import arrays
from parhelion.lang.buffer import Buffer
from parhelion.lang.handles import func_of
from parhelion.lang.imageparam import ImageParam
from parhelion.lang.param import Param
from parhelion.lang.pipeline import Pipeline
from parhelion.schedule.serial import VERSION, document_of
from parhelion.schedule.serial_fields import broken, plain
from parhelion.schedule.serial_reader import Document, read_document, value_of
from parhelion.schedule.spec import PipelineSpec

#: An input of a pipeline, which who reads the pipeline may give.
Parameter = ImageParam | Param
File = str | os.PathLike[str]

#: What files begin with; then follow the version, the bytes of the document and of the
#: pixels, and the digest of both.
MAGIC = b"Parhelion\r\n\x1a\n\0\0\0"
_HEADER = struct.Struct("<IQQ32s")


@overload
def serialize_pipeline(
    pipeline: Pipeline,
    filename: None = None,
    *,
    get_params: Literal[False] | None = ...,
) -> bytes: ...


@overload
def serialize_pipeline(
    pipeline: Pipeline, filename: None = None, *, get_params: Literal[True]
) -> tuple[bytes, dict[str, Parameter]]: ...


@overload
def serialize_pipeline(
    pipeline: Pipeline, filename: File, *, get_params: bool | None = ...
) -> dict[str, Parameter] | None: ...


def serialize_pipeline(
    pipeline: Pipeline, filename: File | None = None, *, get_params: bool | None = None
) -> object:
    """Returns a Pipeline as bytes, or writes it to a file, as Halide's function does.

    Its Funcs are told with their schedules, and with the pixels of the Buffers that
    they mention. ImageParams and Params are told by names, types and promises, Params
    with their values: with `get_params`, a dictionary of them by name is returned too.
    Raises TypeMismatchError for what is no Pipeline, SerialisationError where foreign
    code is part of it, and UnwritableFileError.

    >>> image = hl.ImageParam(hl.UInt(8), 1, "image")
    >>> f = hl.Func("f")
    >>> f[x] = image[x] * 2
    >>> data, params = hl.serialize_pipeline(hl.Pipeline(f), get_params=True)
    >>> again = hl.deserialize_pipeline(data, params)
    >>> image.set(np.array([1, 2, 3], np.uint8))
    >>> np.asarray(again.realize([3])).tolist()
    [2, 4, 6]
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeMismatchError(
            f"serialize_pipeline takes a Pipeline, not {pipeline!r:.60}", at=here()
        )
    asked = pipeline._ready().reach.requirements
    spec = PipelineSpec.of(pipeline._functions(), asked)
    symbols = _symbols(spec)
    given: dict[Symbol, Any] = {}
    pixels: list[bytes] = []
    for s in symbols:
        value = SET.of(s)
        if isinstance(s, ParamSym):
            if value is not None:
                given[s] = value.hex() if isinstance(value, float) else value
        elif s.embedded:
            given[s], data = _told(value)
            pixels.append(data)
    data = _framed(document_of(spec, given), b"".join(pixels))
    params = {
        s.name: Param._of(s) if isinstance(s, ParamSym) else ImageParam._of(s)
        for s in symbols
        if isinstance(s, ParamSym) or not s.embedded
    }
    if filename is None:
        return (data, params) if get_params else data
    _write(filename, data)
    return params if get_params else None


def deserialize_pipeline(
    data: bytes | File, user_params: Mapping[str, Parameter] | None = None
) -> Pipeline:
    """Returns the Pipeline of bytes, or of a file of this name, as Halide's function
    does.

    user_params: ImageParams and Params by the names that the pipeline has for them,
    which then take their places; `deserialize_parameters` makes some. Funcs have the
    names that they had, if these are not taken in this process. The pipeline is data:
    nothing of a file is executed when it is read, and C functions are called only if
    this program has named them itself.

    Raises SerialisationError for what is no such file, or of another version;
    HalideError for parameters of other names or types; FileNotFoundError.

    >>> f = hl.Func("f")
    >>> f[x] = x * x
    >>> data = hl.serialize_pipeline(hl.Pipeline(f.vectorize(x, 4)))
    >>> np.asarray(hl.deserialize_pipeline(data).realize([4])).tolist()
    [0, 1, 4, 9]
    """
    given = {name: _symbol(name, p) for name, p in (user_params or {}).items()}
    document = _document(data, given)
    unknown = sorted({*given} - {*document.symbols})
    if unknown:
        raise HalideError(
            f"the serialised pipeline has no ImageParam or Param {unknown[0]!r}",
            at=here(),
            legal=list(document.symbols),
        )
    spec = document.spec
    for f in spec.order:
        f.copy_of = None  # these Funcs are the user's from now on
    made = Pipeline([func_of(f) for f in spec.outputs])
    for r in spec.requirements:
        made._runner.require(r)
    return made


def deserialize_parameters(data: bytes | File) -> dict[str, Parameter]:
    """Returns new ImageParams and Params for those of a serialised pipeline, by name.

    They are for `deserialize_pipeline`: what they are set to is what it is run with.
    Raises what that raises.

    >>> gain = hl.Param(hl.Int(32), "gain", 3)
    >>> f = hl.Func("f")
    >>> f[x] = x * gain
    >>> data = hl.serialize_pipeline(hl.Pipeline(f))
    >>> params = hl.deserialize_parameters(data)
    >>> params["gain"].set(5)
    >>> np.asarray(hl.deserialize_pipeline(data, params).realize([3])).tolist()
    [0, 5, 10]
    """
    return {
        name: Param._of(s) if isinstance(s, ParamSym) else ImageParam._of(s)
        for name, s in _document(data, {}).symbols.items()
    }


def _symbols(spec: PipelineSpec) -> list[Symbol]:
    """The images and Params of a pipeline."""
    assumed = spec.assumptions
    owners = {d.min.origin[0]: None for d in assumed.dims}
    images: list[Symbol] = [b for b in owners if b.role == "input"]
    return [*images, *assumed.params]


def _symbol(name: str, parameter: object) -> Symbol:
    if not isinstance(parameter, ImageParam | Param):
        raise TypeMismatchError(
            f"the parameter {name!r} of a pipeline is an ImageParam or a Param, not"
            f" {parameter!r:.60}",
            at=here(),
        )
    return parameter._sym


# The file.


def _framed(document: bytes, pixels: bytes) -> bytes:
    digest = hashlib.blake2b(document + pixels, digest_size=32).digest()
    head = _HEADER.pack(VERSION, len(document), len(pixels), digest)
    return MAGIC + head + document + pixels


def _write(filename: File, data: bytes) -> None:
    try:
        with open(filename, "wb") as file:
            file.write(data)
    except OSError as error:
        name = os.fspath(filename)
        raise UnwritableFileError(
            f"{name!r} cannot be written: {error.strerror}", at=here()
        ) from None


def _document(data: bytes | File, given: Mapping[str, Symbol]) -> Document:
    """What is in bytes, or in a file."""
    if isinstance(data, str | os.PathLike):
        with open(data, "rb") as file:
            data = file.read()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeMismatchError(
            f"a serialised pipeline is bytes or the name of a file, not {data!r:.60}",
            at=here(),
        )
    raw = bytes(data)
    try:
        document, pixels = _parts(raw)
        read = read_document(document, given, unique_name)
        _bind(read, pixels)
    except SerialisationError as error:
        error.locate(here())
        raise
    return read


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """The document and the pixels, if the digest is theirs."""
    begin = len(MAGIC) + _HEADER.size
    if not data.startswith(MAGIC):
        broken("it does not begin as one")
    if len(data) < begin:
        broken(f"it ends after {len(data)} bytes")
    version, length, pixels, digest = _HEADER.unpack_from(data, len(MAGIC))
    if version != VERSION:
        raise SerialisationError(
            f"the serialised pipeline has version {version} of the format; this"
            f" version of Parhelion reads version {VERSION}"
        )
    if len(data) != begin + length + pixels:
        broken(f"it has {len(data)} bytes in place of {begin + length + pixels}")
    body = data[begin:]
    if hashlib.blake2b(body, digest_size=32).digest() != digest:
        broken("its digest is that of something else")
    return body[:length], body[length:]


# Pixels.


def _told(buffer: Any) -> tuple[list[Any], bytes]:
    """The region of a Buffer, the order of its dimensions in memory, and its pixels in
    this order, innermost dimension first."""
    if not isinstance(buffer, Buffer) or not buffer.defined():
        raise SerialisationError("a Buffer that the pipeline mentions has no pixels")
    array = buffer._pixels()
    order = arrays.storage_order(array)
    dense = np.ascontiguousarray(array.transpose(order[::-1]))
    about = [list(buffer._mins), list(array.shape), list(order)]
    return about, dense.tobytes()


def _bind(document: Document, pixels: bytes) -> None:
    """Sets images to their pixels, and Params to their values."""
    rest = memoryview(pixels)
    ours = {*document.values}
    for symbol, value in document.values.items():
        if isinstance(symbol, ParamSym):
            number = value_of(value, symbol.type)
            if SET.of(symbol) is None:
                SET.set(symbol, number)
        elif symbol.embedded:
            rest = _bind_image(symbol, value, rest)
        else:
            broken(f"pixels of {symbol.name}")
    if len(rest):
        broken(f"{len(rest)} bytes of pixels that belong to nothing")
    for symbol in _embedded(document):
        if symbol not in ours:
            broken(f"{symbol.name} has no pixels")


def _embedded(document: Document) -> Iterator[BufferSym]:
    for s in _symbols(document.spec):
        if isinstance(s, BufferSym) and s.embedded:
            yield s


def _bind_image(symbol: BufferSym, json: Any, rest: memoryview) -> memoryview:
    """Sets an image to the first of the pixels, and returns the others."""
    n = len(symbol.dims)
    is_list = isinstance(json, list) and len(json) == 3
    if not is_list or any([not isinstance(p, list) or len(p) != n for p in json]):
        broken(f"the region of {symbol.name}")
    mins, extents, order = [[plain(v, int) for v in part] for part in json]
    if sorted(order) != list(range(n)):
        broken(f"the order of the dimensions of {symbol.name}")
    size = symbol.type.bytes()
    for k, e in enumerate(extents):
        if not 0 <= e < 1 << 31 or not -(1 << 31) <= mins[k] < 1 << 31:
            broken(f"dimension {k} of {symbol.name}")
        size *= e
    if size > len(rest):
        broken(f"{symbol.name} has {size} bytes of pixels, and there are {len(rest)}")
    if size == 0 and math.prod([e for e in extents if e]) >= 1 << 31:
        broken(f"the extents of {symbol.name}")
    array = arrays.allocate(symbol.type, extents, order)
    raw = np.frombuffer(rest[:size], np.uint8)
    values = raw != 0 if symbol.type.is_bool() else raw.view(array.dtype)
    outermost_first = order[::-1]
    array.transpose(outermost_first)[...] = values.reshape(
        [extents[d] for d in outermost_first]
    )
    SET.set(symbol, Buffer._of(symbol.type, array, mins, symbol.name))
    return rest[size:]


__all__ = ["deserialize_parameters", "deserialize_pipeline", "serialize_pipeline"]
