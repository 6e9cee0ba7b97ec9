"""Generators that the tests run: in this process, from the command line, as modules."""

from __future__ import annotations

from typing import Any

import parhelion as hl

x, y, c = hl.vars("x y c")


@hl.alias(soft={"output.type": "uint8"})
@hl.alias(mirrored={"turn": "half", "strength": 3.0}, plain={"fast": False})
@hl.generator(name="soften")
class Soften(hl.Generator):
    """Averages pixels with their neighbours, and may turn the image."""

    fast = hl.GeneratorParam(True)
    strength = hl.GeneratorParam(1.0)
    turn = hl.GeneratorParam("none")
    radius = hl.GeneratorParam(1)

    image = hl.InputBuffer(hl.UInt(8), 2)
    lift = hl.InputScalar(hl.UInt(8))
    output = hl.OutputBuffer(None, 2)

    def generate(self) -> None:
        r = hl.RDom([(-self.radius, 2 * self.radius + 1)])
        padded = hl.BoundaryConditions.repeat_edge(self.image)
        softened, turned = hl.Func("softened"), hl.Func("turned")
        softened[x, y] = hl.sum(hl.u32(padded[x + r, y])) // (2 * self.radius + 1)
        width, height = self.image.width(), self.image.height()
        if self.turn == "none":
            turned[x, y] = softened[x, y]
        elif self.turn == "half":
            turned[x, y] = softened[width - 1 - x, height - 1 - y]
        else:
            raise ValueError(f"turn={self.turn}: none or half")
        kind = self.output.type()
        value = hl.f32(turned[x, y] + self.lift) * self.strength
        self.output[x, y] = hl.saturating_cast(kind, value)
        lanes = self.natural_vector_size(kind)
        self.output.vectorize(x, lanes, hl.TailStrategy.GuardWithIf)
        if self.fast:
            self.output.parallel(y)
        if self.turn != "none":
            turned.compute_at(self.output, y)


@hl.alias(measure={"image.type": "uint8", "weighted": True})
@hl.generator("statistics")
class Statistics:
    """Several outputs of several kinds, and inputs that depend on a parameter.

    It does not inherit from hl.Generator: the decorator sees to that.
    """

    weighted = hl.GeneratorParam(False)
    kind = hl.GeneratorParam(hl.Float(32))

    image = hl.InputBuffer(None, 3)
    pixels = hl.OutputBuffer([hl.Float(32), hl.Int(32)], 2)
    total = hl.OutputScalar(hl.Float(32))

    def configure(self: Any) -> None:
        if self.weighted:
            self.add_input("weight", hl.InputScalar(float))

    def generate(self: Any) -> None:
        r = hl.RDom([(0, 3)])
        level = hl.cast(self.kind, self.image[x, y, c])
        if self.weighted:
            level *= hl.cast(self.kind, self.weight)
        levels = hl.Func("levels")
        levels[x, y, c] = level
        self.pixels[x, y] = (hl.f32(hl.sum(levels[x, y, r])), x - y)
        area = hl.RDom([(0, self.image.width()), (0, self.image.height())])
        self.total[()] = hl.f32(0)
        self.total[()] += hl.f32(levels[area.x, area.y, 0])


@hl.generator("outline")
class Outline(hl.Generator):
    """One that is made of others, and left to an automatic scheduler."""

    image = hl.InputBuffer(hl.UInt(8), 2)
    output = hl.OutputBuffer(hl.Int(16), 2)

    def generate(self) -> None:
        params = {"output.type": hl.UInt(8), "fast": False, "radius": 2}
        soft = Soften.call(self.image, lift=0, generator_params=params)
        soft.compute_root()
        self.output[x, y] = hl.i16(self.image[x, y]) - hl.i16(soft[x, y])
        if self.using_autoscheduler():
            self.image.set_estimates([(0, 640), (0, 480)])
            self.output.set_estimates([(0, 640), (0, 480)])


if __name__ == "__main__":
    hl.main()
