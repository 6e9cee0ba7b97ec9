"""Mistakes with images, sizes and arrays."""

from __future__ import annotations

from tests.docs.mistakes.mistake import Mistake

MISTAKES = (
    Mistake(
        "A NumPy array with Vars as its indices",
        """\
f = hl.Func("f")
f[x, y] = photo[x, y] + 1
""",
        "A NumPy array has elements at numbers, and x is not a number "
        "yet. An `hl.Buffer` of the array shares its memory and can be "
        "read at Vars. x comes first: `image[x, y]` is `photo[y, x]`.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = image[x, y] + 1
print(np.array_equal(f.realize([8, 6]), photo + 1))
""",
    ),
    Mistake(
        "An image that is too small",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = image[x - 1, y] / 2 + image[x + 1, y] / 2
f.realize([8, 6])
""",
        "The first pixel asks for one at -1, and the last for one at 8. "
        "Nothing is read outside of an image: the program stops before it "
        "computes anything. Say what lies outside, with one of "
        "`hl.BoundaryConditions`, or compute fewer pixels.",
        """\
image = hl.Buffer(photo, name="image")
edge = hl.BoundaryConditions.repeat_edge(image)
f = hl.Func("f")
f[x, y] = edge[x - 1, y] / 2 + edge[x + 1, y] / 2
f.realize([8, 6])
""",
    ),
    Mistake(
        "Sizes in the order of an array's shape",
        """\
image = hl.Buffer(np.zeros((48, 64), np.uint8), name="image")
f = hl.Func("f")
f[x, y] = 255 - image[x, y]
f.realize([48, 64])
""",
        "`realize` takes the extent of x first, that is the width. With "
        "the names of the Vars no order has to be kept in mind, and "
        '`realize(shape, axes="yx")` takes the shape of an array.',
        """\
image = hl.Buffer(np.zeros((48, 64), np.uint8), name="image")
f = hl.Func("f")
f[x, y] = 255 - image[x, y]
f.realize([64, 48])
f.realize({"y": 48, "x": 64})
""",
    ),
    Mistake(
        "Channels that are taken for columns",
        """\
colours = np.zeros((48, 64, 3), np.uint8)  # as OpenCV and imageio have them
image = hl.Buffer(colours, name="image")
f = hl.Func("f")
f[x, y, c] = 255 - image[x, y, c]
f.realize([64, 48, 3])
""",
        "Dimension 0 of a Buffer is the last axis of an array. In an "
        "image of rows, columns and channels that is the channels. Name "
        "the axes: nothing is copied.",
        """\
colours = np.zeros((48, 64, 3), np.uint8)
image = hl.Buffer(colours, axes="yxc", name="image")
f = hl.Func("f")
f[x, y, c] = 255 - image[x, y, c]
print(f.realize([64, 48, 3]).array("yxc").shape)
""",
    ),
    Mistake(
        "An ImageParam without an image",
        """\
image = hl.ImageParam(hl.UInt(8), 2, "image")
f = hl.Func("f")
f[x, y] = 255 - image[x, y]
f.realize([8, 6])
""",
        "An ImageParam is a place for an image that is given later, "
        "before each run: `image.set(array)`.",
        """\
image = hl.ImageParam(hl.UInt(8), 2, "image")
f = hl.Func("f")
f[x, y] = 255 - image[x, y]
image.set(photo)
f.realize([8, 6])
""",
    ),
    Mistake(
        "An image of another type",
        """\
image = hl.ImageParam(hl.UInt(8), 2, "image")
image.set(photo / 255)
""",
        "An ImageParam has one type, for which code is compiled. Change "
        "the type of one of the two.",
        """\
image = hl.ImageParam(hl.Float(64), 2, "image")
image.set(photo / 255)
""",
    ),
    Mistake(
        "An image with another number of axes",
        """\
image = hl.ImageParam(hl.UInt(8), 3, "image")
image.set(photo)
""",
        "The number of dimensions is a part of the ImageParam. "
        "`photo[None]` has a first axis of one element, which is the last "
        "dimension of the Buffer.",
        """\
image = hl.ImageParam(hl.UInt(8), 3, "image")
image.set(photo[None])  # one channel
""",
    ),
    Mistake(
        "A masked array",
        """\
image = hl.Buffer(np.ma.masked_equal(photo, 0))
""",
        "Elements behind a mask would be taken for pixels. Say what "
        "stands in their places, or give the mask as a second image.",
        """\
masked = np.ma.masked_equal(photo, 0)
image = hl.Buffer(masked.filled(255))
""",
    ),
    Mistake(
        "An array of objects",
        """\
image = hl.Buffer(np.array([[1, 2], [3, None]]))
""",
        "NumPy makes an array of Python's objects where it finds no "
        "common type of numbers, here because of `None`.",
        """\
image = hl.Buffer(np.array([[1, 2], [3, np.nan]]))
""",
    ),
    Mistake(
        "An output array of another type",
        """\
f = hl.Func("f")
f[x, y] = hl.u8(x + y)
f.realize(np.zeros((6, 8)))
""",
        "`realize` writes into the array that it is given, and nothing is "
        "converted on the way. `np.zeros` makes float64 if no type is "
        "given.",
        """\
f = hl.Func("f")
f[x, y] = hl.u8(x + y)
f.realize(np.zeros((6, 8), np.uint8))
""",
    ),
    Mistake(
        "`out=` of another shape",
        """\
@hl.jit
def half(image: hl.Array) -> hl.Array:
    return image[::2, ::2]


half(photo, out=np.empty((6, 8), np.uint8))
""",
        "`out=` has the shape that the function returns. Without `out=` a "
        "new array is made.",
        """\
@hl.jit
def half(image: hl.Array) -> hl.Array:
    return image[::2, ::2]


half(photo, out=np.empty((3, 4), np.uint8))
""",
    ),
    Mistake(
        "An output that cannot be written",
        """\
out = np.zeros((6, 8), np.uint8)
out.flags.writeable = False
f = hl.Func("f")
f[x, y] = hl.u8(x + y)
f.realize(out)
""",
        "The array is marked as read-only, as arrays from files and from "
        "other libraries may be. Take a copy.",
        """\
out = np.zeros((6, 8), np.uint8)
f = hl.Func("f")
f[x, y] = hl.u8(x + y)
f.realize(out)
""",
    ),
    Mistake(
        "An index that comes from an image, without limits",
        """\
image = hl.ImageParam(hl.UInt(16), 2, "image")
table = hl.ImageParam(hl.UInt(8), 1, "table")
f = hl.Func("f")
f[x, y] = table[image[x, y]]
image.set(photo.astype(np.uint16))
table.set(np.arange(256, dtype=np.uint8))
f.realize([8, 6])
""",
        "The compiler must know which part of `table` may be read before "
        "it runs, and a uint16 may be up to 65535. `hl.clamp` is a "
        "promise that it understands, and keeps.",
        """\
image = hl.ImageParam(hl.UInt(16), 2, "image")
table = hl.ImageParam(hl.UInt(8), 1, "table")
f = hl.Func("f")
f[x, y] = table[hl.clamp(image[x, y], 0, 255)]
image.set(photo.astype(np.uint16))
table.set(np.arange(256, dtype=np.uint8))
f.realize([8, 6])
""",
    ),
    Mistake(
        "`realize` without a size",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.realize()
""",
        "A Func has values everywhere, and somebody must say how many of "
        "them are wanted. (In a function under `@hl.jit` the arrays say "
        "it.)",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.realize([8, 6])
""",
    ),
    Mistake(
        "An automatic schedule without sizes",
        """\
f = hl.Func("f")
f[x, y] = x + y
hl.autoschedule(f)
""",
        "Which schedule is the best depends on the size of the output. "
        "Give one that is like those to come; the schedule is right for "
        "all others, too.",
        """\
f = hl.Func("f")
f[x, y] = x + y
found = hl.autoschedule(f, [1920, 1080])
""",
    ),
    Mistake(
        "`if` on pixels in a function of arrays",
        """\
@hl.jit
def dark(image: hl.Array) -> hl.Array:
    if image.mean() < 99:
        return image
    return image // 2


dark(photo)
""",
        "The function runs once, to see what it computes; there are no "
        "pixels yet. `hl.where` chooses when the program runs.",
        """\
@hl.jit
def dark(image: hl.Array) -> hl.Array:
    return hl.where(image.mean() < 99, image, image // 2)


print(dark(photo)[5])
""",
    ),
    Mistake(
        "A mask as an index, and assignments to elements",
        """\
@hl.jit
def limited(image: hl.Array) -> hl.Array:
    image[image > 200] = 200
    return image


limited(photo)
""",
        "Arrays inside of `@hl.jit` are values, which do not change. "
        "`hl.where` makes a new one.",
        """\
@hl.jit
def limited(image: hl.Array) -> hl.Array:
    return hl.where(image > 200, 200, image)


print(limited(photo).max())
""",
    ),
)
