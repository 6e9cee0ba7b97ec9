"""Parts of pages, taken apart."""

from __future__ import annotations

from html.parser import HTMLParser

#: Elements of HTML that have no end.
VOID = {"meta", "input", "br", "option", "img"}


class Checked(HTMLParser):
    """Collects the text of a page and its elements; every element must be closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.said += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of the elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]


__all__ = ["Checked"]
