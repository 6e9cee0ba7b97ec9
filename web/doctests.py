"""Examples in docstrings, which begin with `>>>`, as code: else they would be quotes.

An extension of Python-Markdown, which mkdocs.yml names.
"""

from __future__ import annotations

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from web.fences import fenced


class _Examples(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        return fenced(lines)


class _Extension(Extension):
    def extendMarkdown(self, md: Markdown) -> None:
        # After white space is made alike (30), before fences are read (25).
        md.preprocessors.register(_Examples(md), "examples", 27)


def makeExtension(**options: object) -> Extension:
    """Return the extension: the name is Python-Markdown's."""
    return _Extension(**options)
