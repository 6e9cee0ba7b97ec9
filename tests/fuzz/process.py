"""A process that answers line by line, so that its death is an answer like others."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

_ROOT = Path(__file__).resolve().parent.parent.parent


class NoAnswer(Exception):
    """The process died, or took too long."""


class Process:
    """``python -m module arguments``, which answers each line that it reads with one;
    a new one takes over when it dies."""

    def __init__(self, module: str, *arguments: str) -> None:
        self.command = [sys.executable, "-m", module, *arguments]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, line: str, seconds: float) -> str:
        """The answer to a line. Raises NoAnswer."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], seconds)
            answer = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            ready, answer = [process.stdout], ""
        if answer:
            return answer
        self.close()
        if not ready:
            raise NoAnswer(f"no answer within {seconds:g} s")
        raise NoAnswer(f"the process died: {process.returncode}")

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                # Programs are verified after each pass of the compiler.
                env={**os.environ, "PARHELION_VERIFY": "1"},
            )
        return self.process

    def close(self) -> None:
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
