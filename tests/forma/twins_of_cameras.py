"""A program of apps/forma as a Python function: the camera pipe."""

from __future__ import annotations

from parhelion.forma import (
    Vector2,
    at,
    int8,
    int16,
    parameter,
    program,
    sqrt,
    stencil,
    struct,
    vector,
)


@program
def camera_pipe() -> object:
    @struct
    class rgb:
        r: int16
        g: int16
        b: int16

    @struct
    class rgb8:
        r: int8
        g: int8
        b: int8

    M, N = parameter()
    kelvin, contrast, sharpening, black, white = parameter(float)
    raw = Vector2[int16](M, N)

    @stencil
    def hot_pixels(X: Vector2[int16]) -> object:
        most = max(max(X[-2, 0], X[2, 0]), max(X[0, -2], X[0, 2]))
        return int16(max(min(X, most), 0))

    @stencil
    def deinterleave(X: Vector2[int16]) -> object:
        return (
            X[(0, 2), (0, 2)],
            X[(1, 2), (0, 2)],
            X[(0, 2), (1, 2)],
            X[(1, 2), (1, 2)],
        )

    @stencil
    def green_at_r(GR: Vector2[int16], GB: Vector2[int16]) -> object:
        across = abs(GR[1, 0] - GR)
        up = abs(GB[0, -1] - GB)
        return int16(((GR[1, 0] + GR if across < up else GB[0, -1] + GB) + 1) / 2)

    @stencil
    def green_at_b(GR: Vector2[int16], GB: Vector2[int16]) -> object:
        across = abs(GB[-1, 0] - GB)
        up = abs(GR[0, 1] - GR)
        return int16(((GB[-1, 0] + GB if across < up else GR[0, 1] + GR) + 1) / 2)

    @stencil
    def at_gr(
        G: Vector2[int16],
        R: Vector2[int16],
        R_: Vector2[int16],
        B: Vector2[int16],
        B_: Vector2[int16],
    ) -> object:
        r = G - (R_ + R_[-1, 0] + 1) / 2 + (R + R[-1, 0] + 1) / 2
        b = G - (B_ + B_[0, -1] + 1) / 2 + (B + B[0, -1] + 1) / 2
        return rgb(int16(r), G, int16(b))

    @stencil
    def at_gb(
        G: Vector2[int16],
        R: Vector2[int16],
        R_: Vector2[int16],
        B: Vector2[int16],
        B_: Vector2[int16],
    ) -> object:
        r = G - (R_ + R_[0, 1] + 1) / 2 + (R + R[0, 1] + 1) / 2
        b = G - (B_ + B_[1, 0] + 1) / 2 + (B + B[1, 0] + 1) / 2
        return rgb(int16(r), G, int16(b))

    @stencil
    def at_r(
        G: Vector2[int16], R: Vector2[int16], B: Vector2[int16], B_: Vector2[int16]
    ) -> object:
        rising = abs(B - B[1, -1])
        falling = abs(B[1, 0] - B[0, -1])
        green = (B_ + B_[1, -1] if rising < falling else B_[1, 0] + B_[0, -1]) + 1
        blue = (B + B[1, -1] if rising < falling else B[1, 0] + B[0, -1]) + 1
        return rgb(R, G, int16(G - green / 2 + blue / 2))

    @stencil
    def at_b(
        G: Vector2[int16], B: Vector2[int16], R: Vector2[int16], R_: Vector2[int16]
    ) -> object:
        rising = abs(R - R[-1, 1])
        falling = abs(R[-1, 0] - R[0, 1])
        green = (R_ + R_[-1, 1] if rising < falling else R_[-1, 0] + R_[0, 1]) + 1
        red = (R + R[-1, 1] if rising < falling else R[-1, 0] + R[0, 1]) + 1
        return rgb(int16(G - green / 2 + red / 2), G, B)

    @vector
    def demosaic(raw: Vector2[int16]) -> object:
        gr, r, b, gb = deinterleave(raw)
        g_r = green_at_r(gr, gb)
        g_b = green_at_b(gr, gb)
        return {
            at[(0, 2), (0, 2)]: at_gr(gr, r, g_r, b, g_b),
            at[(1, 2), (0, 2)]: at_r(g_r, r, b, g_b),
            at[(0, 2), (1, 2)]: at_b(g_b, b, r, g_r),
            at[(1, 2), (1, 2)]: at_gb(gb, r, g_r, b, g_b),
        }

    @stencil
    def correct(X: Vector2[rgb], x: float) -> object:
        y = 1 - x
        rr = int16(256 * (1.6697 * x + 2.2997 * y))
        rg = int16(256 * (-0.2693 * x - 0.4478 * y))
        rb = int16(256 * (-0.4004 * x + 0.1706 * y))
        r = int16(256 * (-42.4346 * x - 39.0923 * y))
        gr = int16(256 * (-0.3576 * x - 0.3826 * y))
        gg = int16(256 * (1.0615 * x + 1.5906 * y))
        gb = int16(256 * (1.5949 * x - 0.208 * y))
        g = int16(256 * (-37.1158 * x - 25.4311 * y))
        br = int16(256 * (-0.2175 * x - 0.0888 * y))
        bg = int16(256 * (-1.8751 * x - 0.7344 * y))
        bb = int16(256 * (6.964 * x + 2.2832 * y))
        b = int16(256 * (-26.697 * x - 20.0826 * y))
        return rgb(
            int16(min(max(rr * X.r + rg * X.g + rb * X.b + r, 0) / 256, 1023)),
            int16(min(max(gr * X.r + gg * X.g + gb * X.b + g, 0) / 256, 1023)),
            int16(min(max(br * X.r + bg * X.g + bb * X.b + b, 0) / 256, 1023)),
        )

    @stencil
    def curve(X: Vector2[rgb], black: float, white: float, steep: float) -> object:
        scale = 1 / (white - black)
        r = sqrt(min(max((X.r - black) * scale, 0.0), 1.0))
        g = sqrt(min(max((X.g - black) * scale, 0.0), 1.0))
        b = sqrt(min(max((X.b - black) * scale, 0.0), 1.0))
        r_ = min(r, 1 - r)
        g_ = min(g, 1 - g)
        b_ = min(b, 1 - b)
        low_r = ((2 - 2 * steep) * r_ + steep) * r_
        low_g = ((2 - 2 * steep) * g_ + steep) * g_
        low_b = ((2 - 2 * steep) * b_ + steep) * b_
        high_r = 1 - low_r if r > 0.5 else low_r
        high_g = 1 - low_g if g > 0.5 else low_g
        high_b = 1 - low_b if b > 0.5 else low_b
        return rgb(
            int16(min(max(255 * high_r + 0.5, 0.0), 255.0)),
            int16(min(max(255 * high_g + 0.5, 0.0), 255.0)),
            int16(min(max(255 * high_b + 0.5, 0.0), 255.0)),
        )

    @stencil
    def blur_y(X: Vector2[rgb]) -> object:
        r = (X[0, -1].r + X[0, 1].r + 1) / 2
        g = (X[0, -1].g + X[0, 1].g + 1) / 2
        b = (X[0, -1].b + X[0, 1].b + 1) / 2
        return rgb(
            int16((r + X.r + 1) / 2), int16((g + X.g + 1) / 2), int16((b + X.b + 1) / 2)
        )

    @stencil
    def sharpen(X: Vector2[rgb], Y: Vector2[rgb], strength: int) -> object:
        r = ((Y[-1, 0].r + Y[1, 0].r + 1) / 2 + Y.r + 1) / 2
        g = ((Y[-1, 0].g + Y[1, 0].g + 1) / 2 + Y.g + 1) / 2
        b = ((Y[-1, 0].b + Y[1, 0].b + 1) / 2 + Y.b + 1) / 2
        down_r = (int16(strength * (X.r - r)) + 32768) / 32 - 1024
        down_g = (int16(strength * (X.g - g)) + 32768) / 32 - 1024
        down_b = (int16(strength * (X.b - b)) + 32768) / 32 - 1024
        return rgb8(
            int8(min(max(X.r + down_r, 0), 255)),
            int8(min(max(X.g + down_g, 0), 255)),
            int8(min(max(X.b + down_b, 0), 255)),
        )

    image = demosaic(hot_pixels(raw))
    share = (1 / kelvin - 1 / 3200.0) / (1 / 7000.0 - 1 / 3200.0)
    levels = curve(correct(image, share), black, white, 2 - pow(2, contrast / 100))
    strength = min(max(int(32 * sharpening), 0), 255)
    sharp = sharpen(levels, blur_y(levels), strength)
    return sharp[16 : M - 17 + 1, 12 : N - 13 + 1]
