"""What `make docs` adds to the pages: the reference, from docstrings, and the gallery.

MkDocs calls `on_files`. The names of the reference are those that the package imports
into itself, each on the page of its part of the package; the gallery has the pictures
of docs/apps.md.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: The pages of the reference: the title, what they are about, and the beginnings of the
#: names of modules. A name is on the first page that has a beginning of its module's.
SECTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "func": (
        "Funcs and Vars",
        "What a pipeline is made of.",
        (
            "lang.func.",
            "lang.expr.Expr",
            "lang.extern",
            "lang.define_extern.",
            "lang.definition.",
            "ir.loop_id.",
            "lang.var.",
            "lang.rdom.",
            "lang.tuples.",
            "lang.pipeline.",
            "lang.loop_level.",
            "lang.ref.",
            "lang.placed.",
        ),
    ),
    "images": (
        "Images and Params",
        "What goes in and comes out.",
        (
            "lang.buffer.",
            "lang.imageparam.",
            "lang.param.",
            "lang.images.",
            "lang.device",
            "lang.arrays.",
            "lang.boundary",
        ),
    ),
    "arrays": (
        "Whole arrays",
        "Functions of arrays, streams and gradients.",
        ("whole.", "recfilter.", "streaming.", "adjoint.", "dataclass."),
    ),
    "schedules": (
        "Schedules",
        "Words that directives take, and automatic schedules.",
        ("schedule.", "autoschedule.", "lang.autoscheduling.", "lang.machines."),
    ),
    "types": (
        "Types and errors",
        "Types of pixels, and all errors.",
        ("types.", "errors."),
    ),
    "shipping": (
        "Compiling and shipping",
        "Code for other programs, Generators and files of pipelines.",
        (
            "lang.generator",
            "lang.extension.",
            "lang.compile_to.",
            "lang.module.",
            "lang.multitarget.",
            "lang.serialisation.",
            "lang.target",
            "lang.callable.",
            "lang.handles.",
        ),
    ),
    "running": (
        "Looking and running",
        "Profiles, reports, threads, memory and GPUs.",
        (
            "lang.report.",
            "lang.evaluate.",
            "lang.loop_dump.",
            "ir.",
            "version.",
            "runtime.",
            "lang.showing.",
            "views.",
            "lang.running.",
            "shown.",
            "lang.judging.",
        ),
    ),
    "functions": ("Functions", "What can stand in an expression.", ("",)),
}


def public_names() -> dict[str, str]:
    """Return the public names of the package, each with the module that defines it."""
    tree = ast.parse((ROOT / "parhelion" / "__init__.py").read_text())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(
            "parhelion"
        ):
            for one in node.names:
                if not (one.asname or one.name).startswith("_"):
                    found[one.asname or one.name] = f"{node.module}.{one.name}"
    return found


def section(path: str) -> str:
    """Return the page on which a name stands."""
    inside = path.removeprefix("parhelion.")
    for page, (_, _, beginnings) in SECTIONS.items():
        if inside.startswith(beginnings):
            return page
    raise ValueError(f"{path} is on no page")


def reference() -> dict[str, str]:
    """Return the pages of the reference: the text of each by its place."""
    names: dict[str, list[str]] = {page: [] for page in SECTIONS}
    for name, path in sorted(public_names().items(), key=lambda one: one[0].lower()):
        if path != f"parhelion.{name}":  # a package of its own
            names[section(path)].append(f"::: parhelion.{name}\n")
    pages = {}
    for page, (title, words, _) in SECTIONS.items():
        text = "\n".join([f"# {title}\n\n{words}\n", *names[page]])
        pages[f"reference/{page}.md"] = text
    for page, title, module in (
        ("filters", "Filters", "parhelion.filters"),
        ("borders", "Borders", "parhelion.lang.boundary"),
        ("dask", "Images beyond memory", "parhelion.dask"),
        ("imageio", "Files", "parhelion.imageio"),
    ):
        options = "    options: {show_root_heading: false}"
        pages[f"reference/{page}.md"] = f"# {title}\n\n::: {module}\n{options}\n"
    return pages


def gallery() -> str:
    """Return the page of the applications' pictures, each with its heading."""
    parts = ["# Gallery\n", "Each picture leads to the application that computes it.\n"]
    heading = ""
    for line in (ROOT / "docs" / "apps.md").read_text().splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        picture = re.fullmatch(r"!\[(.*)\]\((images/.*)\)", line)
        if picture:
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            words, place = picture.groups()
            parts.append(f"## {words[0].upper()}{words[1:]}\n")
            parts.append(f"[![{words}]({place})](apps.md#{anchor})\n")
    return "\n".join(parts)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are made here to those of docs."""
    from mkdocs.structure.files import File

    for place, text in {"gallery.md": gallery(), **reference()}.items():
        files.append(File.generated(config, place, content=text))
    return files
