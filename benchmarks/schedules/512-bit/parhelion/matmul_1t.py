# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    prod = pipeline.get_func(0)
    matmul = pipeline.get_func(1)
    B = pipeline.get_image(1)
    x, xi, xv, y, yu = hl.vars("x xi xv y yu")
    k_x = prod.rvars(0)[0]

    # matmul
    (
        matmul.split(x, x, xi, 128)
        .split(xi, xi, xv, 64)
        .split(y, y, yu, 6)
        .reorder(xv, yu, xi, y, x)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
        .parallel(x)
    )

    # prod
    (
        prod.compute_at(matmul, xi)
        .split(x, x, xv, 64)
        .split(y, y, yu, 6)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )
    (
        prod.update(0)
        .split(x, x, xv, 64)
        .split(y, y, yu, 6)
        .reorder(xv, yu, k_x, x, y)
        .vectorize(xv, 16)
        .unroll(xv)
        .unroll(yu)
    )

    # B
    B_wrapper = B.in_(prod)

    # B: wrapper
    B_wrapper.compute_at(matmul, x).vectorize(hl._0, 16, hl.TailStrategy.GuardWithIf)
