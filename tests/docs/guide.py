"""Pages whose blocks of Python are one program: they are run, and what they print and
the pictures that they write are on the page.

    python -m tests.docs.guide docs/language.md

runs the blocks of pages and writes what is printed into the block of text under each,
and the pictures into docs/images.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<shown>\n```text\n(?P<text>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_PICTURE = re.compile(r"!\[[^\]]*\]\((?:\.\./)?images/([\w.-]+)\)")


@dataclass(frozen=True)
class Ran:
    """What a page would be: its text, and the pictures that its program wrote."""

    text: str
    pictures: dict[str, bytes]
    blocks: int


def run(page: Path) -> Ran:
    """Run the blocks of a page, one after the other, in an empty folder.

    Warnings are errors. The folder has the project's own images, as apps/data.
    """
    scope: dict[str, object] = {"__name__": "page"}
    back, source = Path.cwd(), page.read_text()
    named = set(_PICTURE.findall(source))
    blocks = 0

    def ran(match: re.Match[str]) -> str:
        nonlocal blocks
        blocks += 1
        code = match["code"]
        file = Path(f"{page.stem}_{blocks}.py")
        file.write_text(code)  # whose lines errors quote
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            exec(compile(code, str(file), "exec"), scope)  # noqa: S102
        linecache.cache.pop(str(file), None)
        printed = re.sub(r"\$\d+", "", out.getvalue())
        if match["shown"] is None:
            if printed:
                raise AssertionError(f"{page.name} does not show {printed!r}")
            return match[0]
        return f"```python\n{code}```\n\n```text\n{printed}```\n"

    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        os.chdir(folder)
        try:
            Path("apps").mkdir()
            Path("apps/data").symlink_to(ROOT / "apps" / "data")
            text = _BLOCK.sub(ran, source)
            pictures = {n: Path(n).read_bytes() for n in named if Path(n).exists()}
        finally:
            os.chdir(back)
    return Ran(text, pictures, blocks)


def write(page: Path) -> None:
    """Write what a page prints into it, and its pictures beside it."""
    made = run(page)
    page.write_text(made.text)
    for name, content in made.pictures.items():
        (DOCS / "images" / name).write_bytes(content)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(Path(name).resolve())
        print(f"wrote {name}")
