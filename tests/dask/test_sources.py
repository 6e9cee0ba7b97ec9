"""Images in files of several kinds, and arrays with named dimensions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd

x, y = hl.vars("x y")
PIXELS = np.random.default_rng(9).integers(0, 200, (50, 70), np.uint8)


def shifted() -> hl.Func:
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    f = hl.Func("shifted")
    f[x, y] = hl.BoundaryConditions.repeat_edge(image)[x + 1, y] + hl.u8(1)
    return f


RIGHT = np.pad(PIXELS, ((0, 0), (0, 1)), "edge")[:, 1:] + 1


def check(array: Any) -> None:
    assert isinstance(array, da.Array)
    assert (hd.apply(shifted(), array).compute() == RIGHT).all()


def test_numpy_files_are_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", PIXELS)
    array = hd.open_image(tmp_path / "image.npy", chunks=(20, 30))
    assert array.chunks == ((20, 20, 10), (30, 30, 10))
    check(array)


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_stores_of_both_formats(tmp_path: Path, version: Any) -> None:
    zarr: Any = pytest.importorskip("zarr")
    place = str(tmp_path / "image.zarr")
    made = zarr.create_array(
        store=place, shape=(50, 70), chunks=(16, 32), dtype="u1", zarr_format=version
    )
    made[:] = PIXELS
    array = hd.open_image(place)
    assert array.chunksize == (16, 32)
    check(array)


def test_pyramids_of_ome_zarr(tmp_path: Path) -> None:
    zarr: Any = pytest.importorskip("zarr")
    group = zarr.create_group(store=str(tmp_path / "slide.zarr"))
    for name, pixels in (("full", PIXELS), ("half", PIXELS[::2, ::2])):
        one = group.create_array(name, shape=pixels.shape, chunks=(16, 16), dtype="u1")
        one[:] = pixels
    levels = [{"path": "full"}, {"path": "half"}]
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"datasets": levels}]}
    check(hd.open_image(tmp_path / "slide.zarr"))
    assert hd.open_image(tmp_path / "slide.zarr", level=1).shape == (25, 35)
    check(hd.open_image(tmp_path / "slide.zarr", "full"))
    with pytest.raises(hl.BoundsError, match="has 2 levels, and level=2"):
        hd.open_image(tmp_path / "slide.zarr", level=2)
    with pytest.raises(hl.DefinitionError, match="no array 'quarter'") as error:
        hd.open_image(tmp_path / "slide.zarr", "quarter")
    assert error.value.legal == ("full", "half")


def test_tiles_of_tiff_files_are_chunks(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    pytest.importorskip("zarr")
    tifffile.imwrite(tmp_path / "image.tif", PIXELS, tile=(16, 32))
    array = hd.open_image(tmp_path / "image.tif")
    assert array.chunksize == (16, 32)
    check(array)
    with pytest.raises(hl.BoundsError, match="has 1 levels"):
        hd.open_image(tmp_path / "image.tif", level=1)


def test_data_sets_of_hdf5_files(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "image.h5", "w") as file:
        file.create_dataset("scan/first", data=PIXELS, chunks=(16, 32))
    array = hd.open_image(tmp_path / "image.h5")
    assert array.chunksize == (16, 32)
    check(array)
    with h5py.File(tmp_path / "image.h5", "a") as file:
        file["second"] = PIXELS
    with pytest.raises(hl.DefinitionError, match="has 2 arrays") as error:
        hd.open_image(tmp_path / "image.h5")
    assert error.value.legal == ("scan/first", "second")
    check(hd.open_image(tmp_path / "image.h5", "second", chunks=(25, 35)))
    with pytest.raises(hl.DefinitionError, match="no array 'third'"):
        hd.open_image(tmp_path / "image.h5", "third")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(hl.DefinitionError, match="there is no .*none.zarr"):
        hd.open_image(tmp_path / "none.zarr")
    (tmp_path / "image.txt").write_text("")
    with pytest.raises(hl.DefinitionError, match="is none of .zarr, .npy") as error:
        hd.open_image(tmp_path / "image.txt")
    assert "from_array" in error.value.hint


def test_dimensions_with_names() -> None:
    xarray = pytest.importorskip("xarray")
    frames = np.stack([PIXELS, PIXELS // 2, PIXELS // 3], axis=1)  # y, time, x
    array = xarray.DataArray(
        da.from_array(frames, (20, 1, 30)),
        dims=("row", "time", "column"),
        coords={"time": [10, 20, 30], "column": np.arange(70) / 2},
        name="film",
    )
    out = hd.apply_named(shifted(), array, dims=("row", "column"))
    assert out.dims == ("time", "row", "column") and out.name == "film"
    assert out.coords["time"].values.tolist() == [10, 20, 30]
    assert out.coords["column"].values[1] == 0.5
    for k in range(3):
        whole = np.pad(frames[:, k], ((0, 0), (0, 1)), "edge")[:, 1:] + 1
        assert (out.isel(time=k).values == whole).all()
    with pytest.raises(hl.TypeMismatchError, match="no dimension 'line'") as error:
        hd.apply_named(shifted(), array, dims=("line", "column"))
    assert error.value.legal == ("row", "time", "column")
    with pytest.raises(hl.TypeMismatchError, match="takes xarray's DataArrays"):
        hd.apply_named(shifted(), PIXELS, dims=("row", "column"))
