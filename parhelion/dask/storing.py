"""`to_zarr`: results written chunk by chunk, of which a later run writes the rest."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute_as_if_collection
from dask.highlevelgraph import HighLevelGraph

from parhelion.dask.chunks import starts
from parhelion.dataclass import dataclass
from parhelion.errors import BoundsError, TypeMismatchError, UnwritableFileError, here

#: The entry of the store's attributes that says what it is the result of.
_ENTRY = "parhelion"


@dataclass(frozen=True, slots=True)
class Stored:
    """What a call of `to_zarr` has done: of how many chunks, and how many of them it
    wrote. The others were there already.

    >>> import parhelion.dask as hd
    >>> print(hd.Stored(12, 5))
    5 of 12 chunks written, 7 were there
    """

    chunks: int
    written: int

    def __str__(self) -> str:
        kept = self.chunks - self.written
        return f"{self.written} of {self.chunks} chunks written, {kept} were there"


def to_zarr(
    array: da.Array,
    path: str | os.PathLike[str],
    *,
    inputs: Sequence[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> Stored:
    """Computes a dask array into a Zarr store in a folder, and goes on with what an
    interrupted call has begun: only missing chunks are computed and written.

    Each chunk is noted when all of it has been written, with a digest of its pixels, in
    a folder beside the store, ``PATH.unfinished``. A later call reads back what is
    noted and computes it again unless its digest is the same, so that a chunk that was
    half written is never taken for a whole one. The folder goes when all is written.

    array: of regular chunks, which become those of the store.
    path: the store's folder, which all workers can write to.
    inputs: files and folders that the array is made of. Their names, sizes and times of
    change, and dask's name of the array, which tells the pipeline, its numbers and its
    chunks, decide whether the store is the result of the same.
    overwrite: whether a store that is the result of something else, or of something
    unknown, is deleted first.

    Raises TypeMismatchError for what is no dask array, UnwritableFileError for such a
    store otherwise, BoundsError for chunks that are not regular, and what the array's
    computation raises; the chunks that were written until then stay.

    >>> import dask.array as da, tempfile
    >>> import parhelion.dask as hd
    >>> place = tempfile.mkdtemp() + "/ones.zarr"
    >>> ones = da.ones((5, 6), dtype=np.uint8, chunks=(2, 3))
    >>> print(hd.to_zarr(ones, place))
    6 of 6 chunks written, 0 were there
    >>> print(hd.to_zarr(ones, place))
    0 of 6 chunks written, 6 were there
    """
    import zarr

    if not isinstance(array, da.Array):
        raise TypeMismatchError(
            f"hd.to_zarr writes a dask array, not {array!r:.60}", at=here()
        )
    regular = _regular(array)
    place = Path(path)
    digest = _digest(array, inputs)
    notes = Path(f"{place}.unfinished")
    count = int(np.prod(array.numblocks, dtype=np.int64))
    if place.exists() or notes.exists():
        known = _known(place, notes)
        if overwrite and known != digest:
            shutil.rmtree(notes, ignore_errors=True)
            shutil.rmtree(place, ignore_errors=True)
        elif known != digest:
            is_of = "of another pipeline, its numbers or chunks, or of inputs that have"
            is_of += " changed since"
            raise UnwritableFileError(
                f"hd.to_zarr: {place} is there, and is the result"
                f" {is_of if known else 'of something unknown'}",
                at=here(),
                hint="overwrite=True deletes it; another path keeps it",
            )
        elif not notes.exists():
            return Stored(count, 0)
    if not notes.exists():
        notes.mkdir(parents=True)
        _write(notes / "run.json", json.dumps({"digest": digest}).encode())
    if not place.exists():
        zarr.create_array(
            store=str(place), shape=array.shape, chunks=regular, dtype=array.dtype
        )
    missing = {
        at: region
        for at, region in _regions(array)
        if not _is_whole(place, notes, at, region)
    }
    _compute(array, place, notes, missing)
    made: Any = zarr.open_array(str(place), mode="r+")
    made.attrs[_ENTRY] = digest
    shutil.rmtree(notes)
    return Stored(count, len(missing))


def _regular(array: da.Array) -> tuple[int, ...]:
    """The one size of the chunks along each axis."""
    for a, sizes in enumerate(array.chunks):
        first, last = sizes[0], sizes[-1]
        if any([n != first for n in sizes[:-1]]) or not last <= first:
            raise BoundsError(
                f"hd.to_zarr: the chunks of axis {a} are {sizes!s:.80}, and those of a"
                " Zarr store are of one size, the last one of the rest",
                at=here(),
                hint=f"array.rechunk({{{a}: {max(sizes)}}})",
            )
    return tuple([max(sizes[0], 1) for sizes in array.chunks])


def _digest(array: da.Array, inputs: Sequence[str | os.PathLike[str]]) -> str:
    """Tells the pipeline with its numbers and chunks, and the inputs as they are."""
    told = hashlib.sha256()
    told.update(repr((array.name, array.shape, str(array.dtype))).encode())
    told.update(repr(array.chunks).encode())
    for given in inputs:
        root = Path(given)
        for file in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if file.is_file():
                state = file.stat()
                told.update(f"{file}:{state.st_size}:{state.st_mtime_ns}\n".encode())
    return told.hexdigest()


def _known(place: Path, notes: Path) -> str | None:
    """The digest of what a store is the result of, or becomes; None if it is not
    known."""
    import zarr

    run = notes / "run.json"
    if run.exists():
        return str(json.loads(run.read_text())["digest"])
    if not place.is_dir():
        return None
    try:
        found: Any = zarr.open_array(str(place), mode="r")
    except (ValueError, FileNotFoundError):  # a folder of something else
        return None
    entry = found.attrs.get(_ENTRY)
    return entry if isinstance(entry, str) else None


def _regions(
    array: da.Array,
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """The place and the region of each chunk."""
    begin = [starts(sizes) for sizes in array.chunks]
    for at in product(*[range(n) for n in array.numblocks]):
        pairs = zip(begin, at, strict=True)
        yield at, tuple([slice(b[k], b[k + 1]) for b, k in pairs])


def _note(notes: Path, at: Sequence[int]) -> Path:
    return notes / (".".join([str(k) for k in at]) or "all")


def _is_whole(
    place: Path, notes: Path, at: Sequence[int], region: tuple[slice, ...]
) -> bool:
    """Whether a chunk is noted, and what the store has of it is what was written."""
    import zarr

    note = _note(notes, at)
    if not note.exists():
        return False
    try:
        store: Any = zarr.open_array(str(place), mode="r")
        pixels = np.asarray(store[region])
    except (ValueError, RuntimeError, OSError):  # what is half written cannot be read
        return False
    return note.read_text() == _of_pixels(pixels)


def _of_pixels(pixels: np.ndarray[Any, Any]) -> str:
    return hashlib.blake2b(
        np.ascontiguousarray(pixels).data, digest_size=16
    ).hexdigest()


def _compute(
    array: da.Array,
    place: Path,
    notes: Path,
    missing: dict[tuple[int, ...], tuple[slice, ...]],
) -> None:
    if not missing:
        return
    name = f"store-{array.name}"
    tasks: dict[Any, Any] = {
        (name, *at): (
            _store,
            (array.name, *at),
            str(place),
            str(_note(notes, at)),
            region,
        )
        for at, region in missing.items()
    }
    depends: Any = [array]
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=depends)
    compute_as_if_collection(da.Array, graph, list(tasks))


def _store(
    block: np.ndarray[Any, Any], place: str, note: str, region: tuple[slice, ...]
) -> int:
    """The task that writes a chunk and then notes it."""
    import zarr

    pixels = np.asarray(block)
    store: Any = zarr.open_array(place, mode="r+")
    store[region] = pixels
    _write(Path(note), _of_pixels(pixels).encode())
    return pixels.nbytes


def _write(path: Path, contents: bytes) -> None:
    """Writes a small file at once: it is there as a whole or not at all."""
    some = path.with_name(f"{path.name}.{os.getpid()}")
    with open(some, "wb") as file:
        file.write(contents)
        file.flush()
        os.fsync(file.fileno())
    os.replace(some, path)


__all__ = ["Stored", "to_zarr"]
