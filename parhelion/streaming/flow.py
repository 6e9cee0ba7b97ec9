"""Frames in flight: a thread that reads, one that computes, and the consumer.

The source is asked for a frame only while there is room: at most `queue` frames are in
flight, and those beyond that an output needs of the future. Frames are copied into a
ring as they come, so that a source may use one array for all.
"""

from __future__ import annotations

import atexit
import contextvars
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from parhelion.runtime.layout import Array
from parhelion.streaming.counters import Counters
from parhelion.streaming.frames import check_alike, frames_of, pixels_of
from parhelion.streaming.rings import Ring


class Work(Protocol):
    """What computes output frames from a ring of a video's frames.

    ring: the frames. ahead: how many frames beyond its own an output takes.
    """

    ahead: int

    @property
    def ring(self) -> Ring: ...

    def count(self, n: int) -> int:
        """How many output frames a video of `n` frames has."""

    def needs(self, t: int, arrived: int, ended: bool) -> Any:
        """What output frame `t` takes; None if more frames must come first."""

    def run(self, t: int, step: Any, arrived: int, ended: bool) -> list[Array]:
        """Computes output frame `t`."""

    def low(self, step: Any, t: int) -> int:
        """The first frame that later outputs may read."""

    def larger_ring(self, arrived: int, low: int) -> None:
        """Makes the ring larger."""

    def computed(self) -> dict[str, int]:
        """How many frames of kept Funcs were computed."""


#: What an output takes, how many frames had come then, and whether those are all.
_Step = tuple[Any, int, bool]

#: Streams whose threads may run.
_RUNNING: weakref.WeakSet[Flow] = weakref.WeakSet()


class Flow:
    """The state of a stream, which its threads share. They hold no `Stream`, so that
    one that is forgotten is closed.

    make: makes the Work for the first frame. queue: how many frames are in flight; with
    0 there are no threads, and all happens when a frame is asked for.
    """

    def __init__(
        self, make: Callable[[Array], Work], source: object, queue: int
    ) -> None:
        self.make, self.queue = make, queue
        self.counters = Counters()
        self.iterator, self._own = frames_of(source)
        self.work: Work | None = None
        self.first: Array | None = None
        self.arrived = self.delivered = self.low = self.wanted = self.t = 0
        self.ended = self.stopping = self.finished = self.writing = False
        #: What the source, and what the pipeline raised.
        self.failed: BaseException | None = None
        self.error: BaseException | None = None
        self.made: deque[list[Array]] = deque()
        self.changed = threading.Condition()
        self.threads: list[threading.Thread] = []

    # The consumer's side.

    def next(self) -> list[Array]:
        """The next output; raises StopIteration after the last, and what went wrong."""
        if self.queue == 0:
            made = None if self.finished else self._inline()
        else:
            if not self.threads and not self.finished:
                self._start()
            made = self._waited()
        if made is not None:
            return made
        error, self.error = self.error, None
        self.close()
        if error is not None:
            raise error
        raise StopIteration

    def _inline(self) -> list[Array] | None:
        """Reads and computes until there is an output."""
        try:
            while not self.finished:
                step = self._step()
                if step is not None:
                    self._compute(step)
                    self.counters.frames_out += 1
                    self.delivered += 1
                    return self.made.popleft()
                if not self.finished:
                    self._take()
        except BaseException as error:
            self.finished = True
            self.error = error
        return None

    def _waited(self) -> list[Array] | None:
        began = time.perf_counter()
        with self.changed:
            while not self.made and not self.finished:
                self.changed.wait()
            self.counters.consumer_seconds += time.perf_counter() - began
            if not self.made:
                return None
            self.delivered += 1
            self.counters.frames_out += 1
            self.changed.notify_all()
            return self.made.popleft()

    def _start(self) -> None:
        _RUNNING.add(self)
        for name, body in (("read", self._reading), ("compute", self._computing)):
            run = contextvars.copy_context().run
            thread = threading.Thread(
                target=run, args=(body,), name=f"hl.stream {name}", daemon=True
            )
            self.threads.append(thread)
        for thread in self.threads:
            thread.start()

    def close(self) -> None:
        """Has the threads end, and waits until they have: for the frame that the source
        is giving, and the one that is computed."""
        with self.changed:
            self.stopping = self.finished = True
            self.made.clear()
            self.changed.notify_all()
        for thread in self.threads:
            if thread is not threading.current_thread():
                _join(thread)
        _RUNNING.discard(self)
        if self._own and not any([t.is_alive() for t in self.threads]):
            close = getattr(self.iterator, "close", None)
            if close is not None:
                close()

    # Reading.

    def _may_read(self) -> bool:
        work = self.work
        if work is None:
            return self.arrived == 0
        if self.arrived - self.low >= work.ring.size:
            return False
        room = self.delivered + self.queue + work.ahead
        lacks = self.arrived < self.wanted and self.t < self.delivered + self.queue
        return self.arrived < room or lacks

    def _reading(self) -> None:
        try:
            while self._has_room():
                self._take()
        except BaseException as error:
            with self.changed:
                self.failed, self.ended = error, True
                self.changed.notify_all()

    def _has_room(self) -> bool:
        """Waits until a frame may be taken; false if none is wanted any more."""
        with self.changed:
            if not (self._may_read() or self.stopping):
                self.counters.consumer_waits += 1
            while not (self._may_read() or self.stopping):
                self.changed.wait()
            return not (self.stopping or self.ended)

    def _take(self) -> None:
        """Takes a frame of the source."""
        began = time.perf_counter()
        try:
            frame = pixels_of(next(self.iterator))
        except StopIteration:
            with self.changed:
                self.ended = True
                self.changed.notify_all()
            return
        if self.first is None:
            self.counters.source_seconds += time.perf_counter() - began
            self.first = np.empty_like(frame, shape=frame.shape)
            work = self.make(frame)
            began = time.perf_counter()
        else:
            assert self.work is not None
            work = self.work
            check_alike(frame, self.first, self.arrived)
        with self.changed:
            self.writing = True
        work.ring.frame(self.arrived)[...] = frame
        with self.changed:
            self.work, self.writing = work, False
            self.arrived += 1
            counters = self.counters
            counters.frames_in += 1
            counters.in_flight = max(counters.in_flight, self.arrived - self.delivered)
            counters.source_seconds += time.perf_counter() - began
            self.changed.notify_all()

    # Computing.

    def _computing(self) -> None:
        try:
            while True:
                with self.changed:
                    step, met = self._step(), -1
                    while step is None and not (self.finished or self.stopping):
                        if met != self.arrived:
                            self.counters.source_waits += 1
                        met = self.arrived
                        self.changed.wait()
                        if met != self.arrived or self.ended or self._is_full():
                            step = self._step()
                    if step is None or self.stopping:
                        return
                self._compute(step)
        except BaseException as error:
            with self.changed:
                self.error, self.finished = error, True
                self.changed.notify_all()

    def _is_full(self) -> bool:
        work = self.work
        return (
            work is not None
            and not self.writing
            and self.arrived - self.low >= work.ring.size
        )

    def _step(self) -> _Step | None:
        """What the next output takes; None if it must wait, or there is none."""
        work = self.work
        if work is not None:
            last = self.ended and self.failed is None
            if not (self.ended and self.t >= work.count(self.arrived)):
                step = work.needs(self.t, self.arrived, last)
                if step is not None:
                    return step, self.arrived, last
                if not self.ended and self._is_full():
                    work.larger_ring(self.arrived, self.low)
        if self.ended:
            self.error, self.finished = self.failed, True
        self.wanted = self.arrived + 1
        if self.threads:
            self.changed.notify_all()
        return None

    def _compute(self, step: _Step) -> None:
        """Computes the next output. What has come meanwhile changes nothing of it."""
        assert self.work is not None
        began = time.perf_counter()
        made = self.work.run(self.t, *step)
        with self.changed:
            self.made.append(made)
            self.t += 1
            self.low = max(self.low, self.work.low(step[0], self.t))
            self.counters.compute_seconds += time.perf_counter() - began
            self.counters.computed = self.work.computed()
            self.changed.notify_all()


def _join(thread: threading.Thread) -> None:
    """Waits until a thread has ended."""
    try:
        thread.join()
    except RuntimeError:
        # Ctrl-C came while it was started: it never runs, or ends at its first look.
        if thread.is_alive():
            raise


@atexit.register
def _close_all() -> None:
    """Ends the threads of streams that are left when the program ends."""
    for flow in list(_RUNNING):
        flow.close()


__all__ = ["Flow", "Work"]
