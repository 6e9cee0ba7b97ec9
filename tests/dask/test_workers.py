"""Chunks in other processes: dask's schedulers, plain pools, and workers that die."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Literal

import dask
import dask.array as da
import numpy as np
import pytest

import parhelion as hl
import parhelion.dask as hd
from parhelion.dask.compiled import Compiled, Job, compute
from parhelion.dask.jobs import Cutter
from parhelion.dask.preparing import Wishes, prepare

x, y = hl.vars("x y")
ROOT = Path(__file__).parent.parent.parent
IMAGE = np.random.default_rng(9).integers(0, 256, (60, 80), np.uint8)


def blur(name: str = "blurred") -> tuple[hl.Func, np.ndarray[Any, Any]]:
    image, gain = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Param(hl.Int(32), "gain", 3)
    edge = hl.BoundaryConditions.mirror_image(image)
    out = hl.Func(name)
    out[x, y] = hl.u16(edge[x - 2, y] * gain + edge[x + 1, y + 3])
    out.vectorize(x, 8).parallel(y)
    image.set(IMAGE)
    whole = np.asarray(out.realize([80, 60]))
    image.set(hl.Buffer())
    return out, whole


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for compiled code of its own, that processes inherit."""
    folder = tmp_path / "code"
    monkeypatch.setenv("PARHELION_CACHE", str(folder))
    yield folder


def first_chunk(out: hl.Func) -> tuple[Compiled, Job, list[list[Any]]]:
    """A chunk, and the blocks that it is computed from."""
    pixels = da.from_array(IMAGE, chunks=(20, 80))
    _, (prepared,) = prepare(out, [pixels], None, Wishes())
    place, box = next(iter(prepared.part.boxes()))
    job, cuts = Cutter(prepared.part).job(place, box)
    blocks = [
        [
            np.asarray(pixels.blocks[one.block])[one.piece.taken]
            if one.small
            else np.asarray(pixels.blocks[one.block])
            for one in own
        ]
        for own in cuts
    ]
    return prepared.compiled(1), job, blocks


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "processes"])
def test_schedulers_of_dask(kept: Path, scheduler: str) -> None:
    out, whole = blur()
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(16, 30)))
    found = lazy.compute(scheduler=scheduler, num_workers=2)
    np.testing.assert_array_equal(found, whole)


def test_pools_of_processes(kept: Path) -> None:
    out, whole = blur()
    value, job, blocks = first_chunk(out)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        found = pool.submit(compute, value, job, blocks).result(timeout=120)
        np.testing.assert_array_equal(found, whole[:20])
        lazy = hd.apply(out, da.from_array(IMAGE, chunks=(16, 30)))
        with dask.config.set(pool=pool):
            found = lazy.compute(scheduler="processes")
        np.testing.assert_array_equal(found, whole)
    with spawn.Pool(1) as pool:
        found = pool.apply(compute, (value, job, blocks))
    np.testing.assert_array_equal(found, whole[:20])


def test_a_process_loads_a_pipeline_once() -> None:
    out, whole = blur()
    value, job, blocks = first_chunk(out)
    data = pickle.dumps(value)
    one, other = pickle.loads(data), pickle.loads(data)
    assert one is other and one is not value
    np.testing.assert_array_equal(one.run(job, blocks), whole[:20])
    assert pickle.dumps(one) == data


def test_other_processes_load_the_code_without_compiling(
    kept: Path, tmp_path: Path
) -> None:
    out, whole = blur()
    value, job, blocks = first_chunk(out)
    file = tmp_path / "value.pickle"
    file.write_bytes(pickle.dumps((value, job, blocks)))
    program = """
        import pickle, sys, time
        import numpy as np
        import parhelion as hl
        import parhelion.dask.compiled
        from parhelion.runtime import program

        def compiled(*given):
            raise AssertionError("it was compiled")

        program._compiled = compiled
        with open(sys.argv[1], "rb") as file:
            data = file.read()
        began = time.process_time()
        value, job, blocks = pickle.loads(data)
        print("seconds", time.process_time() - began)
        print(value.run(job, blocks).sum())
    """
    # The cache of that process is empty: the code travels with the value.
    env = {**os.environ, "PARHELION_CACHE": str(tmp_path / "other")}
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(file)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == int(whole[:20].sum(dtype=np.int64))
    env["PARHELION_CACHE"] = "off"
    plain = textwrap.dedent(program).replace("program._compiled = compiled", "")
    done = subprocess.run(
        [sys.executable, "-c", plain, str(file)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )
    # Without a cache, the pipeline is compiled where it is.
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == int(whole[:20].sum(dtype=np.int64))


def test_one_chunk_runs_on_the_threads_that_it_is_given() -> None:
    from parhelion.runtime.threads import LIMIT

    out, _ = blur()
    value, job, blocks = first_chunk(out)
    seen: list[int] = []
    call = value.call

    def watched(*given: object) -> int:
        seen.append(LIMIT.get())
        return call(*given)

    value.call = watched  # type: ignore[assignment]
    value.run(job, blocks)
    value.threads = 3
    value.run(job, blocks)
    value.threads = None
    value.run(job, blocks)
    assert seen == [1, 3, 0] and LIMIT.get() == 0


def dying(block: np.ndarray[Any, Any], flag: str) -> np.ndarray[Any, Any]:
    """The block; the first time, the process is killed."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.filterwarnings("ignore")
def test_a_cluster(client: Any) -> None:
    out, whole = blur()
    lazy = hd.apply(out, da.from_array(IMAGE, chunks=(16, 30)))
    np.testing.assert_array_equal(lazy.compute(scheduler=client), whole)


@pytest.mark.filterwarnings("ignore")
def test_reductions_and_scans_on_a_cluster(client: Any, tmp_path: Path) -> None:
    image, counts = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("counts")
    r = hl.RDom([(0, image.width()), (0, image.height())])
    counts[x] = 0
    counts[hl.i32(image[r.x, r.y])] += 1
    flag = tmp_path / "died"
    pixels = da.from_array(IMAGE, chunks=(16, 30))
    mortal = pixels.map_blocks(dying, str(flag), dtype=np.uint8, meta=pixels._meta)
    found = hd.reduce(counts, mortal, shape=(256,)).compute(scheduler=client)
    assert flag.exists()
    assert (found == np.bincount(IMAGE.ravel(), minlength=256)).all()
    lazy = hd.iir(pixels, [0.5], [1, -0.5], axis=0)
    one = lazy.compute(scheduler="synchronous")
    np.testing.assert_array_equal(lazy.compute(scheduler=client), one)


@pytest.mark.filterwarnings("ignore")
def test_a_chunk_that_raises_on_a_cluster(client: Any) -> None:
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    out = hl.Func("checked")
    out[x, y] = hl.require(image[x, y] != 77, image[x, y], "a pixel is", image[x, y])
    pixels = np.zeros((60, 80), np.uint8)
    pixels[59, 79] = 77
    lazy = hd.apply(out, da.from_array(pixels, chunks=(30, 40)))
    with pytest.raises(hl.PipelineRuntimeError, match="a pixel is 77") as caught:
        lazy.compute(scheduler=client)
    assert "in chunk (1, 1) of checked" in str(caught.value)
    assert caught.value.at is not None and caught.value.at.file == __file__


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed(client: Any, tmp_path: Path) -> None:
    out, whole = blur()
    flag = tmp_path / "died"
    pixels = da.from_array(IMAGE, chunks=(16, 30))
    mortal = pixels.map_blocks(dying, str(flag), dtype=np.uint8, meta=pixels._meta)
    lazy = hd.apply(out, mortal)
    np.testing.assert_array_equal(lazy.compute(scheduler=client), whole)
    assert flag.exists()


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_from_store_to_store(version: Literal[2, 3], tmp_path: Path) -> None:
    import zarr

    source, result = str(tmp_path / "in.zarr"), str(tmp_path / "out.zarr")
    store = zarr.create_array(
        source, shape=(60, 80), chunks=(16, 30), dtype="uint8", zarr_format=version
    )
    store[:] = IMAGE
    out, whole = blur()
    lazy = hd.apply(out, da.from_zarr(source))
    assert lazy.chunks == ((16, 16, 16, 12), (30, 30, 20))
    lazy.to_zarr(result)
    np.testing.assert_array_equal(zarr.open_array(result)[:], whole)
