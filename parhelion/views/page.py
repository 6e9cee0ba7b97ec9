"""The pages and their parts: templates filled in, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from importlib.resources import files

_MARK = re.compile(r"\{\{(\w+)\}\}")


@cache
def template(name: str) -> str:
    """A file of the package's templates."""
    return (files("parhelion.views") / "templates" / name).read_text(encoding="utf-8")


def filled(text: str, **parts: str) -> str:
    """`text` with each ``{{name}}`` replaced by the part of that name."""
    return _MARK.sub(lambda mark: parts[mark.group(1)], text)


def json_text(data: object) -> str:
    """JSON that may stand inside a script element, whatever strings it holds."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")


def styled(body: str) -> str:
    """A part of a notebook, with its style."""
    style = template("views.css")
    return f'<style>\n{style}</style>\n<div class="ph">\n{body}\n</div>'


def whole_page(title: str, body: str) -> str:
    """A page of its own, with the style and the script that the parts need."""
    return filled(
        template("page.html"),
        title=escape(title),
        style=template("views.css"),
        body=body,
        script=template("animation.js"),
    )


__all__ = ["filled", "json_text", "styled", "template", "whole_page"]
