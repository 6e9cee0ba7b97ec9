"""The shape of the code base: who may import whom, how long files are, the map.

``python tests/test_architecture.py`` writes docs/map.md anew from the first lines of
the files' docstrings.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "parhelion"
MAP = ROOT / "docs" / "map.md"

#: Lowest first. A module imports from its own layer or from lower ones.
LAYERS = (
    ("dataclass",),
    ("shown",),
    ("errors", "types", "version"),
    ("tracebacks",),
    ("ir",),
    ("analysis",),
    ("simplify",),
    ("schedule",),
    ("lower",),
    ("codegen",),
    ("runtime",),
    ("aot",),
    ("lang",),
    ("imageio",),
    ("autoschedule",),
    ("adjoint",),
    ("whole",),
    ("filters",),
    ("recfilter", "forma", "streaming"),
    ("views",),
    ("dask",),
    ("__init__",),
    ("cli",),
    ("__main__", "tools"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

#: The packages of `autoschedule`, lowest first, "" for the files beside them. Those of
#: one line know nothing of each other.
SCHEDULERS = (
    ("pipeline", "machine"),
    ("",),
    ("model", "kernels"),
    ("search", "mullapudi"),
    ("gpu",),
)

#: The oracle shares nothing with the compiler but the IR.
INTERP_KNOWS = {"dataclass", "errors", "types", "ir", "interp"}

#: Files over 600 lines, each with its reason. None may pass 900.
LONG: dict[str, str] = {
    "ir/mathlib.py": "the functions share their tables and argument reductions",
}


def sources() -> list[Path]:
    """All files, those of a folder before those of the folders in it."""
    return sorted(PACKAGE.rglob("*.py"), key=lambda p: (p.parent.parts, p.name))


def layer_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(module, line) of each import that happens at run time."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield node.module, node.lineno
            yield from ((f"{node.module}.{a.name}", node.lineno) for a in node.names)
        else:
            yield from imports(node)


def first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert doc, f"{path.relative_to(ROOT)} has no docstring"
    # The first sentence, which may go over two lines.
    paragraph = " ".join(doc.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".")


def map_text() -> str:
    lines = [
        "# Map of the code",
        "",
        "One line per file, in the order of the layers; written by",
        "`python tests/test_architecture.py` from the files' own docstrings.",
    ]
    rank = {name: i for i, name in enumerate([*RANK, "interp"])}
    by_layer: dict[str, list[Path]] = {}
    for path in sources():
        name = layer_of(path)
        by_layer.setdefault(name, []).append(path)
    last = ""
    for name in sorted(by_layer, key=lambda n: rank.get(n, len(rank))):
        folder = (PACKAGE / name).is_dir()
        heading = f"{name}/" if folder else "the package"
        if heading != last:
            lines += ["", f"## {heading}", ""]
            last = heading
        for path in by_layer[name]:
            place = path.relative_to(PACKAGE).as_posix()
            lines.append(f"- `{place}`: {first_line(path)}.")
    return "\n".join(lines) + "\n"


def test_classes_of_fields_are_made_quickly() -> None:
    """The standard decorator takes most of the time of an import (see `dataclass`)."""
    slow = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        if path != PACKAGE / "dataclass.py"
        for module, line in imports(ast.parse(path.read_text()))
        if module == "dataclasses.dataclass"
    ]
    assert not slow, "import dataclass from parhelion.records: " + ", ".join(slow)


def test_imports_go_downwards_only() -> None:
    wrong = []
    for path in sources():
        layer = layer_of(path)
        for module, line in imports(ast.parse(path.read_text())):
            parts = module.split(".")
            if parts[0] != "parhelion" or len(parts) == 1:
                continue
            target = parts[1]
            if target not in RANK and target != "interp":
                continue  # a name imported from the package itself
            at = f"{path.relative_to(ROOT)}:{line} imports {module}"
            if layer == "interp":
                if target not in INTERP_KNOWS:
                    wrong.append(at)
            elif target == "interp":
                if layer not in ("tools", "__init__"):
                    wrong.append(at)
            elif RANK[target] > RANK[layer]:
                wrong.append(at)
    assert not wrong, "\n".join(wrong)


def scheduler_part(module: str) -> str | None:
    """The package of `autoschedule` that a module is in; None for one of others."""
    parts = module.split(".")
    if parts[:2] != ["parhelion", "autoschedule"]:
        return None
    if parts[2:] and (PACKAGE / "autoschedule" / parts[2]).is_dir():
        return parts[2]
    return ""


def test_the_schedulers_import_downwards_only() -> None:
    rank = {name: k for k, names in enumerate(SCHEDULERS) for name in names}
    wrong = []
    for path in sources():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        own = scheduler_part(name)
        if own is None:
            continue
        assert own in rank, f"give {own} a place in SCHEDULERS"
        for module, line in imports(ast.parse(path.read_text())):
            part = scheduler_part(module)
            if part is not None and part != own and rank[part] >= rank[own]:
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {module}")
    assert not wrong, "\n".join(wrong)


def needed(path: Path) -> set[str]:
    """The modules that a file imports, at the top or in a function, by their names;
    not those that only types are taken from."""
    found: set[str] = set()
    for module, _ in imports(ast.parse(path.read_text())):
        parts = module.split(".")
        place = ROOT.joinpath(*parts)
        if parts[0] == "parhelion" and place.with_suffix(".py").exists():
            found.add(module)
        elif parts[0] == "parhelion" and (place / "__init__.py").exists():
            found.add(f"{module}.__init__")
    return found


def circles(needs: dict[str, set[str]]) -> list[list[str]]:
    """Sets of modules each of which needs all others, by way of some."""
    reached: dict[str, set[str]] = {}
    for start in needs:
        seen: set[str] = set()
        waiting = list(needs[start])
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += needs.get(one, ())
        reached[start] = seen
    found = {
        tuple(sorted(b for b in reached[a] if a in reached.get(b, ())))
        for a in needs
        if a in reached[a]
    }
    return [list(one) for one in sorted(found)]


def test_no_modules_need_each_other() -> None:
    """Imports inside of functions count, too."""
    needs: dict[str, set[str]] = {}
    for path in sources():
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts)
        # A package's own file says what it has; importing a part of it is no need.
        if parts[-1] != "__init__":
            needs[name] = needed(path) - {name}
    assert circles(needs) == []


def test_a_circle_is_seen() -> None:
    needs = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circles(needs) == [["b", "c"]]
    path = PACKAGE / "runtime" / "threads.py"
    assert "parhelion.runtime.jit" in needed(path)  # inside of a function


#: What users set: lowering has it from a `PipelineSpec`.
USERS = {
    *("fixed_min", "fixed_extent", "fixed_stride"),
    *("known_min", "known_extent", "known_stride"),
    *("estimate", "estimate_min", "estimate_extent", "host_alignment"),
    *("instead", "wrapper", "wraps"),
}


def test_the_compiler_reads_no_objects_of_the_users() -> None:
    wrong = []
    for layer in ("analysis", "simplify", "lower", "codegen"):
        for path in sorted((PACKAGE / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in USERS:
                    at = f"{path.relative_to(ROOT)}:{node.lineno}"
                    wrong.append(f"{at} reads {node.attr}")
    assert not wrong, "\n".join(wrong)


def test_the_compiler_knows_no_pixels_and_no_values() -> None:
    """What images and Params stand for is asked where programs run, not where they are
    compiled."""
    from parhelion.ir.symbols import BufferSym, ParamSym

    for layer in ("analysis", "simplify", "schedule", "lower", "codegen", "runtime"):
        for path in sorted((PACKAGE / layer).rglob("*.py")):
            assert "parhelion.ir.bindings" not in path.read_text(), path.name
    for symbol in (BufferSym, ParamSym):
        assert {"bound", "value"}.isdisjoint(symbol.__slots__)


#: What tells by what means a Func is computed: `schedule.modes` asks it.
MODES_OF = {"extern", "memo", "async_"}


def test_schedulers_ask_modes() -> None:
    """A new way to compute a Func is seen by all schedulers."""
    wrong = []
    for path in sorted((PACKAGE / "autoschedule").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
                continue
            if any(
                isinstance(n, ast.Attribute) and n.attr in MODES_OF
                for n in ast.iter_child_nodes(node)
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong, "\n".join(wrong)


#: Where loops, Funcs and images are known by what they are, not by their names.
NAMELESS = ("lower", "schedule", "views", "lang", "autoschedule")
TAKES_APART = {
    *("split", "rsplit", "partition", "rpartition", "find", "rfind", "index"),
    *("startswith", "endswith", "removeprefix", "removesuffix"),
    *("replace", "strip", "lstrip", "rstrip"),
}


def is_name(node: ast.AST) -> bool:
    """``x.name``, ``x.label`` or ``x.name()``."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr in ("name", "label")


def taken_apart(node: ast.AST) -> bool:
    """Whether a piece of a name is asked for, or what it begins with."""
    if isinstance(node, ast.Subscript):
        return is_name(node.value)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if ast.unparse(node.func.value) == "re":
        return any(map(is_name, node.args))
    return node.func.attr in TAKES_APART and is_name(node.func.value)


def test_no_name_is_taken_apart() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in sources()
        if layer_of(path) in NAMELESS
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.expr) and taken_apart(node)
    ]
    assert not wrong, "\n".join(wrong)


def test_a_name_that_is_taken_apart_is_seen() -> None:
    for line in ("f.name.rsplit('.')", "re.sub('a', '', f.name())", "f.label[0]"):
        assert taken_apart(ast.parse(line, mode="eval").body), line
    for line in ("text.split('.')", "names[f.name]", "re.sub(f.text, '', line)"):
        assert not taken_apart(ast.parse(line, mode="eval").body), line


def holding_themselves(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """The functions inside of others that call themselves, or each other in a circle.

    Such a function holds itself, and with itself whatever else it mentions from
    outside, until Python's collector comes.
    """
    for outer in ast.walk(tree):
        if isinstance(outer, ast.FunctionDef):
            inner = {f.name: f for f in outer.body if isinstance(f, ast.FunctionDef)}
            calls = {name: free_names(f) & inner.keys() for name, f in inner.items()}
            for name, f in inner.items():
                reached, more = set[str](), list(calls[name])
                while more:
                    if (one := more.pop()) not in reached:
                        reached.add(one)
                        more += calls[one]
                if name in reached:
                    yield f


def free_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function uses and does not bind."""
    used, bound = set[str](), set[str]()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
    return used - bound


def test_no_function_holds_itself() -> None:
    """Funcs would stay, and the images that they mention, after they are gone."""
    wrong = [
        f"{path.relative_to(PACKAGE)}:{f.lineno}: {f.name}"
        for path in sources()
        for f in holding_themselves(ast.parse(path.read_text()))
    ]
    assert not wrong, "make them methods or functions of the file: " + ", ".join(wrong)


def test_a_function_that_holds_itself_is_seen() -> None:
    seen = """
    def outer():
        def a(n): return b(n)
        def b(n): return a(n - 1)
        def c(n): return c(n - 1)
        def d(c): return c(b)
        def e(): return d
    """
    tree = ast.parse(textwrap.dedent(seen))
    assert [f.name for f in holding_themselves(tree)] == ["a", "b", "c"]


def test_every_layer_is_known() -> None:
    unknown = {layer_of(p) for p in sources()} - set(RANK) - {"interp"}
    assert not unknown, f"give {unknown} a place in LAYERS"


def test_files_are_short() -> None:
    for path in sources():
        place = path.relative_to(PACKAGE).as_posix()
        count = len(path.read_text().splitlines())
        assert count <= 900, f"{place} has {count} lines: split it"
        assert count <= 600 or place in LONG, f"{place} has {count} lines: why?"


def test_the_map_is_that_of_the_tree() -> None:
    assert MAP.read_text() == map_text(), (
        "docs/map.md is out of date: run `python tests/test_architecture.py`"
    )


if __name__ == "__main__":
    MAP.write_text(map_text())
    print(f"wrote {MAP.relative_to(ROOT)}")
