"""Runs lowered statements with forks: one thread at a time, the next one chosen by a
rule wherever semaphores let another go on.

A producer that goes as far ahead as it may, a consumer that waits as little as it may,
and chance: what goes wrong between two threads under any of these goes wrong each time,
where two threads of the machine may do right for years.
"""

from __future__ import annotations

import math
import threading
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parhelion.ir.expr import Expr, Load, Var
from parhelion.ir.stmt import Acquire, Fork, Prefetch, Release, Stmt
from parhelion.ir.symbols import BufferSym
from tests.lower.execute import Machine

#: Which of the threads that can go on does: the one that is first or last in the order
#: of the program, or any.
RULES: Mapping[str, Callable[[Sequence[Any], np.random.Generator], int]] = {
    "the producer first": lambda ready, chance: 0,
    "the consumer first": lambda ready, chance: len(ready) - 1,
    "by chance": lambda ready, chance: int(chance.integers(len(ready))),
}


class Deadlock(Exception):
    """All threads wait for each other."""


class _Ended(Exception):
    """Another thread has failed."""


class _Thread:
    """One of several. place: in the order of the program. ready: whether it can go
    on."""

    def __init__(self, place: tuple[int, ...]) -> None:
        self.place = place
        self.ready: Callable[[], bool] = lambda: True


class _Baton:
    """Lets one thread run at a time."""

    def __init__(self, rule: str, seed: int) -> None:
        self.rule, self.chance = RULES[rule], np.random.default_rng(seed)
        self.turn = threading.Condition()
        self.threads: list[_Thread] = []
        self.now: _Thread | None = None
        self.failed: BaseException | None = None

    def choose(self) -> None:
        """Hands the baton to one that can go on. Call it with `turn` held."""
        ready = [t for t in sorted(self.threads, key=lambda t: t.place) if t.ready()]
        if not ready and self.threads and self.failed is None:
            self.failed = Deadlock(f"{len(self.threads)} threads wait for each other")
        self.now = ready[self.rule(ready, self.chance)] if ready else None
        self.turn.notify_all()

    def wait(self, me: _Thread) -> None:
        """Until this thread has the baton. Call it with `turn` held."""
        while self.now is not me and self.failed is None:
            self.turn.wait()
        if self.failed is not None:
            raise _Ended

    def offer(self, me: _Thread, ready: Callable[[], bool]) -> None:
        """Lets another go on; comes back when this one can, and is chosen."""
        with self.turn:
            me.ready = ready
            self.choose()
            self.wait(me)
            me.ready = lambda: True


class Interleaved(Machine):
    """A machine of several threads, which share memory that was there before them."""

    #: Whole programs have lost some of the Vars that others were bounded by.
    knows_facts = False

    def __init__(
        self,
        memory: Mapping[BufferSym, list[Any]],
        env: Mapping[Var, Any] | None,
        baton: _Baton,
    ) -> None:
        super().__init__(memory, env)
        self.baton = baton
        self.me = _Thread(())
        baton.threads.append(self.me)
        baton.now = self.me

    def load(self, e: Expr, at: tuple[int, ...]) -> Any:
        """Vectors past the end of what a guard allows load what nobody has stored."""
        assert isinstance(e, Load)
        data = self.memory.get(e.buffer)
        if data is not None and 0 <= at[0] < len(data) and data[at[0]] is None:
            return 0
        return super().load(e, at)

    def fork(self, s: Fork) -> None:
        baton, parts = self.baton, []
        for k, body in enumerate((s.first, s.second)):
            part = Interleaved.__new__(Interleaved)
            part.__dict__.update(self.__dict__)
            part.env, part.allocated = dict(self.env), {}
            part.memory = ChainMap({}, self.memory)  # type: ignore[assignment]
            part.me = _Thread((*self.me.place, k))
            parts.append(part)
            thread = threading.Thread(target=part._live, args=(body,), daemon=True)
            with baton.turn:
                baton.threads.append(part.me)
            thread.start()
        own = [p.me for p in parts]
        baton.offer(self.me, lambda: not any(t in baton.threads for t in own))
        self.steps = sum(p.steps for p in parts)

    def _live(self, body: Stmt) -> None:
        baton = self.baton
        try:
            with baton.turn:
                baton.wait(self.me)
            self.run(body)
        except _Ended:
            pass
        except BaseException as error:  # told to whoever waits for this thread
            baton.failed = baton.failed or error
        with baton.turn:
            baton.threads.remove(self.me)
            baton.choose()

    def acquire(self, s: Acquire) -> None:
        cell, count = self.memory[s.semaphore], int(self.scalar(s.count))
        self.baton.offer(self.me, lambda: cell[0] >= count)
        cell[0] -= count

    def release(self, s: Release) -> None:
        self.memory[s.semaphore][0] += int(self.scalar(s.count))
        self.baton.offer(self.me, lambda: True)


Interleaved.statements = Machine.statements | {
    Prefetch: lambda machine, s: None,
    Fork: Interleaved.fork,
    Acquire: Interleaved.acquire,
    Release: Interleaved.release,
}


def execute_interleaved(
    s: Stmt,
    memory: Mapping[BufferSym, list[Any]],
    env: Mapping[Var, Any] | None,
    rule: str,
    seed: int = 0,
    most: float = math.inf,
) -> Machine:
    """Runs `s` under one of the `RULES`, and returns the machine with what it left in
    memory. most: statements that a thread may run. Raises Deadlock, TooLong, and
    whatever goes wrong in one of the threads."""
    baton = _Baton(rule, seed)
    machine = Interleaved(memory, env, baton)
    machine.most = most
    try:
        machine.run(s)
    except _Ended:
        assert baton.failed is not None
        raise baton.failed from None
    return machine
