"""Names that are unique in a process: which come out, and what is kept of them."""

from __future__ import annotations

import random
import re

from parhelion.ir import names


class Plain:
    """The same names, from a table of all that were ever given."""

    def __init__(self, counter: int) -> None:
        self.taken: dict[str, int] = {}
        self.made: dict[str, tuple[str, int]] = {}
        self.counter = counter

    def unique_name(self, wish: str) -> str:
        name = re.sub(r"[^A-Za-z0-9_$]", "_", wish) or "f"
        if name not in self.taken:
            self.taken[name] = 0
            return name
        n = self.taken[name] + 1
        while f"{name}${n}" in self.taken:
            n += 1
        self.taken[name] = n
        self.taken[f"{name}${n}"] = 0
        return f"{name}${n}"

    def fresh(self, prefix: str) -> str:
        name = self.unique_name(f"{prefix}{self.counter}")
        self.made[name] = (prefix, self.counter)
        self.counter += 1
        return name


def test_names_are_those_of_a_table_of_all() -> None:
    first = names.fresh("f")
    start = int(first[1:])
    model = Plain(start + 1)
    model.taken[first] = 0
    model.made[first] = ("f", start)
    r = random.Random(7)
    given = [first]
    for step in range(5000):
        kind = r.randrange(4)
        if kind == 0:
            prefix = r.choice(["f", "v", "r0x", "f1", "a_", "f$"])
            found, wanted = names.fresh(prefix), model.fresh(prefix)
        else:
            number = r.choice([0, 1, 2, 7, start + step // 4 + r.randrange(9)])
            wish = [
                r.choice(["f", "g", "f$", "é x", "", "7", "f$01", "f$0"]),
                f"{r.choice(['f', 'v', 'f$'])}{number}",
                r.choice(given),
            ][kind - 1]
            found, wanted = names.unique_name(wish), model.unique_name(wish)
        assert found == wanted
        given.append(found)
    assert len(set(given)) == len(given)
    for name in given:
        assert names.is_made(name) == (name in model.made)
        if name in model.made:
            assert names.plain_name(name) == model.made[name][0]
            assert names.order_key(name) == (*model.made[name], 0)


def test_little_is_kept_of_a_name() -> None:
    """A pipeline that is made again and again needs no room, but for a word of each
    name that nobody wished."""
    for _ in range(3000):
        names.unique_name("out")
        made = names.fresh("f")
    assert names._TAKEN == {"out": 2999}
    assert not names._RENAMED
    assert len(names._MADE) <= int(made[1:]) + names._ROOM
    assert len({id(prefix) for prefix in names._MADE}) <= 3
