# Found by Parhelion (parallelism=2).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    blur_y = pipeline.get_func(1)
    x, xv, y, yi, yu = hl.vars("x xv y yi yu")

    # blur_y
    (
        blur_y.split(x, x, xv, 32)
        .split(y, y, yi, 32)
        .split(yi, yi, yu, 16)
        .reorder(xv, yu, x, yi, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
    )
