"""`open_image`: images in files that are larger than memory, as dask arrays."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np

from parhelion.errors import BoundsError, DefinitionError, here

#: What file names end with, and how these files are read.
_KINDS = (".zarr", ".npy", ".tif", ".tiff", ".h5", ".hdf5")


def open_image(
    path: str | os.PathLike[str],
    dataset: str | None = None,
    chunks: Any = "auto",
    level: int = 0,
) -> Any:
    """Returns an image in a file or folder as a dask array; nothing is read yet.

    path: a Zarr store (``.zarr``, v2 or v3; of OME-Zarr, one level of the pyramid), a
    NumPy file (``.npy``, which is mapped into memory), a TIFF file (``.tif``, whose
    tiles or strips become chunks; needs tifffile and zarr), or an HDF5 file (``.h5``;
    needs h5py).
    dataset: the name of an array within a Zarr group or an HDF5 file; of one alone, it
    need not be given.
    chunks: of NumPy files, and of HDF5 files without chunks of their own.
    level: of a pyramid in an OME-Zarr group or a TIFF file, 0 for the largest.

    Raises DefinitionError for files of other kinds, and where `dataset` must be given
    or is not there, and BoundsError for a level that is not there.

    >>> import parhelion.dask as hd, tempfile
    >>> file = tempfile.mkdtemp() + "/image.npy"
    >>> np.save(file, np.arange(12).reshape(3, 4))
    >>> hd.open_image(file, chunks=2).chunks
    ((2, 1), (2, 2))
    """
    place = Path(path)
    if not place.exists():
        raise DefinitionError(f"hd.open_image: there is no {place}", at=here())
    kind = place.suffix.lower()
    if kind == ".zarr":
        return _of_zarr(place, dataset, level)
    if kind == ".npy":
        return da.from_array(np.load(place, mmap_mode="r"), chunks=chunks)
    if kind in (".tif", ".tiff"):
        return _of_tiff(place, level)
    if kind in (".h5", ".hdf5"):
        return _of_hdf5(place, dataset, chunks)
    raise DefinitionError(
        f"hd.open_image: {place.name} is none of {', '.join(_KINDS)}",
        at=here(),
        hint="dask.array.from_array takes whatever has a shape, a dtype and slices",
    )


def _of_zarr(place: Path, dataset: str | None, level: int) -> Any:
    import zarr

    found: Any = zarr.open(str(place), mode="r")
    if isinstance(found, zarr.Array):
        return da.from_zarr(str(place))
    if dataset is None:
        told: dict[str, Any] = dict(found.attrs)
        scales = told.get("ome", told).get("multiscales")
        if scales:
            paths = [one["path"] for one in scales[0]["datasets"]]
            dataset = paths[_checked(level, len(paths), place)]
        else:
            dataset = _only(sorted([n for n, _ in found.arrays()]), place)
    dataset = str(dataset)
    if dataset not in found:
        raise _no_dataset(dataset, sorted([n for n, _ in found.arrays()]), place)
    return da.from_zarr(str(place), component=dataset)


def _of_tiff(place: Path, level: int) -> Any:
    import tifffile
    import zarr

    with tifffile.TiffFile(place) as file:
        count = len(file.series[0].levels)
    _checked(level, count, place)
    with closing(tifffile.imread(place, aszarr=True, level=level)) as store:
        found: Any = zarr.open(store, mode="r")
        shape, dtype, chunks = found.shape, found.dtype, found.chunks
    name = f"tiff-{place}-{place.stat().st_mtime_ns}-{level}"
    source = _Tiff(str(place), level, shape, dtype)
    return da.from_array(source, chunks=chunks, name=name)


class _Tiff:
    """A level of a TIFF file. The file is opened for each part that is read, so that
    tasks can be sent to other processes."""

    def __init__(
        self, path: str, level: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.path, self.level = path, level
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    def __getitem__(self, part: Any) -> Any:
        import tifffile
        import zarr

        made = tifffile.imread(self.path, aszarr=True, level=self.level)
        with closing(made) as store:
            found: Any = zarr.open(store, mode="r")
            return np.asarray(found[part])


def _of_hdf5(place: Path, dataset: str | None, chunks: Any) -> Any:
    import h5py

    with h5py.File(place, "r") as file:
        names: list[str] = []
        file.visititems(
            lambda name, item: (
                names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        )
        dataset = _only(names, place) if dataset is None else dataset
        if dataset not in names:
            raise _no_dataset(dataset, names, place)
        found = file[dataset]
        shape, dtype = found.shape, found.dtype
        chunks = found.chunks or chunks
    name = f"hdf5-{place}-{dataset}-{place.stat().st_mtime_ns}"
    source = _Hdf5(str(place), dataset, shape, dtype)
    return da.from_array(source, chunks=chunks, name=name)


class _Hdf5:
    """A data set of an HDF5 file, which is opened as TIFF files are."""

    def __init__(
        self, path: str, dataset: str, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.path, self.dataset = path, dataset
        self.shape, self.dtype, self.ndim = shape, dtype, len(shape)

    def __getitem__(self, part: Any) -> Any:
        import h5py

        with h5py.File(self.path, "r") as file:
            return file[self.dataset][part]


def _checked(level: int, count: int, place: Path) -> int:
    if not 0 <= level < count:
        raise BoundsError(
            f"hd.open_image: {place.name} has {count} levels, and level={level}",
            at=here(),
            hint=f"0, the largest, to {count - 1}",
        )
    return level


def _only(names: list[str], place: Path) -> str:
    if len(names) != 1:
        raise DefinitionError(
            f"hd.open_image: {place.name} has {len(names)} arrays; say which by"
            " dataset=",
            at=here(),
            legal=names,
        )
    return names[0]


def _no_dataset(name: str, names: list[str], place: Path) -> DefinitionError:
    return DefinitionError(
        f"hd.open_image: {place.name} has no array {name!r}", at=here(), legal=names
    )


__all__ = ["open_image"]
