"""`parhelion.dataclass` beside the standard library's: the same classes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from functools import partial
from typing import Any, ClassVar, cast

import pytest

from parhelion.dataclass import Unwritten, dataclass, made_dataclass

OPTIONS = [
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"eq": False},
    {"eq": False, "frozen": True, "slots": True},
    {"kw_only": True},
    {"slots": True, "weakref_slot": True},
]
Decorator = Callable[..., Any]
DECORATORS: list[Decorator] = [dataclasses.dataclass, made_dataclass]


def bare() -> Any:
    class Record:
        """None."""

    return Record


def plain() -> Any:
    class Record:
        """Three fields."""

        a: int
        b: tuple[int, ...] = (1, 2)
        c: str = "c"

    return Record


def single() -> Any:
    class Record:
        a: float

    return Record


def rich() -> Any:
    class Record:
        """Defaults that are made, fields that do not count, work afterwards."""

        kinds: ClassVar[int] = 3
        a: int
        made: list[int] = field(default_factory=list)
        quiet: int = field(default=5, repr=False, compare=False)
        told: int = field(default=7, hash=False)
        derived: int = field(init=False, default=0)
        named: int = field(default=2, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "derived", self.a * 2)

    return Record


def own_methods() -> Any:
    class Record:
        """Methods of its own, which stay."""

        a: int
        b: int = 0

        def __repr__(self) -> str:
            return f"<{self.a}>"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.a == self.a

        def __hash__(self) -> int:
            return 11 * self.a

    return Record


def own_equality() -> Any:
    class Record:
        """An equality of its own, so that the hash is the decorator's."""

        a: int
        b: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.a == self.a

    return Record


def facts(decorate: Decorator, body: Callable[[], Any], options: dict[str, Any]) -> Any:
    """What can be seen of a class and two of its objects."""
    made = decorate(**options)(body())
    fields = [(f.name, f.init, f.compare, f.kw_only) for f in dataclasses.fields(made)]
    given = {f.name: n for n, f in enumerate(dataclasses.fields(made)) if f.init}
    least = {
        name: value
        for name, value in given.items()
        if made.__dataclass_fields__[name].default is dataclasses.MISSING
        and made.__dataclass_fields__[name].default_factory is dataclasses.MISSING
    }
    one, two, short = made(**given), made(**given), made(**least)
    found: list[Any] = [fields, repr(one), repr(short), made.__match_args__]
    found += [list(inspect.signature(made).parameters)]
    found += [one == two, one == short, short != two, one == 3, made.__eq__(one, 3)]
    found += [made.__hash__ is None, hasattr(made, "__slots__"), made.__qualname__]
    if made.__hash__ is not None and made.__hash__ is not object.__hash__:
        try:
            found += [hash(one) == hash(two), hash(short) == hash(one), hash(short)]
        except TypeError as error:
            found.append(str(error))
    if given:
        name = next(iter(given))
        changes: list[Decorator] = [
            partial(setattr, two, name, 9),
            partial(delattr, two, name),
        ]
        for change in changes:
            try:
                change()
            except FrozenInstanceError as error:
                found.append(str(error))
            found.append(getattr(two, name, "deleted"))
        found.append(repr(dataclasses.replace(one, **{name: 4})))
        found.append(dataclasses.asdict(one))
        found.append(repr(copy.copy(one)))
        found.append(repr(copy.deepcopy(one)))
        for wrong in ({}, {**given, "nobody": 1}):
            if wrong or least:
                with pytest.raises(TypeError) as refused:
                    made(**wrong)
                found.append(str(refused.value).split(".")[-1])
    return found


BODIES = [bare, plain, single, rich, own_methods, own_equality]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
@pytest.mark.parametrize("body", BODIES, ids=lambda b: b.__name__)
def test_classes_behave_as_the_standard_librarys(
    body: Callable[[], Any], options: dict[str, Any]
) -> None:
    standard, ours = (facts(d, body, options) for d in DECORATORS)
    assert ours == standard


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
def test_inheritance(options: dict[str, Any]) -> None:
    def made(decorate: Decorator) -> list[Any]:
        @decorate(**options)
        class Base:
            """The base."""

            a: int
            b: int = 2

        @decorate(**options)
        class Derived(Base):
            """And more."""

            c: int = 3
            a: int = 5

            def doubled(self) -> int:
                return 2 * self.c

        base, derived = cast(Any, Base), cast(Any, Derived)
        one = derived(a=1, c=4)
        found = [repr(one), one.doubled(), one == base(a=1), repr(base(a=7))]
        for name in ("a", "c"):
            try:
                setattr(one, name, 8)
            except FrozenInstanceError as error:
                found.append(str(error))
        return [*found, repr(one), Derived.__mro__[1] is Base]

    standard, ours = (made(d) for d in DECORATORS)
    assert ours == standard


@dataclass(frozen=True, slots=True)
class Frozen:
    """Of this module, so that it can be pickled."""

    a: int
    b: tuple[int, ...] = ()


@dataclass(slots=True)
class Open:
    """Of this module, so that it can be pickled."""

    a: int
    inner: object = None


@pytest.mark.parametrize("one", [Frozen(1, (2, 3)), Open(2, Frozen(3))])
def test_objects_are_pickled(one: Any) -> None:
    assert pickle.loads(pickle.dumps(one)) == one


def test_an_object_in_itself_is_shown() -> None:
    one = Open(1)
    one.inner = one
    assert repr(one) == "Open(a=1, inner=...)"


def test_nan_in_a_field_is_equal_to_itself_only() -> None:
    nan = float("nan")
    assert Frozen(nan) == Frozen(nan)  # type: ignore[arg-type]
    assert Frozen(nan) != Frozen(float("nan"))  # type: ignore[arg-type]


def test_a_frozen_object_says_which_field_was_to_be_set() -> None:
    with pytest.raises(
        dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"
    ):
        Frozen(1).a = 2  # type: ignore[misc]
    with pytest.raises(
        dataclasses.FrozenInstanceError, match="cannot delete field 'b'"
    ):
        del Frozen(1).b


def test_constructors_are_written_when_they_are_looked_up() -> None:
    made = made_dataclass(plain(), frozen=True, slots=True)
    assert isinstance(made.__dict__["__init__"], Unwritten)
    assert made(3).a == 3
    written = made.__dict__["__init__"]
    assert not isinstance(written, Unwritten)
    assert made(4).a == 4
    assert made.__dict__["__init__"] is written


def test_a_constructor_is_inherited_before_it_is_written() -> None:
    made = made_dataclass(plain())
    inherits = type("Inherits", (made,), {})
    assert inherits(5).b == (1, 2)
    with pytest.raises(TypeError, match=r"__init__\(\) missing 1 required .* 'a'"):
        inherits()
