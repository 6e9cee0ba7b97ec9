"""The paper's listings as Python functions, each under the number of its listing.

Functions that listings share are written once; those of one program alone may be inside
of it.
"""

from __future__ import annotations

from parhelion.forma import (
    Twin,
    Vector2,
    at,
    constant,
    exp,
    int8,
    parameter,
    program,
    sqrt,
    stencil,
    struct,
    vector,
)


@struct
class RGB:
    r: int8
    g: int8
    b: int8


@program
def hello() -> object:
    M, N = parameter()
    input = Vector2[RGB](M, N)
    output = input
    return output


@stencil
def jacobi2d(X: Vector2[int]) -> object:
    y_pt = 4 * X - (X[-1, 0] + X[0, -1] + X[1, 0] + X[0, 1])
    return y_pt


@program
def jacobi() -> object:
    M, N = parameter()
    x = Vector2[int](M, N)
    y = jacobi2d(constant(x, 0))
    return y


@program
def sampling() -> object:
    @stencil
    def sample_x(X: Vector2[int]) -> object:
        x_pt = (X[(-1, 2), 0] + 2 * X[(0, 2), 0] + X[(1, 2), 0]) / 4
        return x_pt

    @stencil
    def sample_y(Y: Vector2[int]) -> object:
        y_pt = (Y[0, (-1, 2)] + 2 * Y[0, (0, 2)] + Y[0, (1, 2)]) / 4
        return y_pt

    M, N = parameter()
    image = Vector2[int](M, N)
    temp = sample_x(image)
    return sample_y(temp)


@program
def extrapolation() -> object:
    @stencil
    def upsample_x_even(X: Vector2[int]) -> object:
        x_even = (3 * X + X[-1, 0]) / 4
        return x_even

    M, N = parameter()
    image = Vector2[int](M, N)
    temp = at[(0, 2), 0](upsample_x_even(image))
    return temp


@stencil
def upsample_x_even(X: Vector2[int]) -> object:
    return (3 * X + X[-1, 0]) / 4


@stencil
def upsample_x_odd(X: Vector2[int]) -> object:
    return (3 * X + X[1, 0]) / 4


@stencil
def upsample_y_even(X: Vector2[int]) -> object:
    return (3 * X + X[0, -1]) / 4


@stencil
def upsample_y_odd(X: Vector2[int]) -> object:
    return (3 * X + X[0, 1]) / 4


@program
def compose() -> object:
    M, N = parameter()
    image = Vector2[int](M, N)
    temp = {
        at[(0, 2), 0]: upsample_x_even(image),
        at[(1, 2), 0]: upsample_x_odd(image),
    }
    output = {
        at[0, (0, 2)]: upsample_y_even(temp),
        at[0, (1, 2)]: upsample_y_odd(temp),
    }
    return output


@program
def crop() -> object:
    M, N = parameter()
    x = Vector2[int](M, N)
    y = x[3:26, 5:30]
    z = at[3:, 5:](x)
    return y, z


@program
def stacked() -> object:
    M, N = parameter()
    x, y, z = Vector2[int](M, N)
    stack = {at[0:, 0:, 0:]: x, at[0:, 0:, 1:]: y, at[0:, 0:, 2:]: z}
    return stack


@program
def boundary() -> object:
    @stencil
    def jacobi1d(X: Vector2[int]) -> object:
        return (X[-1, 0] + 2 * X + X[1, 0]) / 4

    @stencil
    def bdy0(X: Vector2[int]) -> object:
        return (3 * X + X[1, 0]) / 4

    @stencil
    def bdyN(X: Vector2[int]) -> object:
        return (3 * X + X[-1, 0]) / 4

    N = parameter()
    a = Vector2[int](N, N)
    b = {
        at[0:, 0:]: bdy0(a[0:2, 0:N])[0:1, 0:N],
        at[1:, 0:]: jacobi1d(a)[1 : N - 1, 0:N],
        at[N - 1 :, 0:]: bdyN(a[N - 2 : N, 0:N])[1:2, 0:N],
    }
    return b


@struct
class rgb:
    r: float
    g: float
    b: float


@stencil
def make_grey(X: Vector2[rgb]) -> object:
    return 0.299 * X.r + 0.587 * X.g + 0.114 * X.b


# Functions and variables have names apart in Forma, and in Python have not.
@stencil(name="laplacian")
def laplacian_of(X: Vector2[float]) -> object:
    return abs(X[-1, 0] + X[1, 0] + X[0, -1] + X[0, 1] - 4 * X)


@stencil(name="saturation")
def saturation_of(X: Vector2[rgb]) -> object:
    mean = (X.r + X.g + X.b) / 3
    return sqrt(
        (
            (X.r - mean) * (X.r - mean)
            + (X.g - mean) * (X.g - mean)
            + (X.b - mean) * (X.b - mean)
        )
        / 3
    )


@stencil(name="well_exposed")
def exposure_of(X: Vector2[rgb]) -> object:
    r = X.r - 0.5
    g = X.g - 0.5
    b = X.b - 0.5
    return exp(-12.5 * r * r) * exp(-12.5 * g * g) * exp(-12.5 * b * b)


@stencil
def multiply(L: Vector2[float], S: Vector2[float], E: Vector2[float]) -> object:
    return L * S * E + 1e-6


@stencil
def combine(
    W1: Vector2[float], X1: Vector2[rgb], W2: Vector2[float], X2: Vector2[rgb]
) -> object:
    w = W1 + W2
    return rgb(
        (W1 * X1.r + W2 * X2.r) / w,
        (W1 * X1.g + W2 * X2.g) / w,
        (W1 * X1.b + W2 * X2.b) / w,
    )


@vector
def compute_weights(X: Vector2[rgb]) -> object:
    grey = make_grey(X)
    laplacian = laplacian_of(grey)
    saturation = saturation_of(X)
    well_exposed = exposure_of(X)
    return multiply(laplacian, saturation, well_exposed)


@program
def exposure() -> object:
    M, N = parameter()
    image1, image2 = Vector2[rgb](M, N)
    weights1 = compute_weights(image1)
    weights2 = compute_weights(image2)
    return combine(weights1, image1, weights2, image2)


@program
def pyramid() -> object:
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

    @vector
    def sample(Z: Vector2[float]) -> object:
        return sample_y(sample_x(Z))

    @vector
    def upsample_x(X: Vector2[float]) -> object:
        return {
            at[(0, 2), (0, 1)]: upsample_x_even(X),
            at[(1, 2), (0, 1)]: upsample_x_odd(X),
        }

    @vector
    def upsample_y(Y: Vector2[float]) -> object:
        return {
            at[(0, 1), (0, 2)]: upsample_y_even(Y),
            at[(0, 1), (1, 2)]: upsample_y_odd(Y),
        }

    @vector
    def upsample(Z: Vector2[float]) -> object:
        return upsample_y(upsample_x(Z))

    M, N = parameter()
    image = Vector2[float](M, N)
    gaussian = {}
    laplacian = {}
    gaussian[0] = image
    for i in range(1, 4):
        gaussian[i] = sample(gaussian[i - 1])
        laplacian[i - 1] = subtract(gaussian[i - 1], upsample(gaussian[i]))
    laplacian[3] = gaussian[3]
    return laplacian[0], laplacian[1], laplacian[2], laplacian[3]


@program
def emboss() -> object:
    @stencil(name="emboss")
    def embossed(X: Vector2[float]) -> object:
        return X[1, 0] + X[0, 1] - X[-1, 0] - X[0, -1] + X

    M, N = parameter()
    input = Vector2[float](M, N)
    return embossed(input)


@stencil
def blurx(X: Vector2[float]) -> object:
    return X[-1, 0] + X + X[1, 0]


@stencil
def blury(Y: Vector2[float]) -> object:
    return Y[0, -1] + Y + Y[0, 1]


@program
def blur() -> object:
    M, N = parameter()
    input = Vector2[float](M, N)
    return blury(blurx(input))


TWINS: dict[int, Twin] = {
    3: hello,
    4: jacobi,
    5: sampling,
    6: extrapolation,
    7: compose,
    8: crop,
    9: stacked,
    10: boundary,
    11: exposure,
    12: pyramid,
    14: emboss,
    15: blur,
}
