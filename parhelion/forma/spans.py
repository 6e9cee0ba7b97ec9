"""Places in the text of a Forma program, from which messages quote."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field

from parhelion.dataclass import dataclass
from parhelion.errors import FormaError, Site

#: Of a line that is longer, messages quote a window of this many characters.
_QUOTED = 160


class Source:
    """The text of a program, and the file it is from."""

    __slots__ = ("file", "text", "_starts")

    def __init__(self, text: str, file: str = "<forma>") -> None:
        self.file = file
        self.text = text
        self._starts: list[int] | None = None

    def line_of(self, at: int) -> int:
        """The line, counted from 0, of a character."""
        if self._starts is None:
            starts = [0]
            found = self.text.find("\n")
            while found >= 0:
                starts.append(found + 1)
                found = self.text.find("\n", found + 1)
            self._starts = starts
        return bisect_right(self._starts, at) - 1

    def start_of(self, line: int) -> int:
        """The first character of a line, which is counted from 0."""
        self.line_of(0)
        assert self._starts is not None
        return self._starts[line]

    def __repr__(self) -> str:
        return f"<Source {self.file}>"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a program's text: from the character `start` to before `end`."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def line(self) -> int:
        """Counted from 1, as are columns."""
        return self.source.line_of(self.start) + 1

    @property
    def column(self) -> int:
        return self.start - self.source.start_of(self.line - 1) + 1

    @property
    def end_line(self) -> int:
        return self.source.line_of(max(self.end - 1, self.start)) + 1

    @property
    def end_column(self) -> int:
        """Of the first character behind the stretch."""
        return self.end - self.source.start_of(self.end_line - 1) + 1

    def to(self, last: Span) -> Span:
        """From here to the end of `last`."""
        return Span(self.source, self.start, last.end)

    def behind(self) -> Span:
        """The place right behind."""
        return Span(self.source, self.end, self.end + 1)

    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def site(self) -> Site:
        """The first line of it, as messages quote it."""
        text = self.source.text
        begin = self.source.start_of(self.line - 1)
        stop = text.find("\n", begin)
        stop = len(text) if stop < 0 else stop
        first = self.start - begin
        last = max(min(self.end, stop) - begin, first + 1)
        cut = max(first - _QUOTED // 2, 0) if stop - begin > _QUOTED else 0
        line = text[begin + cut : min(stop, begin + cut + _QUOTED)]
        # One character each, so that columns stay; a mark behind the line needs room.
        line = "".join([c if c.isprintable() else " " for c in line])
        columns = (first - cut, min(last - cut, max(len(line), first - cut + 1)))
        shown = line.ljust(columns[1])
        # `Site` trims what it quotes, a mark behind the end of the line would go too.
        if columns[0] >= len(line.rstrip()):
            columns = _last_of(line, columns)
        return Site(*(self.source.file, self.line, columns, shown), column=self.column)

    def error(
        self,
        what: str,
        *,
        hint: str = "",
        detail: str = "",
        legal: tuple[str, ...] = (),
    ) -> FormaError:
        """An error here: the rule in a sentence, and as `hint` the remedy."""
        return FormaError(what, at=self.site(), hint=hint, detail=detail, legal=legal)


def _last_of(line: str, columns: tuple[int, int]) -> tuple[int, int]:
    """The mark of a place behind the end of a line: below its last character."""
    last = max(len(line.rstrip()), 1)
    return last - 1, last


__all__ = ["Source", "Span"]
