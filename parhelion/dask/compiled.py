"""A compiled pipeline as a value that is sent to workers, and the work on one chunk.

Its pickle has the pipeline, the numbers and constants that it is run with, and the
machine code that this process has for it. A worker loads it once, whatever number of
chunks it computes: the code goes to the worker's own cache, from which it is loaded
without lowering. A worker with another processor compiles the pipeline, once.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable as Function
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np

from parhelion.errors import HalideError, Site, located
from parhelion.ir.bindings import SET
from parhelion.lang.boxes import Box
from parhelion.lang.buffer import Buffer
from parhelion.lang.callable import Callable
from parhelion.runtime import cache
from parhelion.runtime.after_fork import COMPILER, freed_by_forks
from parhelion.runtime.program import kept_record, program_digest
from parhelion.runtime.threads import limit_threads

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Slices: TypeAlias = tuple[slice, ...]

#: How many pipelines a process keeps loaded.
_MOST_LOADED = 64
_LOCK = threading.RLock()
# It is taken before that of whoever compiles.
freed_by_forks(_LOCK, COMPILER - 1)
_LOADED: OrderedDict[str, Compiled] = OrderedDict()


class Piece:
    """Where in the part of an image that a chunk needs a block goes, and which part of
    the block that is. Both in NumPy's order of axes."""

    __slots__ = ("into", "taken")

    def __init__(self, into: Slices, taken: Slices) -> None:
        self.into, self.taken = into, taken

    def __reduce__(self) -> tuple[Any, ...]:
        return Piece, (self.into, self.taken)


class Job:
    """What is computed for one chunk. Boxes are in the order of dimensions.

    label: what messages call the chunk. asked: the region of the outputs. written: of
    each output, the region that is computed. needed: the region of each image.
    pieces: of each image, what it is put together from.
    numbers: stand in place of as many of the first scalars.
    """

    __slots__ = ("asked", "label", "needed", "numbers", "pieces", "written")

    def __init__(
        self,
        label: str,
        asked: Box,
        written: Sequence[Box],
        needed: Sequence[Box],
        pieces: Sequence[Sequence[Piece]],
        numbers: Sequence[int] = (),
    ) -> None:
        self.label, self.asked = label, asked
        self.written, self.needed, self.pieces = written, needed, pieces
        self.numbers = numbers

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.label, self.asked, self.written, self.needed, self.pieces)
        return Job, (*given, self.numbers)


class Compiled:
    """A pipeline for chunks, with what all its runs share.

    call: takes the images, `scalars`, `constants` and the outputs. orders: of each
    image, then of each output, the array's axis of each dimension. types: of images,
    then outputs. threads: the most that one run uses; None for all. site: the user's
    line, for messages.
    """

    def __init__(
        self,
        call: Callable,
        scalars: Sequence[object],
        constants: Sequence[Array],
        orders: Sequence[Sequence[int]],
        types: Sequence[np.dtype[Any]],
        threads: int | None,
        site: Site | None = None,
    ) -> None:
        self.call = call
        self.scalars, self.constants = list(scalars), list(constants)
        self.orders, self.types = [tuple(o) for o in orders], list(types)
        self.threads, self.site = threads, site
        self._pickle: tuple[str, bytes] | None = None

    def told(self) -> list[object]:
        """What is the same for values that compute the same, whatever their Funcs are
        called, for ``dask.base.tokenize``."""
        runner = self.call._runner
        state = runner._state
        programs = list(runner._programs)
        digest = None
        if state is not None:
            digest = program_digest(state, runner.name, programs[0])
        pixels = [np.asarray(SET.of(symbol)) for symbol in self.call._bound]
        what = self._pickled()[0] if digest is None else digest
        return [what, pixels, self.scalars, self.constants, self.orders, self.types]

    def _pickled(self) -> tuple[str, bytes]:
        with _LOCK:
            if self._pickle is None:
                runner = self.call._runner
                state = runner._state
                found = [
                    kept_record(state, runner.name, variant)
                    for variant in (() if state is None else list(runner._programs))
                    if state is not None
                ]
                records = [record for record in found if record is not None]
                given = (self.call, self.scalars, self.constants, self.orders)
                inside = pickle.dumps((given, self.types, self.threads, self.site), 5)
                data = pickle.dumps((records, inside), 5)
                self._pickle = hashlib.sha256(data).hexdigest(), data
            return self._pickle

    def __reduce__(self) -> tuple[Function[[str, bytes], Compiled], tuple[str, bytes]]:
        return _loaded, self._pickled()

    def run(self, job: Job, blocks: Sequence[Sequence[Array]]) -> Any:
        """Computes one chunk: an array, or a tuple of one for each output.

        blocks: of each image those that `job.pieces` says the place of. Raises what the
        pipeline raises, with the chunk among the details.
        """
        images = [
            _gathered(box, order, pieces, found, dtype)
            for box, order, pieces, found, dtype in zip(
                job.needed, self.orders, job.pieces, blocks, self.types, strict=False
            )
        ]
        count = len(images)
        made = [
            np.empty([box[order.index(a)][1] for a in range(len(order))], dtype)
            for box, order, dtype in zip(
                job.written, self.orders[count:], self.types[count:], strict=True
            )
        ]
        given = zip(
            [*images, *made], [*job.needed, *job.written], self.orders, strict=True
        )
        buffers = [_buffer(array, box, order) for array, box, order in given]
        scalars = [*job.numbers, *self.scalars[len(job.numbers) :]]
        arguments = [*buffers[:count], *scalars, *self.constants, *buffers[count:]]
        if all([array.size for array in made]):
            most, line = self.threads, self.site
            limit = nullcontext() if most is None else limit_threads(most)
            with limit, nullcontext() if line is None else located(line):
                try:
                    self.call(*arguments)
                except HalideError as error:
                    error.add(f"in {job.label}")
                    raise
        out = [
            _cut(array, box, job.asked, order)
            for array, box, order in zip(
                made, job.written, self.orders[count:], strict=True
            )
        ]
        return out[0] if len(out) == 1 else tuple(out)


def _gathered(
    box: Box,
    order: Sequence[int],
    pieces: Sequence[Piece],
    blocks: Sequence[Array],
    dtype: np.dtype[Any],
) -> Array:
    """The part of an image, put together."""
    shape = tuple([box[order.index(a)][1] for a in range(len(order))])
    if len(pieces) == 1:
        return np.asarray(np.asarray(blocks[0])[pieces[0].taken], dtype, order="C")
    made = np.empty(shape, dtype)
    for piece, block in zip(pieces, blocks, strict=True):
        made[piece.into] = block[piece.taken]
    return made


def _buffer(array: Array, box: Box, order: Sequence[int]) -> Buffer:
    turned = Buffer(array.transpose(order), reverse_axes=False)
    return turned.translated([lo for lo, _ in box])


def _cut(array: Array, box: Box, asked: Box, order: Sequence[int]) -> Array:
    if box == asked:
        return array
    found = []
    for a in range(len(order)):
        (lo, _), (first, extent) = box[order.index(a)], asked[order.index(a)]
        found.append(slice(first - lo, first - lo + extent))
    return array[tuple(found)].copy()


def _loaded(digest: str, data: bytes) -> Compiled:
    """The value of a pickle: the one that this process has already, if it has."""
    with _LOCK:
        found = _LOADED.get(digest)
        if found is None:
            records, inside = pickle.loads(data)
            for name, contents in records:
                if cache.load(name) is None:
                    cache.store(name, contents)
            # Only now: the Callable asks the cache for its code when it is made.
            given, types, threads, site = pickle.loads(inside)
            call, scalars, constants, orders = given
            found = Compiled(call, scalars, constants, orders, types, threads, site)
            found._pickle = digest, data
            _LOADED[digest] = found
            while len(_LOADED) > _MOST_LOADED:
                _LOADED.popitem(last=False)
        _LOADED.move_to_end(digest)
    return found


def compute(compiled: Compiled, job: Job, blocks: Sequence[Sequence[Array]]) -> Any:
    """The task of one chunk."""
    return compiled.run(job, blocks)


def cut(block: Array, piece: Piece) -> Array:
    """The task that takes a small part of a block, so that no more of it is kept, or
    sent to another worker."""
    return np.array(np.asarray(block)[piece.taken], order="C")


__all__ = ["Compiled", "Job", "Piece", "compute", "cut"]
