"""Dense matrix multiplication (2016 paper, Figure 3): ``C = A B``.

A matrix is an image whose rows are lines: ``A[k, y]`` is row y, column k, so that
NumPy's ``a @ b`` is the same with C-ordered arrays.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, to_float, to_levels


def algorithm(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    a = hl.ImageParam(hl.Float(32), 2, "A")
    b = hl.ImageParam(hl.Float(32), 2, "B")
    prod, matmul = hl.Func("prod"), hl.Func("matmul")
    k = hl.RDom([(0, a.width())], "k")
    prod[x, y] = 0.0
    prod[x, y] += a[k.x, y] * b[x, k.x]
    matmul[x, y] = prod[x, y]
    funcs = {"prod": prod, "matmul": matmul}
    return App(matmul, {"A": a, "B": b}, funcs, rvars={"k": k.x})


def schedule_inline(hl: Module, app: App) -> None:
    """A dot product at a time: column by column through B."""


def schedule_rows(hl: Module, app: App) -> None:
    """A row of the result at a time, as vectors."""
    x, y = hl.Var("x"), hl.Var("y")
    prod, k = app.funcs["prod"], app.rvars["k"]
    app.funcs["matmul"].vectorize(x, 16).parallel(y, 8)
    prod.compute_at(app.funcs["matmul"], y).vectorize(x, 16)
    prod.update(0).reorder(x, k).vectorize(x, 16)


def schedule_registers(hl: Module, app: App) -> None:
    """Blocks of 64 x 6 in 24 vector registers of 16 floats, which take each value of B
    once for six lines and each of A once for four vectors."""
    _schedule_blocks(hl, app)


def schedule_packed(hl: Module, app: App) -> None:
    """The same, down a copy of 64 columns of B that lie densely in memory: half a
    megabyte, which stays in the second-level cache, and few pages."""
    _schedule_blocks(hl, app)
    _0 = hl.Var("_0")
    packed = app.inputs["B"].in_().compute_at(app.funcs["matmul"], hl.Var("x"))
    packed.vectorize(_0, 16).unroll(_0)


def _schedule_blocks(hl: Module, app: App) -> None:
    x, y, xi, yi = (hl.Var(n) for n in ("x", "y", "xi", "yi"))
    out, prod, k = app.funcs["matmul"], app.funcs["prod"], app.rvars["k"]
    out.tile(x, y, xi, yi, 64, 6).reorder(xi, yi, y, x)
    out.vectorize(xi, 16).unroll(xi).unroll(yi).parallel(x)
    prod.compute_at(out, y).vectorize(x, 16).unroll(x).unroll(y)
    update = prod.update(0).reorder(x, y, k)
    update.vectorize(x, 16).unroll(x).unroll(y)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 128 x 128 results, of which each of 256 threads sums up 8 x 8 in
    registers, down 16 columns of A and lines of B at a time, which the threads load
    into shared memory. That of A is stored by columns, so that the eight values that a
    thread takes of one column are two vectors of four, as are those of B."""
    x, y, xi, yi, xo, yo = (hl.Var(n) for n in ("x", "y", "xi", "yi", "xo", "yo"))
    tx, ty, v, _0, _1 = (hl.Var(n) for n in ("tx", "ty", "v", "_0", "_1"))
    ko, ki = hl.RVar("ko"), hl.RVar("ki")
    out, prod, k = app.funcs["matmul"], app.funcs["prod"], app.rvars["k"]
    update = prod.compute_at(out, x).update(0).split(k, ko, ki, 16)
    out.tile(x, y, xi, yi, 128, 128).gpu_blocks(x, y)
    for stage, i, j, inner, outer in (
        (out, xi, yi, [], [x, y]),
        (prod, x, y, [], []),
        (update, x, y, [ki], [ko]),
    ):
        # Vectors of a thread are 64 columns apart: those of all threads are dense.
        stage.split(j, ty, yi, 8).split(i, xo, tx, 64).split(tx, tx, v, 4)
        stage.reorder(v, xo, yi, *inner, tx, ty, *outer)
        stage.vectorize(v).unroll(xo).unroll(yi).gpu_threads(tx, ty)
    update.unroll(ki, 4)
    a, b = app.inputs["A"].in_(), app.inputs["B"].in_()
    a.compute_at(prod, ko).reorder_storage(_1, _0)
    a.split(_1, yo, ty, 16).reorder(yo, _0, ty).unroll(yo).gpu_threads(_0, ty)
    b.compute_at(prod, ko).split(_0, xo, tx, 64).split(tx, tx, v, 4)
    b.reorder(v, xo, tx, _1).vectorize(v).unroll(xo).gpu_threads(tx, _1)


def schedule_gpu_registers(hl: Module, app: App) -> None:
    """Each thread sums up 4 x 4 results in registers, which take each value of A once
    for four columns, and four of B beside each other once for four lines; no memory is
    shared."""
    x, y, xi, yi, tx, ty = (hl.Var(n) for n in ("x", "y", "xi", "yi", "tx", "ty"))
    out, prod, k = app.funcs["matmul"], app.funcs["prod"], app.rvars["k"]
    out.tile(x, y, xi, yi, 64, 64).split(xi, tx, xi, 4).split(yi, ty, yi, 4)
    out.reorder(xi, yi, tx, ty, x, y).vectorize(xi).unroll(yi)
    out.gpu_blocks(x, y).gpu_threads(tx, ty)
    prod.compute_at(out, tx).vectorize(x).unroll(y)
    prod.update(0).reorder(x, y, k).vectorize(x).unroll(y).unroll(k, 4)


SCHEDULES = {
    "inline": schedule_inline,
    "rows": schedule_rows,
    "registers": schedule_registers,
    "packed": schedule_packed,
}
GPU_SCHEDULES = {"gpu": schedule_gpu, "gpu, registers": schedule_gpu_registers}


def process(image: Array) -> Array:
    """Smooths a (channels, H, W) uint8 image by a matrix from the left: each line
    becomes a mean of all lines, with weights that fall off over some ten lines."""
    import parhelion as hl

    app = algorithm(hl)
    schedule_packed(hl, app)
    height = image.shape[1]
    distance = np.subtract.outer(np.arange(height), np.arange(height))
    weights = np.exp(-np.abs(distance) / 10)
    weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    return np.stack(
        [
            to_levels(
                app.run({"A": weights, "B": to_float(channel)}, channel.shape[::-1])
            )
            for channel in image
        ]
    )


if __name__ == "__main__":
    main("matmul", process)
