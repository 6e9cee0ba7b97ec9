"""``parhelion cache``: what is kept of compiled code, and throwing it away."""

from __future__ import annotations

import click

from parhelion.runtime import cache as kept


@click.group()
def cache() -> None:
    """The persistent cache of compiled code."""


@cache.command()
def info() -> None:
    """Show where the cache is and how much is in it."""
    told = kept.usage()
    if told.folder is None:
        click.echo("the cache is off (PARHELION_CACHE)")
        return
    click.echo(f"folder  {told.folder}")
    click.echo(f"files   {told.files}")
    click.echo(f"size    {_megabytes(told.bytes)} of at most {_megabytes(told.limit)}")


@cache.command()
def clear() -> None:
    """Delete all of it."""
    size = kept.usage().bytes
    count = kept.clear()
    click.echo(f"deleted {count} files, {_megabytes(size)}")


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB"


__all__ = ["cache"]
