# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    prod = pipeline.get_func(0)
    matmul = pipeline.get_func(1)
    B = pipeline.get_image(1)
    x, xv, y, yu = hl.vars("x xv y yu")
    k_x = prod.rvars(0)[0]

    # matmul
    (
        matmul.split(x, x, xv, 32)
        .split(y, y, yu, 3)
        .reorder(xv, yu, y, x)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
        .parallel(x)
    )

    # prod
    (
        prod.compute_at(matmul, y)
        .split(x, x, xv, 32)
        .split(y, y, yu, 3)
        .reorder(xv, yu, x, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
    )
    (
        prod.update(0)
        .split(x, x, xv, 32)
        .split(y, y, yu, 3)
        .reorder(xv, yu, k_x, x, y)
        .vectorize(xv, 8)
        .unroll(xv)
        .unroll(yu)
    )

    # B
    B_wrapper = B.in_(prod)

    # B: wrapper
    B_wrapper.compute_at(matmul, x).vectorize(hl._0, 8, hl.TailStrategy.GuardWithIf)
