# Found by Mullapudi2016 (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    gray = pipeline.get_func(1)
    blur_y = pipeline.get_func(2)
    ratio = pipeline.get_func(5)
    unsharp = pipeline.get_func(6)
    x, xi, y, yi, xv, c = hl.vars("x xi y yi xv c")

    # unsharp
    (
        unsharp.split(x, x, xi, 256)
        .split(y, y, yi, 128)
        .split(xi, xi, xv, 16)
        .reorder(xv, xi, yi, c, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # ratio
    ratio.compute_at(unsharp, x).split(x, x, xv, 16).vectorize(xv)

    # blur_y
    blur_y.compute_at(unsharp, x).split(x, x, xv, 16).vectorize(xv)

    # gray
    gray.compute_at(unsharp, x).split(x, x, xv, 16).vectorize(xv)
