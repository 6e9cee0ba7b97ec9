"""Programs of apps/forma as Python functions: stencils, Canny, denoising."""

# A point L is no constant, though its name is in capitals.
# ruff: noqa: SIM300

from __future__ import annotations

from parhelion.forma import (
    Vector2,
    Vector3,
    at,
    clamped,
    constant,
    int8,
    int16,
    mirror,
    parameter,
    program,
    sqrt,
    stencil,
    struct,
)


@program
def emboss() -> object:
    @stencil(name="emboss")
    def embossed(X: Vector2[float]) -> object:
        return X[1, 0] + X[0, 1] - X[-1, 0] - X[0, -1] + X

    M, N = parameter()
    image = Vector2[float](M, N)
    return embossed(image)


@program
def blur() -> object:
    @stencil
    def blurx(X: Vector2[float]) -> object:
        return X[-1, 0] + X + X[1, 0]

    @stencil
    def blury(Y: Vector2[float]) -> object:
        return Y[0, -1] + Y + Y[0, 1]

    M, N = parameter()
    image = Vector2[float](M, N)
    return blury(blurx(image))


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
        return (3 * X + X[-1, 0]) / 4

    @stencil
    def upsample_x_odd(X: Vector2[int]) -> object:
        return (3 * X + X[1, 0]) / 4

    @stencil
    def upsample_y_even(Y: Vector2[int]) -> object:
        return (3 * Y + Y[0, -1]) / 4

    @stencil
    def upsample_y_odd(Y: Vector2[int]) -> object:
        return (3 * Y + Y[0, 1]) / 4

    M, N = parameter()
    image = Vector2[int](M, N)
    spread = at[(0, 2), 0](upsample_x_even(image))
    wide = {
        at[(0, 2), 0]: upsample_x_even(image),
        at[(1, 2), 0]: upsample_x_odd(image),
    }
    large = {
        at[0, (0, 2)]: upsample_y_even(wide),
        at[0, (1, 2)]: upsample_y_odd(wide),
    }
    return large, spread


@program
def canny() -> object:
    @struct
    class gradient:
        x: int16
        y: int16

    @stencil
    def gauss_x(X: Vector2[int16]) -> object:
        return int16((X[-2, 0] + 4 * X[-1, 0] + 6 * X + 4 * X[1, 0] + X[2, 0] + 8) / 16)

    @stencil
    def gauss_y(X: Vector2[int16]) -> object:
        return int16((X[0, -2] + 4 * X[0, -1] + 6 * X + 4 * X[0, 1] + X[0, 2] + 8) / 16)

    @stencil
    def sobel(X: Vector2[int16]) -> object:
        x = X[1, -1] + 2 * X[1, 0] + X[1, 1] - X[-1, -1] - 2 * X[-1, 0] - X[-1, 1]
        y = X[-1, 1] + 2 * X[0, 1] + X[1, 1] - X[-1, -1] - 2 * X[0, -1] - X[1, -1]
        return gradient(int16(x), int16(y)), x * x + y * y

    @stencil
    def suppress(G: Vector2[gradient], L: Vector2[int]) -> object:
        across = abs(G.x) * 13573
        up = abs(G.y) * 32768
        side = L > L[-1, 0] and L >= L[1, 0]
        above = L > L[0, -1] and L >= L[0, 1]
        falling = L > L[-1, -1] and L > L[1, 1]
        rising = L > L[1, -1] and L > L[-1, 1]
        diagonal = falling if (G.x < 0) == (G.y < 0) else rising
        steep = up > across + abs(G.x) * 65536
        is_longest = side if up < across else above if steep else diagonal
        return L if is_longest else 0

    @stencil
    def connect(L: Vector2[int], low: int, high: int) -> object:
        near = max(
            max(max(L[-1, -1], L[0, -1]), max(L[1, -1], L[-1, 0])),
            max(max(L[1, 0], L[-1, 1]), max(L[0, 1], L[1, 1])),
        )
        is_edge = L > high or (L > low and near > high)
        return int8(is_edge)

    M, N, low, high = parameter()
    image = Vector2[int16](M, N)
    blurred = gauss_y(clamped(gauss_x(clamped(image))))
    slope, length = sobel(clamped(blurred))
    edges = suppress(slope, constant(length, 0))
    return connect(constant(edges, 0), low * low, high * high)


@program
def rician_2d() -> object:
    M, N = parameter()
    sigma, lambda_ = parameter(float)
    f = Vector2[float](M, N)

    @stencil
    def diffusivity(U: Vector2[float]) -> object:
        left = U - U[-1, 0]
        right = U - U[1, 0]
        up = U - U[0, -1]
        down = U - U[0, 1]
        return 1 / sqrt(1e-20 + right * right + left * left + down * down + up * up)

    @stencil
    def bessel_ratio(U: Vector2[float], F: Vector2[float], variance: float) -> object:
        s = U * F / variance
        return (
            s
            * (2.38944 + s * (0.950037 + s))
            / (4.65314 + s * (2.57541 + s * (1.48937 + s)))
        )

    @stencil
    def descend(
        U: Vector2[float],
        G: Vector2[float],
        R: Vector2[float],
        F: Vector2[float],
        gamma: float,
    ) -> object:
        pull = (
            U[1, 0] * G[1, 0]
            + U[-1, 0] * G[-1, 0]
            + U[0, 1] * G[0, 1]
            + U[0, -1] * G[0, -1]
        )
        weight = G[1, 0] + G[-1, 0] + G[0, 1] + G[0, -1]
        return (U + 5 * (pull + gamma * F * R)) / (1 + 5 * (weight + gamma))

    u, g, r = {}, {}, {}
    variance = sigma * sigma
    gamma = lambda_ / variance
    u[0] = f
    for i in range(1, 11):
        g[i] = diffusivity(mirror(u[i - 1]))
        r[i] = bessel_ratio(u[i - 1], f, variance)
        u[i] = descend(mirror(u[i - 1]), mirror(g[i]), r[i], f, gamma)
    return u[10]


@program
def rician_3d() -> object:
    M, N, K = parameter()
    sigma, lambda_ = parameter(float)
    f = Vector3[float](M, N, K)

    @stencil
    def diffusivity(U: Vector3[float]) -> object:
        left = U - U[-1, 0, 0]
        right = U - U[1, 0, 0]
        up = U - U[0, -1, 0]
        down = U - U[0, 1, 0]
        front = U - U[0, 0, -1]
        back = U - U[0, 0, 1]
        return 1 / sqrt(
            1e-20
            + right * right
            + left * left
            + down * down
            + up * up
            + back * back
            + front * front
        )

    @stencil
    def bessel_ratio(U: Vector3[float], F: Vector3[float], variance: float) -> object:
        s = U * F / variance
        return (
            s
            * (2.38944 + s * (0.950037 + s))
            / (4.65314 + s * (2.57541 + s * (1.48937 + s)))
        )

    @stencil
    def descend(
        U: Vector3[float],
        G: Vector3[float],
        R: Vector3[float],
        F: Vector3[float],
        gamma: float,
    ) -> object:
        pull = (
            U[1, 0, 0] * G[1, 0, 0]
            + U[-1, 0, 0] * G[-1, 0, 0]
            + U[0, 1, 0] * G[0, 1, 0]
            + U[0, -1, 0] * G[0, -1, 0]
            + U[0, 0, 1] * G[0, 0, 1]
            + U[0, 0, -1] * G[0, 0, -1]
        )
        weight = (
            G[1, 0, 0]
            + G[-1, 0, 0]
            + G[0, 1, 0]
            + G[0, -1, 0]
            + G[0, 0, 1]
            + G[0, 0, -1]
        )
        return (U + 5 * (pull + gamma * F * R)) / (1 + 5 * (weight + gamma))

    u, g, r = {}, {}, {}
    variance = sigma * sigma
    gamma = lambda_ / variance
    u[0] = f
    for i in range(1, 6):
        g[i] = diffusivity(mirror(u[i - 1]))
        r[i] = bessel_ratio(u[i - 1], f, variance)
        u[i] = descend(mirror(u[i - 1]), mirror(g[i]), r[i], f, gamma)
    return u[5]
