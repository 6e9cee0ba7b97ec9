"""What docs, docstrings and comments refer to is there: files, headings and names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "parhelion"
FOLDERS = ("parhelion", "apps", "benchmarks", "tests")
#: Where paths in texts begin.
BASES = (ROOT, PACKAGE, ROOT / "docs", ROOT / "tests")
#: The papers' and other systems' words for places, and what programs write.
ELSEWHERE = {"out/schedules"}

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_PATH = re.compile(
    r"(?<![\w./<{*-])((?:[A-Za-z_][\w-]*/)+(?:[\w-]+\.(?:py|md|txt|toml|html|js|css|json))?)"
    r"(?![\w/*{<-])"
)
#: A page that is named without its folder.
_PAGE = re.compile(r"(?<![\w/.-])[\w-]+\.md(?![\w/])")
_NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\(\))?`(?!`)")


@cache
def pages() -> tuple[Path, ...]:
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def sources() -> list[Path]:
    return sorted([p for f in FOLDERS for p in (ROOT / f).rglob("*.py")])


def words(path: Path) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a file, each with its line."""
    text = path.read_text()
    waiting: list[ast.stmt | ast.Module] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            told = ast.get_docstring(node, clean=False)
            if told is not None:
                yield node.body[0].lineno, told
            waiting += node.body
    for line, one in enumerate(text.splitlines(), 1):
        if one.lstrip().startswith("#"):
            yield line, one


def slug(heading: str) -> str:
    """The anchor that pages are shown with for a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def broken_links(page: Path) -> list[str]:
    wrong = []
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            wrong.append(f"{page.relative_to(ROOT)}: there is no {target}")
        elif anchor and anchor not in map(slug, _HEADING.findall(file.read_text())):
            wrong.append(f"{page.relative_to(ROOT)}: no heading has {target}")
    return wrong


def stale_paths(text: str, beside: Path) -> list[str]:
    """Paths of files and folders of the project that are not there."""
    found = []
    for path in _PATH.findall(text):
        first = path.split("/")[0]
        ours = any((base / first).is_dir() for base in BASES)
        if not ours or path.rstrip("/") in ELSEWHERE:
            continue
        if not any((base / path).exists() for base in (*BASES, beside)):
            found.append(path)
    known = {page.name for page in pages()}
    return found + [page for page in _PAGE.findall(text) if page not in known]


@cache
def modules() -> dict[str, ast.Module]:
    """The modules of the package by name, without `parhelion` before it."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    found: dict[str, list[ast.ClassDef]] = {}
    for tree in modules().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


def defined(body: list[ast.stmt]) -> set[str]:
    """What a module or class has, functions' own names aside."""
    names: set[str] = set()
    for one in body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            names.add(one.name)
        for node in ast.walk(one):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
                names.add(node.attr)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name)
        targets = one.targets if isinstance(one, ast.Assign) else []
        if isinstance(one, ast.AnnAssign):
            targets = [one.target]
        given = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        names |= given
        if isinstance(one, ast.Assign) and "__slots__" in given:
            names |= set(ast.literal_eval(one.value))
        if isinstance(one, ast.If):
            names |= defined(one.body)
    return names


@cache
def members(name: str) -> tuple[set[str], list[str]]:
    """What the classes of a name have, and what they inherit from."""
    found = classes().get(name, [])
    bases = [
        ast.unparse(b).split("[")[0].split(".")[-1] for c in found for b in c.bases
    ]
    return {one for c in found for one in defined(c.body)}, bases


@cache
def contents(module: str) -> set[str]:
    return defined(modules()[module].body)


def has(name: str, attribute: str) -> bool:
    """Whether a class of this name, or one that it inherits from, has an attribute."""
    waiting, seen = [name], set[str]()
    while waiting:
        known = waiting.pop()
        if known in seen:
            continue
        seen.add(known)
        own, bases = members(known)
        if attribute in own:
            return True
        waiting += bases
    return False


def is_there(name: str) -> bool:
    """Whether a dotted name is of the package, or none of its business."""
    parts = name.split(".")
    if parts[0] == "parhelion":
        parts = parts[1:]
    if parts[0] in classes():
        return has(parts[0], parts[1]) if len(parts) == 2 else True
    layers = {m.split(".")[0] for m in modules()}
    if parts[0] not in layers or not (PACKAGE / parts[0]).is_dir():
        return True
    for k in range(len(parts), 0, -1):
        module = ".".join(parts[:k])
        if module in modules():
            return k == len(parts) or parts[k] in contents(module)
    return False


def stale_names(text: str) -> list[str]:
    return [name for name in _NAME.findall(text) if not is_there(name)]


def test_links_lead_somewhere() -> None:
    wrong = [one for page in pages() for one in broken_links(page)]
    assert not wrong, "\n".join(wrong)


def test_pages_name_what_there_is() -> None:
    wrong = []
    for page in pages():
        if page.name == "CHANGELOG.md":
            continue  # which speaks of what was
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        found = [*stale_paths(text, page.parent), *stale_names(text)]
        wrong += [f"{page.relative_to(ROOT)}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def test_docstrings_and_comments_name_what_there_is() -> None:
    wrong = []
    for path in sources():
        for line, text in words(path):
            found = [*stale_paths(text, path.parent), *stale_names(text)]
            wrong += [f"{path.relative_to(ROOT)}:{line}: {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def test_what_is_stale_is_seen() -> None:
    assert stale_paths("see `lower/no_such.py` and docs/architecture.md", ROOT) == [
        "lower/no_such.py"
    ]
    assert stale_paths("tests/known_worse/ holds them", ROOT) == ["tests/known_worse/"]
    assert stale_names("`Regions.required`, `Regions.requird`, `lower.passes`") == [
        "Regions.requird"
    ]
    assert stale_names(
        "`lower.no_such`, `ir.expr.Add`, `ir.expr.Ad`, `numpy.ndarray`"
    ) == [
        "lower.no_such",
        "ir.expr.Ad",
    ]
