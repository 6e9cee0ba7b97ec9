"""Runs pipelines through the run time for NVIDIA's GPUs, over a driver that is none.

Its memory is main memory, and its kernels run on threads of the CPU as they are
emitted.

``python -m tests.gpu.through_driver LIBRARY CASE…`` in a process of its own, as the
driver's library is loaded once. A number is the seed of a random case, ``staged-1``
that of one with stages of a block, ``wide`` the versions of a kernel; ``blur/1`` is the
second of an application's schedules for a GPU. Prints the name of each case that is
right, and how many kernels it has launched.
"""

from __future__ import annotations

import ctypes
import gc
import os
import random
import re
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import parhelion as hl
from parhelion.codegen.module import Emitted
from parhelion.interp import interpret
from parhelion.runtime import kernels
from tests.gpu import in_kernels
from tests.gpu.harness import Emulation

#: What PTX's parameters are for ctypes, by LLVM's type.
_KINDS: dict[str, Any] = {
    "ptr": ctypes.c_void_p,
    "i1": ctypes.c_bool,
    **{f"i{w}": getattr(ctypes, f"c_int{w}") for w in (8, 16, 32, 64)},
    "float": ctypes.c_float,
    "double": ctypes.c_double,
}
_LAUNCHER = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
)
#: The emulation of each PTX text, and the types of its kernels' parameters.
_KNOWN: dict[str, tuple[Emulation, dict[str, list[Any]]]] = {}
#: The kernels that were launched.
_LAUNCHED: list[str] = []
#: Held while a kernel runs: threads of the host's launch them one after another.
_STREAM = threading.Lock()
#: More than a kernel of the tests asks for.
_SHARED = 48 << 10


def launch(name: bytes, module: bytes, sizes: Any, arguments: Any) -> int:
    """What the driver calls to run a kernel of a module."""
    try:
        text = name.decode()
        emulation, parameters = _KNOWN[module.decode()]
        given = [
            (kind, ctypes.cast(arguments[i], ctypes.POINTER(kind)).contents.value)
            for i, kind in enumerate(parameters[text])
        ]
        numbers = [int(sizes[i]) for i in range(7)]
        _LAUNCHED.append(text)
        with _STREAM:
            emulation.launch(text, given, numbers[:3], numbers[3:6], numbers[6])
    except BaseException:
        traceback.print_exc()
        return 719
    return 0


def watched(ptx_of: Callable[..., str]) -> Callable[..., str]:
    """`ptx_of`, after noting the kernels of which it makes PTX."""

    def noting(emitted: Emitted, device: Any) -> str:
        ptx, text = ptx_of(emitted, device), emitted.kernels
        if ptx:
            parameters = {
                name: [_KINDS[one.split()[0]] for one in given.split(", ") if one]
                for name, given in re.findall(
                    r"^define ptx_kernel void @(\w+)\((.*)\)", text, re.MULTILINE
                )
            }
            _KNOWN[ptx] = Emulation(text, _SHARED), parameters
        return ptx

    return noting


def check(f: hl.Func, size: list[int]) -> None:
    got = f.realize(size)
    wanted = interpret(f._function, [(0, n) for n in size])
    parts = got if isinstance(got, list | tuple) else [got]
    for one, other in zip(parts, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(one).T, other)


def check_app(name: str, number: int) -> None:
    """An application as it is computed without a GPU; atomic additions are in any
    order, so that the sums are rounded otherwise."""
    from benchmarks.gpu_kernels import PROGRAMS
    from tests.gpu.test_apps import compute, on_cpu

    way = list(PROGRAMS[name][1])[number]
    got = compute(name, PROGRAMS[name][1][way])
    wanted = compute(name, on_cpu(name))
    rtol = 1e-5 if "atomics" in way else 0
    np.testing.assert_allclose(got, wanted, rtol, atol=0)


#: Where an image begins in one that is 96 x 12, how large the result is, and whether
#: all lies at multiples of 16 bytes.
PLACES = (
    ((0, 0), (64, 8), True),
    ((4, 1), (64, 8), True),
    ((1, 0), (64, 8), False),
    ((2, 3), (64, 8), False),
    ((0, 0), (62, 8), False),
    ((8, 2), (68, 5), True),
)


def check_wide(unrolled: bool) -> None:
    """Which version of a kernel runs, by where images lie, and what it computes.
    unrolled: whether its vectors are scalars side by side."""
    x, y, tx, ty, v = hl.vars("x y tx ty v")
    whole = hl.Buffer(np.arange(96 * 12, dtype=np.float32).reshape(12, 96))
    whole.copy_to_device()  # whose copy its crops share
    image = hl.ImageParam(hl.Float(32), 2, "image")
    f = hl.Func("wide")
    f[x, y] = image[x, y] * 2 + image[x + 2, y]
    f.split(x, x, v, 4).reorder(v, x, y).gpu_tile(x, y, tx, ty, 8, 4)
    f.unroll(v) if unrolled else f.vectorize(v)
    for corner, size, wide in PLACES:
        left = 94 - size[0] - corner[0]
        part = whole.cropped(
            [(corner[0], size[0] + min(left, 2)), (corner[1], size[1])]
        )
        part.set_min([0, 0])
        image.set(part)
        before = len(_LAUNCHED)
        got = np.asarray(f.realize(list(size)))
        array = np.asarray(part)
        wanted = array[:, : size[0]] * 2 + array[:, 2 : size[0] + 2]
        np.testing.assert_array_equal(got, wanted)
        assert _LAUNCHED[before:] == [f"wide_{int(wide)}"], (corner, size)


def numbers() -> tuple[hl.Func, list[int]]:
    """Params of all types, and sizes, as arguments of a kernel."""
    x, tx = hl.vars("x tx")
    kinds = [hl.Int(w) for w in (8, 16, 32, 64)]
    kinds += [hl.UInt(w) for w in (1, 8, 16, 32, 64)]
    kinds += [hl.Float(32), hl.Float(64)]
    total: hl.Expr = hl.f64(x)
    for k, t in enumerate(kinds):
        p = hl.Param(t, f"p{k}")
        p.set(1 if t.bits() == 1 else 100 + k)
        total = total * 3 + hl.f64(p)
    f = hl.Func("f")
    f[x] = total
    f.gpu_tile(x, tx, 8)
    return f, [50]


def check_profile() -> None:
    """The stand-in's clock moves by a millisecond for each block that is launched, its
    kernels take 40 registers, and its memory gives 1.024e12 bytes a second."""
    x, y, tx, ty = hl.vars("x y tx ty")
    image = np.arange(70 * 45, dtype=np.int32).reshape(45, 70)
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.Buffer(image)[x, y] + 1
    g[x, y] = f[x, y] * 2
    f.compute_root().gpu_tile(x, y, tx, ty, 16, 8)
    g.gpu_tile(x, y, tx, ty, 32, 32)
    profile = hl.Pipeline([g]).profile([70, 45], repeat=2)
    one, two = profile.kernels
    assert (one.name, one.func, two.func) == ("f_0", "f", "g")
    assert (one.launches, one.blocks, one.threads, one.registers) == (1, 30, 128, 40)
    assert abs(one.seconds - 0.030) < 1e-6 and abs(two.seconds - 0.006) < 1e-6
    assert one.read == one.written == image.nbytes
    assert abs(one.bandwidth - 2 * image.nbytes / 0.030) < 1
    assert abs((one.achieved or 0) - one.bandwidth / 1.024e12) < 1e-12
    # 65536 registers are 48 warps of 40 each, which is 12 blocks of 4, of 64 warps.
    assert one.occupancy == 48 / 64
    assert two.occupancy == 32 / 64
    down = profile.to_device
    assert (down.copies, down.bytes) == (1, image.nbytes)
    assert "12.3 KB" in str(profile) and "75 %" in str(profile)


def checked(limit: int) -> hl.Func:
    """A kernel with a barrier, whose threads require something before it and after."""
    x, y, tx, ty = hl.vars("x y tx ty")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.require(x < limit, x + 10 * y, "x is", x, "at y", y)
    g[x, y] = f[x, y] + hl.require(y < 20, f[x + 1, y], "y is", y)
    g.gpu_tile(x, y, tx, ty, 16, 8)
    f.compute_at(g, x).gpu_threads(x, y)
    return g


def check_require() -> None:
    for limit, message in ((100, ""), (20, "x is 20 at y"), (20, "x is"), (100, "")):
        try:
            got = np.asarray(checked(limit).realize([30, 12]))
        except hl.PipelineRuntimeError as error:
            assert message and f"requirement failed: {message}" in str(error), error
            assert error.failure == "require"
            continue
        assert not message
        expected = np.add.outer(20 * np.arange(12), 2 * np.arange(30) + 1)
        np.testing.assert_array_equal(got, expected)
    g = checked(100)
    try:
        g.realize([30, 21])
    except hl.PipelineRuntimeError as error:
        assert "y is 20" in str(error)
    else:
        raise AssertionError("nothing was said of y")


def check_async_require() -> None:
    """What kernels of a thread of its own report."""
    from tests.gpu.test_async import STORED, pipeline

    for place in STORED.values():
        for limit, sides in ((10, "g-g"), (3000, "g-h"), (10, "ggh"), (9000, "g-h")):
            try:
                pipeline(place, sides, limit).realize([50, 30])
            except hl.PipelineRuntimeError as error:
                assert limit < 9000 and "requirement failed: it is" in str(error)
                continue
            assert limit == 9000


def check_textures(fake: ctypes.CDLL) -> None:
    """Texture objects are kept with their memory, and go with it: one for each size and
    what lies beyond."""
    x, y, tx, ty = hl.vars("x y tx ty")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = hl.f32(x + y)
    near = hl.BoundaryConditions.repeat_edge(f, [(0, 60), (0, 40)])
    zero = hl.BoundaryConditions.constant_exterior(f, 0.0, [(0, 60), (0, 40)])
    g[x, y] = near[x - 1, y] + zero[x - 1, y] + near[x + 1, y] + zero[x, y + 1]
    f.compute_root().store_in(hl.MemoryType.GPUTexture).gpu_tile(x, y, tx, ty, 8, 8)
    g.gpu_tile(x, y, tx, ty, 8, 8)

    def calls() -> list[str]:
        told: str = fake.fake_told().decode()
        fake.fake_reset()
        return [line for line in told.splitlines() if "cuTexObject" in line]

    made = [
        f"cuTexObjectCreate 60 x 40, 256 apart, format 3, beyond {n}" for n in (3, 1)
    ]
    check(g, [60, 40])
    assert sorted(calls()) == sorted(made)
    # The memory of the texture and that of the result may change their roles.
    for _ in range(3):
        check(g, [60, 40])
    assert set(calls()) <= set(made) and fake.fake_textures() in (2, 4)
    check(g, [60, 40])
    assert calls() == []
    check(g, [50, 40])
    assert len(calls()) == 2  # of another size
    # Of many sizes those of a block make way when it is given out again.
    for width in range(20, 45):
        check(g, [width, 40])
        assert fake.fake_textures() < 50
    gc.collect()
    calls()
    hl.release_memory()
    assert set(calls()) == {"cuTexObjectDestroy "} and fake.fake_textures() == 0
    fake.fake_fail(b"cuTexObjectCreate", 801, 1)
    try:
        g.realize([60, 40])
    except hl.PipelineRuntimeError as error:
        assert "the texture of 'f'" in str(error), error
        assert "the driver makes no texture of its memory" in str(error), error
    else:
        raise AssertionError("a texture that is none was read")


def check_devices(fake: ctypes.CDLL) -> None:
    """Two devices, with contexts, modules, memory and streams of their own: the
    stand-in refuses what is another's."""
    x, y, tx, ty = hl.vars("x y tx ty")
    image = hl.Buffer(np.arange(300, dtype=np.int32).reshape(15, 20))
    param = hl.ImageParam(hl.Int(32), 2, "image")
    f = hl.Func("f")
    f[x, y] = param[x, y] * 2 + 1
    f.gpu_tile(x, y, tx, ty, 8, 8)
    param.set(image)
    launched = [0, 0]

    def run(device: int) -> hl.Buffer:
        got = f.realize([20, 15])
        assert isinstance(got, hl.Buffer)
        launched[device] += 1
        assert [fake.fake_launches(n) for n in (0, 1)] == launched
        assert got.has_device_allocation()
        assert got.__dlpack_device__() == (2, device)
        return got

    expected = np.arange(300).reshape(15, 20) * 2 + 1
    first = run(0)
    with hl.cuda_device(1):
        # The array may have changed, and is copied to the other device; what was made
        # on the first is read there.
        image.device_free()
        second = run(1)
        assert np.array_equal(np.asarray(first), expected)
        with hl.cuda_device(0):
            image.device_free()
            run(0)
        image.device_free()
        run(1)
        image.device_free()
        with hl.cuda_stream(77):
            run(1)
            told = fake.fake_told().decode()
            assert "on 0x4d" in told.splitlines()[-1]
        image.device_free()
    assert np.array_equal(np.asarray(second), expected)
    # A result on the other device is no argument here.
    with hl.cuda_device(1):
        there = run(1)
    param.set(there)
    try:
        f.realize([20, 15])
    except hl.PipelineRuntimeError as error:
        assert "its pixels are on another device" in str(error)
        assert "hl.cuda_device(n)" in str(error)
    else:
        raise AssertionError("a Buffer on another device was taken")
    with hl.cuda_device(1):
        run(1)
    there.copy_to_host()
    there.device_free()
    got = run(0)
    assert np.array_equal(np.asarray(got), 2 * expected + 1)
    for number, message in ((2, "there is no GPU 2: there are 2"), (-1, "not -1")):
        try:
            hl.cuda_device(number)
        except hl.HalideError as error:
            assert message in str(error), error
        else:
            raise AssertionError(number)
    with hl.cuda_device(1):
        pass
    del first, second, there, got
    assert hl.release_memory() > 0


def check_checks() -> None:
    for build in in_kernels.CASES:
        in_kernels.check(build)


def check_bench() -> None:
    """The benchmarks' clock and results, by the stand-in's clock (see `check_profile`):
    blocks of 32 x 32 pixels."""
    from benchmarks.gpu import applications, runtime

    job = applications.job("blur", simulated=True)
    found = runtime.run(replace(job, contenders=job.contenders[1:2]), 1e-3)
    (entry,) = found["contenders"].values()
    assert entry["name"] == "gpu, registers" and "wrong" not in entry
    width, height = job.inputs()["input"].array.shape[::-1]
    blocks = -(-(width - 2) // 32) * -(-(height - 2) // 32)
    assert abs(entry["min"] - blocks * 1e-3) < 1e-6, entry
    assert found["moved"] == 2 * (width * height + (width - 2) * (height - 2))
    assert "sm_" in found["card"]


#: Checks of their own.
OWN = {
    "profile": check_profile,
    "require": check_require,
    "async-require": check_async_require,
    "checks": check_checks,
    "bench": check_bench,
}


def main(library: str, names: list[str]) -> None:
    os.environ |= {
        "PARHELION_GPU": "sm_80",
        "PARHELION_CUDA_DRIVER": library,
        "PARHELION_CACHE": "off",
    }
    # Held for as long as the driver may call it.
    launcher = _LAUNCHER(launch)
    fake = ctypes.CDLL(library)
    fake.fake_told.restype = ctypes.c_char_p
    fake.fake_launcher(launcher)
    kernels.__dict__["ptx_of"] = watched(kernels.ptx_of)
    from tests.fuzz import staged, textures
    from tests.fuzz.kernels import difference, draw
    from tests.gpu import test_async, test_textures
    from tests.gpu.test_simulated import CASES

    cases = (*CASES, *test_textures.CASES, *test_async.CASES, numbers)
    known = {build.__name__: build for build in cases}
    for name in names:
        before = len(_LAUNCHED)
        if name.isdecimal():
            # Automatic schedules are of more threads than an emulation runs in a while;
            # of the stand-in's two devices, the second is switched to.
            drawn = draw(random.Random(int(name)))
            switched = tuple([1 if n == 0 else n for n in drawn.switched])
            drawn = replace(drawn, scheduler="", switched=switched)
            wrong = difference(drawn, "sm_80")
            assert not wrong, f"seed {name}: {wrong}"
        elif name.startswith("staged-"):
            wrong = staged.difference(
                staged.draw(random.Random(int(name.removeprefix("staged-")))), "sm_80"
            )
            assert not wrong, f"{name}: {wrong}"
        elif name.startswith("texture-"):
            number = int(name.removeprefix("texture-"))
            wrong = textures.difference(textures.draw(random.Random(number)), "sm_80")
            assert not wrong, f"{name}: {wrong}"
        elif name in ("wide", "wide-unrolled"):
            check_wide(name == "wide-unrolled")
        elif "/" in name:
            app, way = name.split("/")
            check_app(app, int(way))
        elif name == "devices":
            check_devices(fake)
        elif name == "textures":
            check_textures(fake)
        elif name in OWN:
            OWN[name]()
        else:
            check(*known[name]())
        print(name, len(_LAUNCHED) - before, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
