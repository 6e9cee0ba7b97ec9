"""``python -m parhelion``, and the command ``parhelion``."""

from __future__ import annotations

import importlib.util
import sys


def main() -> None:
    """Runs the command line, or tells what it needs."""
    if importlib.util.find_spec("click") is None:
        sys.exit(
            "parhelion: the command line needs the package click\n"
            '  hint: pip install "parhelion[cli]"'
        )
    from parhelion.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
