"""Camera raw pipeline: from a sensor's Bayer mosaic to a colour image.

Hot-pixel suppression, demosaicking, colour correction, tone curve and sharpening (2012
paper, section 6.1, after the Frankencamera). Even rows of the mosaic are G R G R …, odd
rows B G B G …; the output pixel ``x, y`` is the sensor's ``x + 16, y + 12``.
"""

from __future__ import annotations

import numpy as np

from apps.common import App, Array, Module, main, natural_lanes

#: Where the output's first pixel lies on the sensor.
OFFSET = (16, 12)
#: Colour matrices (rows R, G, B; the last column is added) at 3200 and 7000 kelvin: the
#: Frankencamera's calibration of the Nokia N900.
MATRIX_3200 = np.array(
    [
        [1.6697, -0.2693, -0.4004, -42.4346],
        [-0.3576, 1.0615, 1.5949, -37.1158],
        [-0.2175, -1.8751, 6.9640, -26.6970],
    ],
    np.float32,
)
MATRIX_7000 = np.array(
    [
        [2.2997, -0.4478, 0.1706, -39.0923],
        [-0.3826, 1.5906, -0.2080, -25.4311],
        [-0.0888, -0.7344, 2.2832, -20.0826],
    ],
    np.float32,
)
SETTINGS = {
    "color_temp": 3700.0,
    "gamma": 2.0,
    "contrast": 50.0,
    "sharpen_strength": 1.0,
    "black_level": 25,
    "white_level": 1023,
}


def algorithm(hl: Module) -> App:
    x, y = hl.Var("x"), hl.Var("y")
    inp = hl.ImageParam(hl.UInt(16), 2, "input")
    matrices = {
        name: hl.ImageParam(hl.Float(32), 2, name)
        for name in ("matrix_3200", "matrix_7000")
    }
    params = {
        name: hl.Param(hl.Float(32) if isinstance(v, float) else hl.Int(32), name, v)
        for name, v in SETTINGS.items()
    }
    funcs: dict[str, Module] = {}

    shifted = hl.Func("shifted")
    shifted[x, y] = inp[x + OFFSET[0], y + OFFSET[1]]
    denoised = hot_pixel_suppression(hl, shifted)
    deinterleaved = deinterleave(hl, denoised)
    demosaiced = demosaic(hl, deinterleaved, funcs)
    corrected = color_correct(hl, demosaiced, matrices, params["color_temp"], funcs)
    curved = apply_curve(hl, corrected, params, funcs)
    processed = sharpen(hl, curved, params["sharpen_strength"], funcs)
    funcs |= {
        "denoised": denoised,
        "deinterleaved": deinterleaved,
        "demosaiced": demosaiced,
        "corrected": corrected,
        "curved": curved,
        "processed": processed,
    }
    return App(processed, {"input": inp, **matrices}, funcs, params)


def hot_pixel_suppression(hl: Module, raw: Module) -> Module:
    """No pixel brighter than the brightest neighbour of its own colour."""
    x, y = hl.Var("x"), hl.Var("y")
    denoised = hl.Func("denoised")
    beside = hl.max(raw[x - 2, y], raw[x + 2, y])
    above = hl.max(raw[x, y - 2], raw[x, y + 2])
    denoised[x, y] = hl.clamp(raw[x, y], 0, hl.max(beside, above))
    return denoised


def deinterleave(hl: Module, raw: Module) -> Module:
    """The mosaic as four planes of half its size: green of the red rows, red, blue,
    green of the blue rows."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    planes = hl.Func("deinterleaved")
    sites = [raw[2 * x + dx, 2 * y + dy] for dy in (0, 1) for dx in (0, 1)]
    planes[x, y, c] = hl.mux(c, sites)
    return planes


def demosaic(hl: Module, planes: Module, funcs: dict[str, Module]) -> Module:
    """Each colour at each site.

    ``a_b`` is colour a at the sites of b; gr and gb are the greens of red and blue
    rows. Green is interpolated along the direction in which it changes least. Red and
    blue are interpolated, then corrected by the error that the same interpolation of
    green makes, which is known there.
    """
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    average, absd = hl.rounding_halving_add, hl.absd

    def func(name: str, value: Module) -> Module:
        f = hl.Func(name)
        f[x, y] = value
        return f

    g_gr, r_r, b_b, g_gb = (
        func(name, planes[x, y, i])
        for i, name in enumerate(("g_gr", "r_r", "b_b", "g_gb"))
    )

    def least_change(
        pairs: list[tuple[Module, Module]], values: list[Module]
    ) -> Module:
        """The second value, if its pair differs by less than the first's."""
        (a, b), (c, d) = pairs
        return hl.select(absd(c, d) < absd(a, b), values[1], values[0])

    def green(up: Module, down: Module, left: Module, right: Module) -> Module:
        pairs = [(up, down), (right, left)]
        return least_change(pairs, [average(a, b) for a, b in pairs])

    g_r = func("g_r", green(g_gb[x, y - 1], g_gb[x, y], g_gr[x, y], g_gr[x + 1, y]))
    g_b = func("g_b", green(g_gr[x, y + 1], g_gr[x, y], g_gb[x, y], g_gb[x - 1, y]))

    def between(f: Module, g: Module, here: Module, *at: tuple[int, int]) -> Module:
        """Colour f interpolated between two sites, g being green at its sites and
        `here` green at this one."""
        (ax, ay), (bx, by) = at
        error = here - average(g[x + ax, y + ay], g[x + bx, y + by])
        return error + average(f[x + ax, y + ay], f[x + bx, y + by])

    r_gr = func("r_gr", between(r_r, g_r, g_gr[x, y], (0, 0), (-1, 0)))
    b_gr = func("b_gr", between(b_b, g_b, g_gr[x, y], (0, 0), (0, -1)))
    r_gb = func("r_gb", between(r_r, g_r, g_gb[x, y], (0, 0), (0, 1)))
    b_gb = func("b_gb", between(b_b, g_b, g_gb[x, y], (0, 0), (1, 0)))

    def diagonal(f: Module, g: Module, here: Module, dx: int, dy: int) -> Module:
        """Colour f between its four diagonal neighbours, by the diagonal along which
        it changes less."""
        falling, rising = ((dx, 0), (0, dy)), ((0, 0), (dx, dy))
        ends = [tuple(f[x + i, y + j] for i, j in line) for line in (falling, rising)]
        values = [between(f, g, here, *line) for line in (falling, rising)]
        return least_change(ends, values)

    r_b = func("r_b", diagonal(r_r, g_r, g_b[x, y], -1, 1))
    b_r = func("b_r", diagonal(b_b, g_b, g_r[x, y], 1, -1))

    def interleave_x(name: str, a: Module, b: Module) -> Module:
        return func(name, hl.select(x % 2 == 0, a[x / 2, y], b[x / 2, y]))

    def interleave(name: str, gr: Module, r: Module, b: Module, gb: Module) -> Module:
        even = interleave_x(f"{name}_even", gr, r)
        odd = interleave_x(f"{name}_odd", b, gb)
        return func(name, hl.select(y % 2 == 0, even[x, y / 2], odd[x, y / 2]))

    red = interleave("red", r_gr, r_r, r_b, r_gb)
    green_ = interleave("green", g_gr, g_r, g_b, g_gb)
    blue = interleave("blue", b_gr, b_r, b_b, b_gb)
    demosaiced = hl.Func("demosaiced")
    # A correction may have gone below zero: the unsigned result is read as signed.
    demosaiced[x, y, c] = hl.i16(hl.mux(c, [red[x, y], green_[x, y], blue[x, y]]))
    funcs |= {"g_r": g_r, "g_b": g_b}
    return demosaiced


def color_correct(
    hl: Module,
    image: Module,
    matrices: dict[str, Module],
    kelvin: Module,
    funcs: dict[str, Module],
) -> Module:
    """The colour matrix, interpolated in 1 / kelvin, in fixed point with 8 bits of
    fraction."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    matrix, corrected = hl.Func("matrix"), hl.Func("corrected")
    share = (1.0 / kelvin - 1.0 / 3200) / (1.0 / 7000 - 1.0 / 3200)
    mixed = matrices["matrix_3200"][x, y] * share
    mixed = mixed + matrices["matrix_7000"][x, y] * (1 - share)
    matrix[x, y] = hl.i16(mixed * 256.0)
    rgb = [hl.i32(image[x, y, i]) for i in range(3)]
    rows = []
    for row in range(3):
        total = matrix[3, row]
        for i in range(3):
            total = total + matrix[i, row] * rgb[i]
        rows.append(hl.i16(total / 256))
    corrected[x, y, c] = hl.mux(c, rows)
    funcs["matrix"] = matrix
    return corrected


def apply_curve(
    hl: Module, image: Module, params: dict[str, Module], funcs: dict[str, Module]
) -> Module:
    """Gamma, then contrast as two parabolas that meet at one half, from a table."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    curve, curved = hl.Func("curve"), hl.Func("curved")
    black, white = params["black_level"], params["white_level"]
    b = 2.0 - hl.pow(2.0, params["contrast"] / 100.0)
    a = 2.0 - 2.0 * b
    linear = hl.clamp(hl.f32(x - black) * (1.0 / (white - black)), 0.0, 1.0)
    g = hl.pow(linear, 1.0 / params["gamma"])
    upper = 1.0 - (a * (1.0 - g) * (1.0 - g) + b * (1.0 - g))
    z = hl.select(g > 0.5, upper, a * g * g + b * g)
    level = hl.u8(hl.clamp(z * 255.0 + 0.5, 0.0, 255.0))
    bright = hl.select(x > white, hl.u8(255), level)
    curve[x] = hl.select(x <= black, hl.u8(0), bright)
    curved[x, y, c] = curve[hl.clamp(image[x, y, c], 0, 1023)]
    funcs["curve"] = curve
    return curved


def sharpen(
    hl: Module, image: Module, amount: Module, funcs: dict[str, Module]
) -> Module:
    """Adds what a 1 2 1 blur in both directions takes away; the amount has 5 bits of
    fraction."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    average = hl.rounding_halving_add
    strength = hl.Func("sharpen_strength_x32")
    strength[()] = hl.u8_sat(amount * 32)
    unsharp_y, unsharp = hl.Func("unsharp_y"), hl.Func("unsharp")
    mask, sharpened = hl.Func("mask"), hl.Func("sharpened")
    ends = average(image[x, y - 1, c], image[x, y + 1, c])
    unsharp_y[x, y, c] = average(ends, image[x, y, c])
    ends = average(unsharp_y[x - 1, y, c], unsharp_y[x + 1, y, c])
    unsharp[x, y, c] = average(ends, unsharp_y[x, y, c])
    mask[x, y, c] = hl.i16(image[x, y, c]) - hl.i16(unsharp[x, y, c])
    sharpened[x, y, c] = hl.u8_sat(image[x, y, c] + (mask[x, y, c] * strength[()]) / 32)
    processed = hl.Func("processed")
    processed[x, y, c] = sharpened[x, y, c]
    funcs["sharpen_strength_x32"] = strength
    return processed


def tables(app: App) -> None:
    """What does not depend on the pixels is computed once."""
    for name in ("curve", "matrix", "sharpen_strength_x32"):
        app.funcs[name].compute_root()


def schedule_root(hl: Module, app: App) -> None:
    """Breadth first: every stage that others read from several places, as a whole."""
    x, y = hl.Var("x"), hl.Var("y")
    tables(app)
    for name in ("denoised", "deinterleaved", "g_r", "g_b", "demosaiced", "curved"):
        app.funcs[name].compute_root().vectorize(x, 16).parallel(y)
    app.output.vectorize(x, 16).parallel(y)


def schedule_strips(hl: Module, app: App) -> None:
    """Strips of 32 lines over the threads, two lines at a time; within a strip every
    stage slides along, so that no line is computed twice."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    yo, yi, yy, xi = hl.Var("yo"), hl.Var("yi"), hl.Var("yy"), hl.Var("xi")
    funcs, out = app.funcs, app.output
    round_up = hl.TailStrategy.RoundUp
    lanes = 2 * natural_lanes(hl, hl.UInt(16))
    tables(app)

    out.reorder(c, x, y).split(y, yi, yy, 2, round_up).split(yi, yo, yi, 16)
    out.vectorize(x, lanes, round_up).unroll(c).parallel(yo)
    for name in ("denoised", "deinterleaved", "g_r", "g_b", "curved"):
        funcs[name].store_at(out, yo).compute_at(out, yi)
    funcs["denoised"].tile(x, y, x, y, xi, yy, lanes, 2).vectorize(xi).unroll(yy)
    funcs["deinterleaved"].reorder(c, x, y).vectorize(x, lanes).unroll(c)
    for name in ("g_r", "g_b"):
        funcs[name].vectorize(x, lanes)
    # Even corners: what to take from which plane is then known for each lane.
    funcs["curved"].align_bounds(x, 2).align_bounds(y, 2)
    funcs["curved"].reorder(c, x, y).tile(x, y, x, y, xi, yy, lanes, 2)
    funcs["curved"].vectorize(xi).unroll(yy).unroll(c)
    for name in ("demosaiced", "corrected"):
        funcs[name].compute_at(funcs["curved"], x).reorder(c, x, y)
        funcs[name].vectorize(x).unroll(c)
    funcs["demosaiced"].unroll(y)

    # Whole vectors and whole strips, so that no tail remains; at least four vectors, so
    # that no stage is narrower than one.
    width, height = out.output_buffer().width(), out.output_buffer().height()
    out.bound(c, 0, 3).bound(x, 0, hl.max(width / lanes, 4) * lanes)
    out.bound(y, 0, height / 32 * 32)


def schedule_gpu(hl: Module, app: App) -> None:
    """Blocks of 16 x 8 threads with 2 x 2 pixels each, one of each site of the mosaic,
    so that what is taken from which plane is known; what neighbours read of the planes,
    of green and of the corrected image is in shared memory."""
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")
    xi, yi, tx, ty = hl.Var("xi"), hl.Var("yi"), hl.Var("tx"), hl.Var("ty")
    funcs, out = app.funcs, app.output
    tables(app)
    out.bound(c, 0, 3).align_bounds(x, 2).align_bounds(y, 2)
    out.tile(x, y, xi, yi, 2, 2).gpu_tile(x, y, tx, ty, 16, 8)
    out.reorder(xi, yi, c, tx, ty, x, y).unroll(xi).unroll(yi).unroll(c)
    curved = funcs["curved"].compute_at(out, x).align_bounds(x, 2).align_bounds(y, 2)
    curved.tile(x, y, xi, yi, 2, 2).reorder(xi, yi, c, x, y)
    curved.unroll(xi).unroll(yi).unroll(c).gpu_threads(x, y)
    for name in ("g_r", "g_b"):
        funcs[name].compute_at(out, x).gpu_threads(x, y)
    planes = funcs["deinterleaved"].compute_at(out, x)
    planes.reorder(c, x, y).unroll(c).gpu_threads(x, y)


SCHEDULES = {"root": schedule_root, "strips": schedule_strips}
GPU_SCHEDULES = {"gpu": schedule_gpu}


def with_numpy(raw: Array) -> Array:
    """The same as NumPy array operations, from a (H, W) uint16 mosaic; the output is as
    wide and high as the mosaic has pixels for, in whole pairs."""
    left, top = OFFSET
    height, width = raw.shape[0] - 2 * top, raw.shape[1] - 2 * left
    height, width = height // 2 * 2, width // 2 * 2
    beside = np.maximum(shift(raw, 0, -2), shift(raw, 0, 2))
    above = np.maximum(shift(raw, -2, 0), shift(raw, 2, 0))
    image = np.minimum(raw, np.maximum(beside, above))
    curved = TONE_CURVE[np.clip(_corrected(_demosaiced(image)), 0, 1023)]
    blurred = curved
    for axis in (1, 2):
        ends = _average(np.roll(blurred, 1, axis), np.roll(blurred, -1, axis))
        blurred = _average(ends, blurred)
    mask = (curved.astype(np.int16) - blurred) * int(SETTINGS["sharpen_strength"] * 32)
    out = np.clip(curved + mask // 32, 0, 255).astype(np.uint8)
    return np.asarray(out[:, top : top + height, left : left + width])


def shift(a: Array, dy: int, dx: int) -> Array:
    """``a[y + dy, x + dx]`` at y, x; wrong where that is outside."""
    return np.roll(a, (-dy, -dx), (0, 1))


def _average(a: Array, b: Array) -> Array:
    return np.asarray(((a.astype(np.uint32) + b + 1) >> 1).astype(a.dtype))


def _demosaiced(image: Array) -> Array:
    """(3, H, W) int16 from a mosaic; each colour at each of the four sites."""
    g_gr, r_r = image[0::2, 0::2], image[0::2, 1::2]
    b_b, g_gb = image[1::2, 0::2], image[1::2, 1::2]

    def apart(a: Array, b: Array) -> Array:
        return np.abs(a.astype(np.int32) - b)

    def green(a: Array, b: Array, c: Array, d: Array) -> Array:
        return np.where(apart(c, d) < apart(a, b), _average(c, d), _average(a, b))

    g_r = green(shift(g_gb, -1, 0), g_gb, shift(g_gr, 0, 1), g_gr)
    g_b = green(shift(g_gr, 1, 0), g_gr, shift(g_gb, 0, -1), g_gb)

    def between(f: Array, g: Array, here: Array, *at: tuple[int, int]) -> Array:
        error = here - _average(shift(g, *at[0]), shift(g, *at[1]))
        return error + _average(shift(f, *at[0]), shift(f, *at[1]))

    def diagonal(f: Array, g: Array, here: Array, dx: int, dy: int) -> Array:
        falling, rising = ((0, dx), (dy, 0)), ((0, 0), (dy, dx))
        less = apart(shift(f, *rising[0]), shift(f, *rising[1])) < apart(
            shift(f, *falling[0]), shift(f, *falling[1])
        )
        return np.where(
            less, between(f, g, here, *rising), between(f, g, here, *falling)
        )

    out = np.empty((3, *image.shape), np.uint16)
    out[0, 0::2, 0::2] = between(r_r, g_r, g_gr, (0, 0), (0, -1))
    out[0, 0::2, 1::2] = r_r
    out[0, 1::2, 0::2] = diagonal(r_r, g_r, g_b, -1, 1)
    out[0, 1::2, 1::2] = between(r_r, g_r, g_gb, (0, 0), (1, 0))
    out[1, 0::2, 0::2], out[1, 0::2, 1::2] = g_gr, g_r
    out[1, 1::2, 0::2], out[1, 1::2, 1::2] = g_b, g_gb
    out[2, 0::2, 0::2] = between(b_b, g_b, g_gr, (0, 0), (-1, 0))
    out[2, 0::2, 1::2] = diagonal(b_b, g_b, g_r, 1, -1)
    out[2, 1::2, 0::2] = b_b
    out[2, 1::2, 1::2] = between(b_b, g_b, g_gb, (0, 0), (0, 1))
    return out.view(np.int16)


def _corrected(image: Array) -> Array:
    f = np.float32
    kelvin = f(SETTINGS["color_temp"])
    share = (f(1) / kelvin - f(1 / 3200)) / f(1 / 7000 - 1 / 3200)
    mixed = MATRIX_3200 * share + MATRIX_7000 * (1 - share)
    matrix = (mixed * 256).astype(np.int16).astype(np.int32)
    total = np.tensordot(matrix[:, :3], image.astype(np.int32), 1)
    return np.asarray(((total + matrix[:, 3, None, None]) // 256).astype(np.int16))


def _tone_curve() -> Array:
    black, white = SETTINGS["black_level"], SETTINGS["white_level"]
    b = 2 - 2 ** (SETTINGS["contrast"] / 100)
    a = 2 - 2 * b
    level = np.arange(1024)
    g = np.clip((level - black) / (white - black), 0, 1) ** (1 / SETTINGS["gamma"])
    upper = 1 - (a * (1 - g) ** 2 + b * (1 - g))
    z = np.where(g > 0.5, upper, a * g * g + b * g)
    curve = np.where(level > white, 255, np.clip(z * 255 + 0.5, 0, 255))
    return np.where(level <= black, 0, curve).astype(np.uint8)


TONE_CURVE = _tone_curve()


def mosaic(image: Array) -> Array:
    """What a sensor would have recorded of a (3, H, W) uint8 image: the light, seen
    through the inverse of the colour matrix, one colour at each site. The border that
    the pipeline cuts off is added."""
    left, top = OFFSET
    light = (image / 255.0) ** SETTINGS["gamma"]
    light = np.pad(light, ((0, 0), (top, top + 2), (left, left + 2)), mode="edge")
    black, white = SETTINGS["black_level"], SETTINGS["white_level"]
    kelvin = SETTINGS["color_temp"]
    share = (1 / kelvin - 1 / 3200) / (1 / 7000 - 1 / 3200)
    matrix = MATRIX_3200 * share + MATRIX_7000 * (1 - share)
    levels = light * (white - black) + black - matrix[:, 3, None, None]
    sensor = np.tensordot(np.linalg.inv(matrix[:, :3]), levels, 1)
    raw = np.empty(sensor.shape[1:])
    for (dy, dx), colour in {(0, 0): 1, (0, 1): 0, (1, 0): 2, (1, 1): 1}.items():
        raw[dy::2, dx::2] = sensor[colour, dy::2, dx::2]
    return np.asarray(np.clip(np.rint(raw), black, white).astype(np.uint16))


def process(image: Array) -> Array:
    """Develops what a sensor would have recorded of a (3, H, W) uint8 photograph, or,
    if there is one channel alone, the mosaic itself."""
    import parhelion as hl

    raw = image[0].astype(np.uint16) if image.shape[0] == 1 else mosaic(image)
    left, top = OFFSET
    height, width = raw.shape[0] - 2 * top - 2, raw.shape[1] - 2 * left - 2
    app = algorithm(hl)
    schedule_root(hl, app)
    images = {"input": raw, "matrix_3200": MATRIX_3200, "matrix_7000": MATRIX_7000}
    return app.run(images, (width, height, 3))


if __name__ == "__main__":
    main("camera_pipe", process)
