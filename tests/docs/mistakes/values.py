"""Mistakes with numbers, types and conditions."""

from __future__ import annotations

from tests.docs.mistakes.mistake import Mistake

MISTAKES = (
    Mistake(
        "A type that does not exist",
        """\
f = hl.Func("f")
f[x] = hl.cast("unit8", x)
""",
        "Types are named as NumPy names them: `bool`, `int8` to `int64`, "
        "`uint8` to `uint64`, `float16`, `float32` and `float64`; or "
        "`hl.UInt(8)` and so on.",
        """\
f = hl.Func("f")
f[x] = hl.cast("uint8", x)
""",
    ),
    Mistake(
        "Python's `max` and `min`",
        """\
f = hl.Func("f")
f[x] = max(x, 3)
""",
        "Python's `max` compares at once, and the values of a pipeline "
        "are not known before it runs. The language has functions of "
        "these names.",
        """\
f = hl.Func("f")
f[x] = hl.max(x, 3)
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "`if` on a value of the pipeline",
        """\
f = hl.Func("f")
if x < 4:
    f[x] = 0
else:
    f[x] = 255
""",
        "Python decides an `if` once, while the pipeline is written; what "
        "you want is a choice at each point. `hl.select(condition, a, b)` "
        "is that choice, as `np.where` is for arrays.",
        """\
f = hl.Func("f")
f[x] = hl.select(x < 4, 0, 255)
print(np.asarray(f.realize([8])))
""",
    ),
    Mistake(
        "`and`, `or`, `not`, and `a < x < b`",
        """\
f = hl.Func("f")
f[x] = hl.select(x > 1 and x < 4, 255, 0)
""",
        "These words of Python need a plain True or False. As with "
        "NumPy's arrays, write `&`, `|` and `~`, with parentheses around "
        "each comparison.",
        """\
f = hl.Func("f")
f[x] = hl.select((x > 1) & (x < 4), 255, 0)
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "Python's `math` and `int`",
        """\
import math

f = hl.Func("f")
f[x] = math.sqrt(x)
""",
        "`math` works on Python's numbers. The language has the same "
        "functions, of floats: convert an integer with `hl.f32` first.",
        """\
f = hl.Func("f")
f[x] = hl.sqrt(hl.f32(x))
print(np.asarray(f.realize([5])))
""",
    ),
    Mistake(
        "A loop of Python over an extent that is not known",
        """\
image = hl.ImageParam(hl.UInt(8), 1, "image")
total = hl.Func("total")
total[()] = sum([image[k] for k in range(image.width())])
""",
        "The width of an ImageParam is known when an image is there. What "
        "loops in the compiled program is an RDom; a loop of Python "
        "writes one term after the other into the definition, and is "
        "right for a few numbers that you know.",
        """\
image = hl.ImageParam(hl.UInt(8), 1, "image")
total = hl.Func("total")
r = hl.RDom([(0, image.width())], "r")
total[()] = hl.sum(hl.u32(image[r]))
image.set(photo[0])
print(np.asarray(total.realize()), photo[0].sum())
""",
    ),
    Mistake(
        "A number that its type does not hold",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = image[x, y] + 300
""",
        "A Python number takes the type of what it meets, here uint8, "
        "which ends at 255. Make the pixel wider before you add to it.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u16(image[x, y]) + 300
print(np.asarray(f.realize([8, 6])).max())
""",
    ),
    Mistake(
        "Bytes that wrap around",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = image[x, y] + 100
print(photo[5], np.asarray(f.realize([8, 6]))[5])
""",
        "No error: the arithmetic of bytes is done in bytes, as in NumPy, "
        "and 200 + 100 becomes 44. Compute in a wider type, and come "
        "back with `hl.u8_sat`, which limits the value to 0 … 255.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u8_sat(hl.u16(image[x, y]) + 100)
print(np.asarray(f.realize([8, 6]))[5])
""",
    ),
    Mistake(
        "A difference of bytes",
        """\
image = hl.Buffer(photo, name="image")
slope = hl.Func("slope")
slope[x, y] = image[x, y] - image[x + 1, y]
print(np.asarray(slope.realize([4, 1])))
""",
        "A byte has no sign, so that -5 becomes 251. Convert one side to "
        "a type with a sign, here int16; the other follows.",
        """\
image = hl.Buffer(photo, name="image")
slope = hl.Func("slope")
slope[x, y] = hl.i16(image[x, y]) - image[x + 1, y]
print(np.asarray(slope.realize([4, 1])))
""",
    ),
    Mistake(
        "A division of integers",
        """\
f = hl.Func("f")
f[x] = x / 2 * 2.0
print(np.asarray(f.realize([6])))
""",
        "`/` of two integers is an integer, rounded down, as `//` is: 3 / "
        "2 is 1. Make one of them a float where you want the fraction.",
        """\
f = hl.Func("f")
f[x] = hl.f32(x) / 2 * 2.0
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "A float that becomes a byte",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u8(image[x, y] * 1.5)
print(photo[5], np.asarray(f.realize([8, 6]))[5])
""",
        "`hl.u8(...)` cuts the fraction off and keeps the lowest eight "
        "bits, so bright pixels turn dark. `hl.u8_sat` limits; `hl.round` "
        "before it rounds.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u8_sat(hl.round(image[x, y] * 1.5))
print(np.asarray(f.realize([8, 6]))[5])
""",
    ),
    Mistake(
        "An update of another type",
        """\
f = hl.Func("f")
f[x] = hl.u8(0)
f[x] += x
""",
        "The first definition decides the type of a Func; an update never "
        "widens it by itself. Here `hl.u8(0)` made it uint8. Begin with a "
        "value of the type that you want in the end.",
        """\
f = hl.Func("f")
f[x] = 0
f[x] += x
print(np.asarray(f.realize([4])))
""",
    ),
    Mistake(
        "An index that is a float",
        """\
image = hl.Buffer(photo, name="image")
small = hl.Func("small")
small[x, y] = image[x * 1.6, y]
""",
        "Pixels have whole coordinates. Say how the place is rounded: "
        "`hl.i32` cuts off the fraction; for a value between pixels read "
        "the neighbours and weight them.",
        """\
image = hl.Buffer(photo, name="image")
small = hl.Func("small")
small[x, y] = image[hl.i32(x * 1.6), y]
print(np.asarray(small.realize([5, 1])))
""",
    ),
    Mistake(
        "A sum of bytes in a byte",
        """\
image = hl.Buffer(photo, name="image")
r = hl.RDom([(0, 8)], "r")
row = hl.Func("row")
row[y] = hl.sum(image[r, y])
print(np.asarray(row.realize([6])))
""",
        "`hl.sum` adds in the type of what it adds: bytes wrap. (For "
        "whole arrays, `array.sum()` has 64 bits, as in NumPy.) Convert "
        "the pixel inside of the sum.",
        """\
image = hl.Buffer(photo, name="image")
r = hl.RDom([(0, 8)], "r")
row = hl.Func("row")
row[y] = hl.sum(hl.u32(image[r, y]))
print(np.asarray(row.realize([6])))
""",
    ),
)
