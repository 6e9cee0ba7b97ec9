"""Fences of code around the examples in docstrings."""

from __future__ import annotations


def fenced(lines: list[str]) -> list[str]:
    """Return lines of Markdown with a fence around each example, up to a blank line."""
    found: list[str] = []
    inside = example = False
    for line in lines:
        if line.lstrip().startswith("```"):
            inside = not inside
        if not inside and not example and line.startswith(">>> "):
            found.append("```pycon")
            example = True
        elif example and not line.strip():
            found.append("```")
            example = False
        found.append(line)
    return [*found, "```"] if example else found
