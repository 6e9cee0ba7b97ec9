"""The LALR parser, and what it cannot go on from put into sentences."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from parhelion.errors import FormaError
from parhelion.forma import tree as T
from parhelion.forma.build_tree import Builder
from parhelion.forma.spans import Source, Span
from parhelion.forma.words import INSTEAD, RESERVED
from parhelion.runtime.cache import folder
from parhelion.runtime.folders import distrust, read_own

#: What tokens of the grammar are called in messages; others by their own text.
_CALLED = {
    "NAME": "a name",
    "INT": "an integer",
    "FLOAT": "a number",
    "SCALAR": "a type",
    "$END": "the end of the program",
}
#: Where all these may stand, an expression may; where all those, a statement.
_EXPRESSION = frozenset(["NAME", "INT", "FLOAT", "SCALAR", "LPAR", "MINUS", "BANG"])
_STATEMENT = frozenset(["NAME", "FOR", "RETURN"])
#: What continues any expression, so that its absence is never what is wrong.
_OPERATORS = frozenset(
    [
        *("PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "LESS", "MORETHAN", "OPEN"),
        *("AT_MOST", "AT_LEAST", "EQUALS", "DIFFERS", "BOTH", "EITHER"),
        *("QMARK", "AT", "LSQB", "DOT"),
    ]
)


class _Parser(threading.local):
    """The parser of a thread, with the builder that it calls."""

    def __init__(self) -> None:
        self.builder = Builder(Source(""))
        grammar = Path(__file__).with_name("grammar.lark")
        self.lark = Lark(
            grammar.read_text(encoding="utf-8"),
            parser="lalr",
            keep_all_tokens=True,
            transformer=self.builder,
            cache=_kept(),
        )

    def parse(self, source: Source) -> T.Program:
        self.builder.source = source
        parsing = self.lark.parse_interactive(source.text)
        try:
            for _ in parsing.iter_parse():
                pass
            made = parsing.feed_token(Token("$END", ""))
        except UnexpectedInput as error:
            raise _Misspelt(source, error, parsing).error() from None
        assert isinstance(made, T.Program)
        return made


def _kept() -> str | bool:
    """The file that keeps the parser's tables, which take 0.1 s to make and 7 ms to
    read. False if nothing is kept, or if others may have written what is there: who
    reads it does what it says."""
    where = folder()
    if where is None or distrust(where):
        return False
    path = where / "forma.lark"
    if os.path.lexists(path) and read_own(path) is None:
        return False
    with suppress(OSError):
        where.mkdir(parents=True, exist_ok=True)
    return str(path) if where.is_dir() else False


#: The parser; what it holds is another in each thread.
PARSER = _Parser()


class _Misspelt:
    """Puts into a sentence what the parser cannot go on from."""

    def __init__(
        self, source: Source, error: UnexpectedInput, parsing: InteractiveParser
    ) -> None:
        assert isinstance(error, UnexpectedToken | UnexpectedCharacters)
        self.source = source
        #: What has been read and is not yet part of anything larger.
        self.stack = parsing.parser_state.value_stack
        #: The kinds of token that could stand here.
        self.accepted = parsing.accepts()
        text = source.text
        if isinstance(error, UnexpectedCharacters):
            start = error.pos_in_stream or 0
            self.span = Span(source, start, start + 1)
            self.at_end = False
        elif error.token.type == "$END":
            end = len(text.rstrip())
            self.span = Span(source, max(end - 1, 0), max(end, 1))
            self.at_end = True
        else:
            token = error.token
            assert token.start_pos is not None and token.end_pos is not None
            self.span = Span(source, token.start_pos, token.end_pos)
            self.at_end = False
        self.unknown = isinstance(error, UnexpectedCharacters)

    def error(self) -> FormaError:
        """The error that users see."""
        return (
            self._comment()
            or self._word()
            or self._separator()
            or self._missing()
            or self.span.error(self._expected(), hint=self._hint())
        )

    def _comment(self) -> FormaError | None:
        """A comment that does not end is read as a division and a product."""
        at = self.span.start
        for start in (at - 1, at):
            if self.source.text[max(start, 0) : start + 2] == "/*":
                return Span(self.source, start, start + 2).error(
                    "the comment does not end", hint="end it by */"
                )
        return None

    def _word(self) -> FormaError | None:
        """A word of this or another language, read as a name before what is wrong."""
        last = self.stack[-1] if self.stack else None
        if isinstance(last, T.Target | T.Name):
            span, word = last.span, last.name
        elif isinstance(last, Token) and last.start_pos is not None:
            assert last.end_pos is not None
            span, word = Span(self.source, last.start_pos, last.end_pos), str(last)
        else:
            return None
        if word == "to" and self.span.text() == "vector":
            return span.error(
                "'to' cannot stand before an input",
                hint="leave it out: in the paper's Listing 3 it is a misprint",
            )
        if word in RESERVED and not isinstance(last, T.Node) and last.type == "NAME":
            return span.error(
                f"'{word}' cannot stand here",
                hint=INSTEAD.get(word, "it is a word of the language"),
            )
        return None

    def _separator(self) -> FormaError | None:
        """Sizes separated by a dot, as they are once in the paper."""
        if self.span.text() == "." and {"COMMA", "RSQB"} <= self.accepted:
            return self.span.error(
                "expected ',' or ']', not '.'", hint="sizes are separated by commas"
            )
        return None

    def _missing(self) -> FormaError | None:
        """A semicolon that is missing is so behind what stands before."""
        if "SEMICOLON" not in self.accepted or self.unknown:
            return None
        last = self.stack[-1]
        while isinstance(last, Tree):  # of a rule that repeats
            last = last.children[-1]
        end = (last.end_pos or 0) if isinstance(last, Token) else last.span.end
        return Span(self.source, end, end + 1).error(
            f"expected ';' before {self._found()}",
            hint="each statement and declaration ends with ;",
        )

    def _found(self) -> str:
        if self.at_end:
            return "the end of the program"
        text = self.span.text()
        return f"'{text}'" if len(text) <= 24 else f"'{text[:21]}…'"

    def _expected(self) -> str:
        found = self._found()
        if self.unknown:
            return f"the character {found} has no meaning here"
        if self.accepted >= _EXPRESSION:
            return f"expected an expression, not {found}"
        kinds = self.accepted - _OPERATORS
        named: list[str] = []
        if kinds >= _STATEMENT:
            named.append("a statement")
            kinds = kinds - _STATEMENT - {"VECTOR", "STENCIL", "STRUCT", "PARAMETER"}
            kinds = kinds - {"$END"}
        named += sorted({self._name(kind) for kind in kinds})
        if not named:
            return f"{found} has no meaning here"
        many = ", ".join(named[:-1])
        return f"expected {many + ' or ' if many else ''}{named[-1]}, not {found}"

    def _name(self, kind: str) -> str:
        if kind in _CALLED:
            return _CALLED[kind]
        pattern = _terminal(kind)
        return f"'{pattern}'"

    def _hint(self) -> str:
        if self.at_end:
            return "something that was opened is not closed"
        if self.unknown:
            return "remove it, or look at what stands before it"
        if self.accepted - _OPERATORS == {"TO"}:
            return "a crop is written [first..last, …], a padding on the left [n.., …]"
        return ""


def _terminal(kind: str) -> str:
    """The text of a token of the grammar."""
    return str(PARSER.lark.get_terminal(kind).pattern.value)


__all__ = ["PARSER"]
