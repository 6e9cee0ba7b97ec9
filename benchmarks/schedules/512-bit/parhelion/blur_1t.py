# Found by Parhelion (parallelism=1).
import parhelion as hl


def schedule(pipeline):
    """Schedules the Funcs of `pipeline`, which have no schedule yet."""
    blur_y = pipeline.get_func(1)
    x, xv, y, yu = hl.vars("x xv y yu")

    # blur_y
    (
        blur_y.split(x, x, xv, 32)
        .split(y, y, yu, 16)
        .reorder(xv, yu, x, y)
        .vectorize(xv)
        .unroll(yu)
        .parallel(y)
    )
