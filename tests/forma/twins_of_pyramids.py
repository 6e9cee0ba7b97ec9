"""Programs of apps/forma as Python functions: pyramids and fused exposures.

Functions that programs share are written once. A program has them in the order in which
they are defined.
"""

from __future__ import annotations

from parhelion.forma import (
    Vector2,
    at,
    exp,
    mirror,
    parameter,
    program,
    sqrt,
    stencil,
    struct,
    vector,
)

# Exposure fusion


@struct
class rgb:
    r: float
    g: float
    b: float


@stencil
def split(X: Vector2[rgb]) -> object:
    return X.r, X.g, X.b


@stencil
def bounded(X: Vector2[float]) -> object:
    return min(max(X, 0.0), 1.0)


@stencil
def join(R: Vector2[float], G: Vector2[float], B: Vector2[float]) -> object:
    return rgb(R, G, B)


@stencil
def make_grey(X: Vector2[rgb]) -> object:
    return 0.299 * X.r + 0.587 * X.g + 0.114 * X.b


@stencil(name="laplacian")
def laplacian_of(X: Vector2[float]) -> object:
    return abs(X[-1, 0] + X[0, -1] + X[1, 0] + X[0, 1] - 4 * X)


@stencil(name="saturation")
def saturation_of(X: Vector2[rgb]) -> object:
    mean = (X.r + X.g + X.b) / 3
    r = X.r - mean
    g = X.g - mean
    b = X.b - mean
    return sqrt((r * r + g * g + b * b) / 3)


@stencil(name="well_exposed")
def exposure_of(X: Vector2[rgb]) -> object:
    r = X.r - 0.5
    g = X.g - 0.5
    b = X.b - 0.5
    return exp(-12.5 * (r * r + g * g + b * b))


@stencil
def multiply(L: Vector2[float], S: Vector2[float], E: Vector2[float]) -> object:
    return L * S * E + 1e-6


@stencil
def combine(
    W1: Vector2[float],
    X1: Vector2[rgb],
    W2: Vector2[float],
    X2: Vector2[rgb],
    W3: Vector2[float],
    X3: Vector2[rgb],
    W4: Vector2[float],
    X4: Vector2[rgb],
) -> object:
    w = W1 + W2 + W3 + W4
    return rgb(
        (W1 * X1.r + W2 * X2.r + W3 * X3.r + W4 * X4.r) / w,
        (W1 * X1.g + W2 * X2.g + W3 * X3.g + W4 * X4.g) / w,
        (W1 * X1.b + W2 * X2.b + W3 * X3.b + W4 * X4.b) / w,
    )


@vector
def compute_weights(X: Vector2[rgb]) -> object:
    grey = make_grey(X)
    laplacian = laplacian_of(mirror(grey))
    saturation = saturation_of(X)
    well_exposed = exposure_of(X)
    return multiply(laplacian, saturation, well_exposed)


@program
def exposure_fusion() -> object:
    M, N = parameter()
    image1, image2, image3, image4 = Vector2[rgb](M, N)
    weights1 = compute_weights(image1)
    weights2 = compute_weights(image2)
    weights3 = compute_weights(image3)
    weights4 = compute_weights(image4)
    return combine(
        weights1, image1, weights2, image2, weights3, image3, weights4, image4
    )


@stencil
def normalize(
    W1: Vector2[float], W2: Vector2[float], W3: Vector2[float], W4: Vector2[float]
) -> object:
    w = W1 + W2 + W3 + W4
    return W1 / w, W2 / w, W3 / w, W4 / w


# Pyramids


@stencil
def sample_x(X: Vector2[float]) -> object:
    return (X[(-1, 2), 0] + 2 * X[(0, 2), 0] + X[(1, 2), 0]) / 4


@stencil
def sample_y(Y: Vector2[float]) -> object:
    return (Y[0, (-1, 2)] + 2 * Y[0, (0, 2)] + Y[0, (1, 2)]) / 4


@stencil
def upsample_x_even(X: Vector2[float]) -> object:
    return (3 * X + X[-1, 0]) / 4


@stencil
def upsample_x_odd(X: Vector2[float]) -> object:
    return (3 * X + X[1, 0]) / 4


@stencil
def upsample_y_even(Y: Vector2[float]) -> object:
    return (3 * Y + Y[0, -1]) / 4


@stencil
def upsample_y_odd(Y: Vector2[float]) -> object:
    return (3 * Y + Y[0, 1]) / 4


@stencil
def subtract(X: Vector2[float], Y: Vector2[float]) -> object:
    return X - Y


@program
def pyramid() -> object:
    @vector
    def sample(Z: Vector2[float]) -> object:
        return sample_y(sample_x(Z))

    @vector
    def upsample(Z: Vector2[float]) -> object:
        wide = {at[(0, 2), 0]: upsample_x_even(Z), at[(1, 2), 0]: upsample_x_odd(Z)}
        return {
            at[0, (0, 2)]: upsample_y_even(wide),
            at[0, (1, 2)]: upsample_y_odd(wide),
        }

    M, N = parameter()
    image = Vector2[float](M, N)
    gaussian, laplacian = {}, {}
    gaussian[0] = image
    for i in range(1, 5):
        gaussian[i] = sample(gaussian[i - 1])
        laplacian[i - 1] = subtract(gaussian[i - 1], upsample(gaussian[i]))
    return laplacian[0], laplacian[1], laplacian[2], laplacian[3], gaussian[4]


@stencil
def add(X: Vector2[float], Y: Vector2[float]) -> object:
    return X + Y


@vector
def sample(Z: Vector2[float]) -> object:
    return sample_y(mirror(sample_x(mirror(Z))))


@program
def pyramid_mirror() -> object:
    @vector
    def upsample(Z: Vector2[float]) -> object:
        wide = {
            at[(0, 2), 0]: upsample_x_even(mirror(Z)),
            at[(1, 2), 0]: upsample_x_odd(mirror(Z)),
        }
        return {
            at[0, (0, 2)]: upsample_y_even(mirror(wide)),
            at[0, (1, 2)]: upsample_y_odd(mirror(wide)),
        }

    M, N = parameter()
    image = Vector2[float](M, N)
    gaussian, laplacian = {}, {}
    gaussian[0] = image
    for i in range(1, 5):
        gaussian[i] = sample(gaussian[i - 1])
        laplacian[i - 1] = subtract(gaussian[i - 1], upsample(gaussian[i]))
    return laplacian[0], laplacian[1], laplacian[2], laplacian[3], gaussian[4]


@vector
def upsample_x(X: Vector2[float]) -> object:
    return {
        at[(0, 2), 0]: upsample_x_even(mirror(X)),
        at[(1, 2), 0]: upsample_x_odd(mirror(X)),
    }


@vector
def upsample_y(Y: Vector2[float]) -> object:
    return {
        at[0, (0, 2)]: upsample_y_even(mirror(Y)),
        at[0, (1, 2)]: upsample_y_odd(mirror(Y)),
    }


@vector
def upsample(Z: Vector2[float]) -> object:
    return upsample_y(upsample_x(Z))


@vector
def descend(Z: Vector2[float]) -> object:
    next = sample(Z)
    return next, subtract(Z, upsample(next))


@vector
def ascend(next: Vector2[float], detail: Vector2[float]) -> object:
    return add(detail, upsample(next))


@stencil
def mix(
    W1: Vector2[float],
    X1: Vector2[float],
    W2: Vector2[float],
    X2: Vector2[float],
    W3: Vector2[float],
    X3: Vector2[float],
    W4: Vector2[float],
    X4: Vector2[float],
) -> object:
    return W1 * X1 + W2 * X2 + W3 * X3 + W4 * X4


@program
def exposure_pyramid() -> object:
    M, N = parameter()
    image1, image2, image3, image4 = Vector2[rgb](M, N)
    w1, w2, w3, w4 = {}, {}, {}, {}
    r1, r2, r3, r4 = {}, {}, {}, {}
    g1, g2, g3, g4 = {}, {}, {}, {}
    b1, b2, b3, b4 = {}, {}, {}, {}
    lr1, lr2, lr3, lr4 = {}, {}, {}, {}
    lg1, lg2, lg3, lg4 = {}, {}, {}, {}
    lb1, lb2, lb3, lb4 = {}, {}, {}, {}
    r, g, b, lr, lg, lb = {}, {}, {}, {}, {}, {}
    w1[0], w2[0], w3[0], w4[0] = normalize(
        compute_weights(image1),
        compute_weights(image2),
        compute_weights(image3),
        compute_weights(image4),
    )
    r1[0], g1[0], b1[0] = split(image1)
    r2[0], g2[0], b2[0] = split(image2)
    r3[0], g3[0], b3[0] = split(image3)
    r4[0], g4[0], b4[0] = split(image4)
    for i in range(1, 5):
        w1[i] = sample(w1[i - 1])
        w2[i] = sample(w2[i - 1])
        w3[i] = sample(w3[i - 1])
        w4[i] = sample(w4[i - 1])
        r1[i], lr1[i - 1] = descend(r1[i - 1])
        r2[i], lr2[i - 1] = descend(r2[i - 1])
        r3[i], lr3[i - 1] = descend(r3[i - 1])
        r4[i], lr4[i - 1] = descend(r4[i - 1])
        g1[i], lg1[i - 1] = descend(g1[i - 1])
        g2[i], lg2[i - 1] = descend(g2[i - 1])
        g3[i], lg3[i - 1] = descend(g3[i - 1])
        g4[i], lg4[i - 1] = descend(g4[i - 1])
        b1[i], lb1[i - 1] = descend(b1[i - 1])
        b2[i], lb2[i - 1] = descend(b2[i - 1])
        b3[i], lb3[i - 1] = descend(b3[i - 1])
        b4[i], lb4[i - 1] = descend(b4[i - 1])
        lr[i - 1] = mix(
            w1[i - 1],
            lr1[i - 1],
            w2[i - 1],
            lr2[i - 1],
            w3[i - 1],
            lr3[i - 1],
            w4[i - 1],
            lr4[i - 1],
        )
        lg[i - 1] = mix(
            w1[i - 1],
            lg1[i - 1],
            w2[i - 1],
            lg2[i - 1],
            w3[i - 1],
            lg3[i - 1],
            w4[i - 1],
            lg4[i - 1],
        )
        lb[i - 1] = mix(
            w1[i - 1],
            lb1[i - 1],
            w2[i - 1],
            lb2[i - 1],
            w3[i - 1],
            lb3[i - 1],
            w4[i - 1],
            lb4[i - 1],
        )
    r[4] = mix(w1[4], r1[4], w2[4], r2[4], w3[4], r3[4], w4[4], r4[4])
    g[4] = mix(w1[4], g1[4], w2[4], g2[4], w3[4], g3[4], w4[4], g4[4])
    b[4] = mix(w1[4], b1[4], w2[4], b2[4], w3[4], b3[4], w4[4], b4[4])
    for i in range(3, -1, -1):
        r[i] = ascend(r[i + 1], lr[i])
        g[i] = ascend(g[i + 1], lg[i])
        b[i] = ascend(b[i + 1], lb[i])
    return join(bounded(r[0]), bounded(g[0]), bounded(b[0]))
