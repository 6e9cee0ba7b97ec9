"""Files that are damaged, or made to harm, are refused with an error that says why.

    python -m tests.serialisation.test_damaged 100000

changes so many files at random, half of them with a digest that is right again, and
prints what became of them.
"""

from __future__ import annotations

import random
import re
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import parhelion as hl
from parhelion.lang.serialisation import _framed, _parts
from parhelion.schedule.serial import VERSION

pytestmark = pytest.mark.filterwarnings(
    "ignore::parhelion.schedule.rules.ScheduleWarning"
)
x, y, xi, yi = hl.vars("x y xi yi")


def _with_everything() -> bytes:
    """A pipeline with a table, Params, branches, updates, wrappers and directives."""
    table = hl.Buffer(np.arange(35, dtype=np.float32).reshape(5, 7), "table")
    image = hl.ImageParam(hl.UInt(8), 2, "image")
    gain = hl.Param(hl.Float(32), "gain", 1.5)
    gain.set_range(0.0, 4.0)
    image.dim(0).set_estimate(0, 640)
    f, g, out = hl.Func("f"), hl.Func("g"), hl.Func("out")
    r = hl.RDom([(0, 5), (0, 3)], "r")
    r.where(r.x + r.y < 6)
    f[x, y] = image[hl.clamp(x, 0, 9), y] * gain + table[x % 7, y % 5]
    g[x, y] = 0.0
    g[x, y] += hl.sqrt(f[x + r.x, y + r.y])
    out[x, y] = (g[x, y] + f[x, y], hl.select(f[x, y] > 1.0, x, y))
    f.compute_at(out, xi).store_at(out, x).align_storage(x, 16)
    g.compute_root().update(0).vectorize(x, 4)
    f.in_(g).compute_at(g, y)
    out.tile(x, y, xi, yi, 16, 4).vectorize(xi, 8).parallel(y)
    out.specialize(gain > 2.0).unroll(xi, 2)
    out.bound(x, 0, 64).prefetch(f, yi, yi, 2)
    p = hl.Pipeline(out)
    p.add_requirement(gain < 3.0, "gain is", gain)
    return hl.serialize_pipeline(p)


GOOD = _with_everything()
DOCUMENT, PIXELS = _parts(GOOD)

_WORD = re.compile(rb'-?\d+|"[^"]*"|true|false|null|\[\]')
_NEW = (
    *(b"0", b"1", b"-1", b"2147483647", b"9999999999999999999999", b"null", b"true"),
    *(b"[]", b"{}", b'""', b'"x"', b'"0x1p+4000"', b'"nan"', b"NaN", b"1e999", b"1.5"),
    *(
        b'"\\ud800"',
        b'"\\u0000"',
        b'"memo_storage"',
        b'"Extern"',
        b'"int32"',
        b'"Load"',
    ),
)


def changed_words(document: bytes, rng: random.Random) -> bytes:
    """A document in which words are replaced by others of it, or by bad ones."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        words = list(_WORD.finditer(document))
        if not words:
            break
        at = rng.choice(words)
        new = rng.choice(words).group() if rng.random() < 0.6 else rng.choice(_NEW)
        document = document[: at.start()] + new + document[at.end() :]
    return document


def changed_bytes(data: bytes, rng: random.Random) -> bytes:
    """Bytes of which some are other ones, are missing, or are there twice."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, n = rng.randrange(len(made)), rng.randrange(1, 40)
        what = rng.randrange(4)
        if what == 0:
            made[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            del made[at : at + n]
        elif what == 2:
            made[at:at] = made[at : at + n]
        else:
            made[at : at + 1] = bytes([rng.randrange(256)])
        if not made:
            break
    return bytes(made)


def damaged(rng: random.Random) -> bytes:
    """A file, changed at random."""
    which = rng.randrange(4)
    if which == 0:
        return changed_bytes(GOOD, rng)
    if which == 1:
        return _framed(changed_bytes(DOCUMENT, rng), PIXELS)
    if which == 2:
        return _framed(DOCUMENT, changed_bytes(PIXELS, rng))
    return _framed(changed_words(DOCUMENT, rng), PIXELS)


def outcome(data: bytes) -> str:
    """What becomes of a file: only these two may happen."""
    try:
        hl.deserialize_pipeline(data)
    except hl.InternalError:
        raise
    except hl.HalideError as error:
        return "refused" if str(error) else "refused without a word"
    return "read"


def test_damaged_files_are_refused_or_read() -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(1500):
        outcomes[outcome(damaged(random.Random(seed)))] += 1
    assert set(outcomes) <= {"read", "refused"}
    assert outcomes["refused"] > 1000


def test_any_change_of_a_byte_is_found() -> None:
    for at in range(0, len(GOOD), 7):
        made = bytearray(GOOD)
        made[at] ^= 0x10
        with pytest.raises(hl.SerialisationError):
            hl.deserialize_pipeline(bytes(made))


def test_files_that_end_too_early_are_refused() -> None:
    for end in (*range(80), len(GOOD) // 2, len(GOOD) - 1):
        with pytest.raises(hl.SerialisationError):
            hl.deserialize_pipeline(GOOD[:end])


def test_another_version_is_refused() -> None:
    made = bytearray(GOOD)
    made[16:20] = (VERSION + 1).to_bytes(4, "little")
    told = f"has version {VERSION + 1} of the format; .* reads version {VERSION}"
    with pytest.raises(hl.SerialisationError, match=told):
        hl.deserialize_pipeline(bytes(made))


def _replaced(old: bytes, new: bytes) -> bytes:
    assert DOCUMENT.count(old) >= 1
    return DOCUMENT.replace(old, new, 1)


def _table(entries: Sequence[str]) -> bytes:
    """A document with a table of its own."""
    keys = ("functions", "outputs", "requirements", "promises", "estimates", "values")
    others = "".join([f',"{key}":[]' for key in keys])
    return f'{{"table":[{",".join(entries)}]{others}}}'.encode()


WRONG: dict[str, tuple[Callable[[], bytes], str]] = {
    "deep": (lambda: b"[" * 200_000, "nested too deep"),
    "no JSON": (lambda: b"{", "Expecting property name"),
    "an array": (lambda: b"[]", "its parts are others"),
    "many digits": (lambda: b"[" + b"9" * 5000 + b"]", "digits"),
    "NaN": (lambda: b"[NaN]", "NaN"),
    "an entry of passes": (
        lambda: _table(['["Load"]']),
        "an entry of the kind 'Load'",
    ),
    "later entries": (
        lambda: _table(['["Not",1]', '["Imm","bool",1]']),
        "no entry 1 before its first use",
    ),
    "itself": (lambda: _table(['["Not",0]']), "no entry 0 before its first use"),
    "types": (
        lambda: _table(['["Imm","int32",1]', '["Imm","int8",1]', '["Add",0,1]']),
        "Add of int32 and int8",
    ),
    "addresses": (
        lambda: _table(['["Intrinsic","int64","memo_find",[]]']),
        "memo_find in an algorithm",
    ),
    "dimensions": (
        lambda: _table(['["Image","p","uint8",99,false,0]']),
        "an image of 99 dimensions",
    ),
    "the bits of a float": (
        lambda: _table(['["FloatImm","bfloat16",4294967296]']),
        "4294967296 are no bits of bfloat16",
    ),
    "an alignment": (
        lambda: _table(['["Image","p","uint8",2,false,3]']),
        "an alignment of 3 bytes",
    ),
    "two of a name": (
        lambda: _table(['["Param","p","int32"]', '["Param","p","int32"]']),
        "two images or Params of the name p",
    ),
    "nothing": (lambda: _table([]), "its Funcs are not distinct"),
    "a loop": (
        lambda: _replaced(b'"VECTORIZED"', b'"VECTORISED"'),
        "'VECTORISED' is no ForKind",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    make, told = WRONG[name]
    with pytest.raises(hl.SerialisationError, match=told) as caught:
        hl.deserialize_pipeline(_framed(make(), PIXELS))
    assert "this is no serialised pipeline, or it is damaged" in str(caught.value)
    assert "test_damaged.py" in str(caught.value)


def test_c_functions_that_the_program_has_not_named_are_not_called() -> None:
    """A file could name any function of the process."""
    document = _table(['["Imm","int32",1]', '["Extern","int32","exit",[0]]'])
    told = r"calls the C function 'exit' as int32\(int32\), which this program does not"
    with pytest.raises(hl.HalideError, match=told):
        hl.deserialize_pipeline(_framed(document, b""))


def test_sizes_that_are_not_there_are_not_allocated() -> None:
    pattern = rb"\[\[0,0\],\[7,5\],\[0,1\]\]"
    assert re.search(pattern, DOCUMENT)
    for extents in (b"2147483647,2147483647", b"2147483647,0", b"7,6", b"-7,-5"):
        document = re.sub(pattern, b"[[0,0],[%s],[0,1]]" % extents, DOCUMENT)
        tracemalloc.start()
        try:
            with pytest.raises(hl.SerialisationError):
                hl.deserialize_pipeline(_framed(document, PIXELS))
            assert tracemalloc.get_traced_memory()[1] < 1 << 22
        finally:
            tracemalloc.stop()


def main() -> int:
    outcomes: Counter[Any] = Counter()
    for seed in range(int(sys.argv[1])):
        try:
            outcomes[outcome(damaged(random.Random(seed)))] += 1
        except Exception as error:
            outcomes[type(error).__name__] += 1
            print(f"seed {seed}: {type(error).__name__}: {error}")
    print(dict(outcomes))
    return len({*outcomes} - {"read", "refused"})


if __name__ == "__main__":
    sys.exit(main())
