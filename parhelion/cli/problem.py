"""What a user of the command line did wrong, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

import click


class Problem(Exception):
    """Ends the command with a message, and code 1. legal: what would be right."""

    def __init__(self, what: str, legal: Sequence[str] = (), hint: str = "") -> None:
        lines = [what]
        if legal:
            lines.append(f"  there is: {', '.join(legal)}")
        if hint:
            lines.append(f"  hint: {hint}")
        super().__init__("\n".join(lines))


def note(what: str) -> None:
    """Tells, on the standard error, what the user may not expect; the command goes
    on."""
    click.echo(f"parhelion: note: {what}", err=True)


__all__ = ["Problem", "note"]
