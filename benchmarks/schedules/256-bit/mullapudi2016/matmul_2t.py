# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    prod = pipeline.get_func(0)
    matmul = pipeline.get_func(1)
    x, xv, y, xi, yi = hl.vars("x xv y xi yi")
    k_x = prod.rvars(0)[0]
    k_xi = hl.RVar("k_xi")

    # matmul
    matmul.split(x, x, xv, 16).vectorize(xv).parallel(y)

    # prod
    prod.compute_root().split(x, x, xv, 16).vectorize(xv).parallel(y)
    (
        prod.update(0)
        .split(k_x, k_x, k_xi, 256)
        .split(x, x, xi, 256)
        .split(y, y, yi, 256)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, k_xi, yi, k_x, x, y)
        .vectorize(xv)
        .parallel(y)
    )
