# Found by Mullapudi2016 (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    blur_x = pipeline.get_func(0)
    blur_y = pipeline.get_func(1)
    x, xi, y, yi, xv = hl.vars("x xi y yi xv")

    # blur_y
    (
        blur_y.split(x, x, xi, 256)
        .split(y, y, yi, 256)
        .split(xi, xi, xv, 32)
        .reorder(xv, xi, yi, x, y)
        .vectorize(xv)
        .parallel(y)
    )

    # blur_x
    blur_x.compute_at(blur_y, x).split(x, x, xv, 32).vectorize(xv)
