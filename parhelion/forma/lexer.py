"""The colours of Forma programs: a lexer for Pygments, by the name of forma."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    Whitespace,
)

from parhelion.forma.terms import MATH

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class FormaLexer(RegexLexer):  # type: ignore[misc]
    """Forma, as notebooks and pages show it.

    >>> from pygments import highlight
    >>> from pygments.formatters import NullFormatter
    >>> highlight("return blur(x:mirror);", FormaLexer(), NullFormatter())
    'return blur(x:mirror);\\n'
    """

    name = "Forma"
    aliases: ClassVar[list[str]] = ["forma"]
    filenames: ClassVar[list[str]] = ["*.forma"]
    url = "https://doi.org/10.1145/2716282.2716290"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (
                rf"(stencil|vector)(\s+)({_NAME})",
                bygroups(Keyword.Declaration, Whitespace, Name.Function),
            ),
            (
                rf"(struct)(\s+)({_NAME})",
                bygroups(Keyword.Declaration, Whitespace, Name.Class),
            ),
            (
                words(("struct", "stencil", "vector", "parameter"), suffix=r"\b"),
                Keyword.Declaration,
            ),
            (words(("for", "endfor", "by", "return"), suffix=r"\b"), Keyword),
            (
                words(("int8", "int16", "int", "float", "double"), suffix=r"\b"),
                Keyword.Type,
            ),
            (
                r"(:)(\s*)(constant|clamped|wrap|mirror)\b",
                bygroups(Punctuation, Whitespace, Keyword.Pseudo),
            ),
            (words(tuple(MATH), suffix=r"(?=\s*\()", prefix=r"\b"), Name.Builtin),
            (rf"{_NAME}(?=\s*\()", Name.Function),
            (_NAME, Name),
            (
                r"([0-9]+\.(?!\.)[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dfDF]?"
                r"|[0-9]+([eE][+-]?[0-9]+[dfDF]?|[dfDF])",
                Number.Float,
            ),
            (r"[0-9]+", Number.Integer),
            (r"\.\.|&&|\|\||[<>=!]=|[-+*/%<>=!?@]", Operator),
            (r"[][(){},;:.#]", Punctuation),
        ]
    }


__all__ = ["FormaLexer"]
