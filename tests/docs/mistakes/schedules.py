"""Mistakes in schedules."""

from __future__ import annotations

from tests.docs.mistakes.mistake import Mistake

MISTAKES = (
    Mistake(
        "A directive for a loop that is not there",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.parallel(c)
""",
        "Loops are named by the Vars of the definition. The list has "
        "those that there are.",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.parallel(y)
f.realize([8, 6])
""",
    ),
    Mistake(
        "A loop that was split and is gone",
        """\
f = hl.Func("f")
f[x, y] = x + y
xo, xi = hl.vars("xo xi")
f.split(x, xo, xi, 8)
f.vectorize(x)
""",
        "`split` replaces a loop by two. From then on they are named by the new Vars.",
        """\
f = hl.Func("f")
f[x, y] = x + y
xo, xi = hl.vars("xo xi")
f.split(x, xo, xi, 8)
f.vectorize(xi)
f.realize([8, 6])
""",
    ),
    Mistake(
        "The name of a loop as text",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.vectorize("x", 8)
""",
        "Directives take the Var itself.",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.vectorize(x, 8)
f.realize([8, 6])
""",
    ),
    Mistake(
        "`reorder` with a loop twice",
        """\
f = hl.Func("f")
f[x, y, c] = x + y + c
f.reorder(c, x, x)
""",
        "`reorder` takes loops from the inside to the outside, each once; "
        "those that are not named stay where they are.",
        """\
f = hl.Func("f")
f[x, y, c] = x + y + c
f.reorder(c, x, y)
f.print_loop_nest()
""",
    ),
    Mistake(
        "`reorder` of iterations that depend on each other",
        """\
f = hl.Func("f")
f[x] = 0
r = hl.RDom([(1, 5), (0, 3)], "r")
f[r.x] = f[r.x - 1] * 2 + r.y
f.update().reorder(r.y, r.x)
f.realize([6])
""",
        "Each step over `r.x` reads what the one before wrote; in another "
        "order the result would be another one. A schedule never changes "
        "the result, so it is refused.",
        """\
f = hl.Func("f")
f[x] = 0
r = hl.RDom([(1, 5), (0, 3)], "r")
f[r.x] = f[r.x - 1] * 2 + r.y
f.realize([6])
""",
    ),
    Mistake(
        "A parallel sum",
        """\
image = hl.Buffer(photo, name="image")
total = hl.Func("total")
r = hl.RDom([(0, 8), (0, 6)], "r")
total[()] = hl.u32(0)
total[()] += image[r.x, r.y]
total.update().parallel(r.y)
total.realize()
""",
        "Several threads would add to the same number at the same time. "
        "`rfactor` makes partial sums that do not meet, here one for each "
        "row.",
        """\
image = hl.Buffer(photo, name="image")
total = hl.Func("total")
r = hl.RDom([(0, 8), (0, 6)], "r")
total[()] = hl.u32(0)
total[()] += image[r.x, r.y]
lines = total.update().rfactor(r.y, y)  # one sum for each row, then theirs
lines.compute_root().update().parallel(y)
print(np.asarray(total.realize()), photo.sum())
""",
    ),
    Mistake(
        "`compute_at` in a Func that does not read it",
        """\
f, g, h = hl.funcs("f g h")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
h[x, y] = x * y
f.compute_at(h, y)
g.realize([8, 6])
""",
        "`f.compute_at(h, y)` computes, in the loop y of h, what this "
        "loop needs of f. h must read f, directly or through others. The "
        "message draws the loops and lists the legal places.",
        """\
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
f.compute_at(g, y)
g.realize([8, 6])
""",
    ),
    Mistake(
        "`compute_at` where another reader is outside",
        """\
f, g, h = hl.funcs("f g h")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
h[x, y] = g[x, y] + f[x, y]
g.compute_root()
f.compute_at(g, y)
h.realize([8, 6])
""",
        "All readers of f must be inside of the loop in which it is "
        "computed. Here h reads it, too, after g has ended.",
        """\
f, g, h = hl.funcs("f g h")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
h[x, y] = g[x, y] + f[x, y]
g.compute_root()
f.compute_root()
h.realize([8, 6])
""",
    ),
    Mistake(
        "Loops of a Func that has none",
        """\
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
f.vectorize(x, 8)
g.realize([8, 6])
""",
        "Without `compute_root` or `compute_at` a Func is inlined: it is "
        "written into its readers, as a macro, and has no loops of its "
        "own.",
        """\
f, g = hl.funcs("f g")
f[x, y] = x + y
g[x, y] = f[x, y] + f[x, y + 1]
f.compute_root().vectorize(x, 8)
g.realize([8, 6])
""",
    ),
    Mistake(
        "No schedule at all",
        """\
f, g, h = hl.funcs("f g h")
r = hl.RDom([(-4, 9)], "r")
f[x, y] = hl.sqrt(hl.f32(x + y))
g[x, y] = hl.sum(f[x + r, y])
h[x, y] = hl.sum(g[x, y + r])
h.realize([64, 48])
""",
        "A warning: the result is right, but slow. A Func without a place "
        "of its own is computed again wherever it is read.",
        """\
f, g, h = hl.funcs("f g h")
r = hl.RDom([(-4, 9)], "r")
f[x, y] = hl.sqrt(hl.f32(x + y))
g[x, y] = hl.sum(f[x + r, y])
h[x, y] = hl.sum(g[x, y + r])
f.compute_root()
g.compute_root()
h.realize([64, 48])
""",
    ),
    Mistake(
        "A schedule for the first definition alone",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u16(image[x, y])
f[x, y] += 1
f.vectorize(x, 8)
f.realize([8, 6])
""",
        "A warning: each stage has loops of its own, and those of the "
        "update have no directives. Give them some, or say "
        "`f.update().unscheduled()`.",
        """\
image = hl.Buffer(photo, name="image")
f = hl.Func("f")
f[x, y] = hl.u16(image[x, y])
f[x, y] += 1
f.vectorize(x, 8)
f.update().vectorize(x, 8)
f.realize([8, 6])
""",
    ),
    Mistake(
        "A vector without a length",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.vectorize(x)
f.realize([8, 6])
""",
        "A vector has a length that is known when the program is "
        "compiled. `vectorize(x, 8)` splits the loop and takes eight at "
        "once.",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.vectorize(x, 8)
f.realize([8, 6])
""",
    ),
    Mistake(
        "An output that is larger than promised",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.bound(x, 0, 64).vectorize(x, 8)
f.realize([100, 6])
""",
        "`bound` is a promise that the output is exactly so wide, and "
        "code is made for that alone. Keep it, or do not make it.",
        """\
f = hl.Func("f")
f[x, y] = x + y
f.vectorize(x, 8)
f.realize([100, 6])
""",
    ),
)
