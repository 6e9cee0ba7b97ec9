"""The page of a lowered program: self-contained, complete, and escaped."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from parhelion.ir.build import add, block, int32, lt
from parhelion.ir.expr import Var
from parhelion.ir.html import stmt_html
from parhelion.ir.stmt import For, ForKind, If, Produce, Provide, Stmt
from parhelion.ir.text import text
from parhelion.types import INT32
from tests.support.handmade import define


def program() -> Stmt:
    f = define("f", [Var("x", INT32), Var("y", INT32)], int32(0))
    x, y = Var("f.s0.x", INT32), Var("f.s0.y", INT32)
    one = Provide(f, (int32(3),), (x, y), None)
    other = Provide(f, (add(x, y),), (x, y), None)
    body = For(x, int32(0), int32(8), ForKind.VECTORIZED, If(lt(x, y), one, other))
    nest = For(y, int32(0), int32(9), ForKind.PARALLEL, body)
    return block(Produce(f, True, nest), Produce(f, False, one))


class _Checker(HTMLParser):
    """Every element is closed in order, and nothing is fetched."""

    VOID = {"meta"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.folding = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert "src" not in named
        assert tag != "link"
        assert (named.get("href") or "#").startswith("#")
        self.folding += tag == "details"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page() -> None:
    body = program()
    page = stmt_html(body, "blur <&>", ["input image: uint8"])
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    # Two productions, two loops, both sides of the branch.
    assert checker.folding == 6
    assert "blur &lt;&amp;&gt;" in page
    assert "input image: uint8" in _shown(page)


def test_every_line_of_the_program_is_shown() -> None:
    body = program()
    page = _shown(stmt_html(body, "f"))
    for line in text(body).splitlines():
        assert line.strip() in page


def test_the_outline_links_to_lines() -> None:
    page = stmt_html(program(), "f")
    links = re.findall(r'href="#(L\d+)"', page)
    assert len(links) == 4
    assert all(f'id="{link}"' in page for link in links)


def _shown(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", page))
