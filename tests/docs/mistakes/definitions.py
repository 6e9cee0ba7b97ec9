"""Mistakes in definitions of Funcs, in updates and with RDoms."""

from __future__ import annotations

from tests.docs.mistakes.mistake import Mistake

MISTAKES = (
    Mistake(
        "`f(x)` for `f[x]`",
        """\
f = hl.Func("f")
f[x] = x * x
g = hl.Func("g")
g[x] = f(x) + 1
""",
        "A Func is a table of values that is computed: its value at a "
        "point has brackets, as an element of an array.",
        """\
f = hl.Func("f")
f[x] = x * x
g = hl.Func("g")
g[x] = f[x] + 1
print(np.asarray(g.realize([4])))
""",
    ),
    Mistake(
        "A Func where an array is wanted",
        """\
f = hl.Func("f")
f[x] = x * x
print(np.asarray(f).dtype)
""",
        "A Func is a definition and has no pixels, so that NumPy makes an "
        "array of one object of it. `realize` computes them, and says how "
        "many.",
        """\
f = hl.Func("f")
f[x] = x * x
print(np.asarray(f.realize([4])))
""",
    ),
    Mistake(
        "A Func that is not defined",
        """\
f = hl.Func("f")
f.realize([4])
""",
        "There is nothing to compute. Often the definition went to "
        "another Python variable, or to a second Func of the same name.",
        """\
f = hl.Func("f")
f[x] = x
f.realize([4])
""",
    ),
    Mistake(
        "A Func that is used before it is defined",
        """\
f, g = hl.funcs("f g")
g[x] = f[x] + 1
f[x] = x * x
""",
        "Definitions are read in the order in which they stand, so that "
        "the type of `f[x]` is known when `g` is defined.",
        """\
f, g = hl.funcs("f g")
f[x] = x * x
g[x] = f[x] + 1
""",
    ),
    Mistake(
        "Too few or too many indices",
        """\
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x] = f[x] + 1
""",
        "A Func is read with one index for each Var of its definition. "
        "`hl._` stands for all remaining ones, in the definition and "
        "where it is read.",
        """\
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x] = f[x, 0] + 1
""",
    ),
    Mistake(
        "A Var that is not on the left",
        """\
f = hl.Func("f")
f[x] = x + y
""",
        "Each Var on the right must be one of those on the left: "
        "otherwise nobody says which y is meant.",
        """\
f = hl.Func("f")
f[x, y] = x + y
""",
    ),
    Mistake(
        "A single place before there is a value everywhere",
        """\
f = hl.Func("f")
f[0] = 1
""",
        "The first definition is for all points; only then can an update "
        "change some of them.",
        """\
f = hl.Func("f")
f[x] = 0
f[0] = 1
print(np.asarray(f.realize([4])))
""",
    ),
    Mistake(
        "A Func that reads itself",
        """\
f = hl.Func("f")
f[x] = hl.select(x > 0, f[x - 1] * 2, 1)
""",
        "The points of a definition are computed in any order, all at "
        "once if possible. What goes from one point to the next is an "
        "update over an RDom, whose points have an order; before it there "
        "is a first value.",
        """\
f = hl.Func("f")
f[x] = 1
r = hl.RDom([(1, 5)], "r")
f[r] = f[r - 1] * 2
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "An update that reads its neighbour along a Var",
        """\
f = hl.Func("f")
f[x] = x
f[x] = f[x - 1] + f[x]
""",
        'A Var in an update means "for all x, in any order", so that `f[x '
        "- 1]` might be old or new. An RDom has an order.",
        """\
f = hl.Func("f")
f[x] = x
r = hl.RDom([(1, 5)], "r")
f[r] = f[r - 1] + f[r]
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "An update after the Func was used",
        """\
f, g = hl.funcs("f g")
f[x] = 0
g[x] = f[x]
f[3] = 1
""",
        "A Func is finished when another one reads it. Bring the update "
        "before the first use, or give the changed values a name of their "
        "own.",
        """\
f, g = hl.funcs("f g")
f[x] = 0
f[3] = 1
g[x] = f[x]
""",
    ),
    Mistake(
        "A second definition where a new Func is meant",
        """\
f = hl.Func("f")
f[x] = x
f[x + 1] = 2 * f[x]
""",
        "The second definition of a Func is an update of it, and the "
        "places that an update writes are named by plain Vars, RVars or "
        "numbers. To move or change a whole Func, define a new one.",
        """\
f, g = hl.funcs("f g")
f[x] = x
g[x] = 2 * f[x - 1]
""",
    ),
    Mistake(
        "An RDom in a first definition",
        """\
f = hl.Func("f")
r = hl.RDom([(-1, 3)], "r")
f[x] = (x + r) / 3
""",
        "An RDom is something to loop over; the definition must say what "
        "is done with all of its values. `hl.sum`, `hl.product`, "
        "`hl.maximum`, `hl.minimum` and `hl.argmax` do that in place.",
        """\
f = hl.Func("f")
r = hl.RDom([(-1, 3)], "r")
f[x] = hl.sum(x + r) / 3
print(np.asarray(f.realize([4])))
""",
    ),
    Mistake(
        "The numbers of an RDom",
        """\
r = hl.RDom(0, 10)
""",
        "An RDom has a list of pairs, one for each dimension: where it "
        "begins, and how many there are.",
        """\
r = hl.RDom([(0, 10)], "r")
plane = hl.RDom([(0, 8), (0, 6)], "plane")
""",
    ),
    Mistake(
        "An RDom whose extent is taken for its end",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
r = hl.RDom([(2, 8)], "r")
f[y] = hl.sum(hl.u32(image[r, y]))
f.realize([6])
""",
        "The second number of a pair is how many there are, not where it "
        "ends: (2, 8) is 2 to 9. From 2 to the end of a row of 8 there "
        "are 6.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
r = hl.RDom([(2, 6)], "r")
f[y] = hl.sum(hl.u32(image[r, y]))
f.realize([6])
""",
    ),
    Mistake(
        "Two RDoms in one update",
        """\
f = hl.Func("f")
f[x] = 0
r, s = hl.RDom([(0, 3)], "r"), hl.RDom([(0, 3)], "s")
f[x] += r * s
""",
        "An update has one loop nest, and so one RDom. For all pairs, "
        "give one RDom two dimensions, `r.x` and `r.y`.",
        """\
f = hl.Func("f")
f[x] = 0
r = hl.RDom([(0, 3), (0, 3)], "r")
f[x] += r.x * r.y
""",
    ),
    Mistake(
        "An RDom that is as large as a Var",
        """\
f = hl.Func("f")
f[x] = 0
r = hl.RDom([(0, x)], "r")
f[x] += r
""",
        "The loops over an RDom have bounds that are the same for all "
        "points. Take the largest, and leave out what is too much with "
        "`r.where(condition)`.",
        """\
f = hl.Func("f")
f[x] = 0
r = hl.RDom([(0, 8)], "r")
r.where(r < x)
f[x] += r
print(np.asarray(f.realize([6])))
""",
    ),
    Mistake(
        "A Tuple as one value",
        """\
f, g = hl.funcs("f g")
f[x] = (x, x * x)
g[x] = f[x] + 1
""",
        "A Func that was defined with two values has two at each point. "
        "Take one: `f[x][0]` is the first.",
        """\
f, g = hl.funcs("f g")
f[x] = (x, x * x)
g[x] = f[x][1] + 1
print(np.asarray(g.realize([4])))
""",
    ),
)
