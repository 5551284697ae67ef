"""`bcjit.records.dataclass` makes what the standard library's decorator makes, for the options it takes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import weakref
from dataclasses import field

import pytest

from bcjit import records
from bcjit.errors import SourceLine


def both(make, **options):
    """Return a class made by either decorator from a fresh body."""
    return [
        decorate(slots=True, **options)(make())
        for decorate in (records.dataclass, dataclasses.dataclass)
    ]


def point():
    class Point:
        """A point."""

        x: int
        y: int = 2
        tags: list = field(default_factory=list)
        hidden: int = field(default=0, repr=False, compare=False)

    return Point


@pytest.mark.parametrize("frozen", [True, False])
def test_construction_comparison_and_text_are_those_of_the_standard_library(frozen):
    for cls in both(point, frozen=frozen):
        one = cls(1)
        assert (one.x, one.y, one.tags, one.hidden) == (1, 2, [], 0)
        assert cls(1).tags is not one.tags
        assert cls(1, 3, hidden=4, tags=[5]) == cls(x=1, y=3, tags=[5])
        assert cls(1) != cls(2)
        assert cls(1).__eq__(1) is NotImplemented
        assert repr(cls(1, 3)).endswith("Point(x=1, y=3, tags=[])")
        assert repr(cls(1)) == f"{cls.__qualname__}(x=1, y=2, tags=[])"
        assert [f.name for f in dataclasses.fields(cls)] == ["x", "y", "tags", "hidden"]
        assert dataclasses.replace(one, x=7) == cls(7)
        assert cls.__match_args__ == ("x", "y", "tags", "hidden")
        assert cls.__doc__ == "A point."
        assert not hasattr(one, "__dict__")
        with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'x'"):
            cls()
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            cls(1, other=2)


def test_signatures_name_the_same_parameters():
    ours, theirs = both(point, frozen=True)
    assert ours(1).y == 2  # an unusual method is compiled when it is first called
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


def test_frozen_records_hash_by_their_compared_fields_and_stay_as_they_are():
    def pair():
        class Pair:
            left: object
            right: object = None

        return Pair

    for cls in both(pair, frozen=True):
        one = cls("a", 1)
        assert hash(one) == hash(cls("a", 1)) == hash(("a", 1))
        for change in (lambda: setattr(one, "left", 2), lambda: delattr(one, "left")):
            with pytest.raises(dataclasses.FrozenInstanceError, match="'left'"):
                change()
        assert one == cls("a", 1)
    for cls in both(pair):
        one = cls("a", 1)
        one.left = "b"
        assert one == cls("b", 1)
        with pytest.raises(TypeError, match="unhashable"):
            hash(one)
    for cls in both(pair, frozen=True, eq=False):
        one = cls("a")
        assert one != cls("a")
        assert {one: 1}[one] == 1


def test_records_of_one_field_or_none():
    def single():
        class Single:
            value: object

        return Single

    def empty():
        class Empty:
            """Nothing."""

        return Empty

    for cls in both(single, frozen=True):
        assert hash(cls(1)) == hash((1,))
        assert (cls(1) == cls(1), cls(1) == cls(2)) == (True, False)
    for cls in both(empty, frozen=True):
        assert (cls() == cls(), hash(cls())) == (True, hash(()))
        assert repr(cls()).endswith("Empty()")


def test_methods_of_the_class_stay_and_post_init_runs():
    def odd():
        class Odd:
            self: int
            total: int = field(init=False)

            def __post_init__(this):
                object.__setattr__(this, "total", this.self + 1)

            def __repr__(this):
                return f"odd {this.self}"

            def __hash__(this):
                return 5

        return Odd

    for cls in both(odd, frozen=True):
        one = cls(self=3)
        assert (one.total, repr(one), hash(one)) == (4, "odd 3", 5)
        assert one == cls(3)


def test_own_init_is_kept():
    def sized():
        class Sized:
            size: int

            def __init__(self, items):
                object.__setattr__(self, "size", len(items))

        return Sized

    for cls in both(sized, frozen=True, init=False):
        assert cls("abc") == cls([1, 2, 3])


def test_inherited_fields_come_first():
    def derive(decorate):
        @decorate(frozen=True, slots=True)
        class Base:
            first: int
            second: int = 2

        @decorate(frozen=True, slots=True)
        class Derived(Base):
            third: int = 3

        return Base, Derived

    for base, derived in map(derive, (records.dataclass, dataclasses.dataclass)):
        assert repr(derived(1)).endswith("Derived(first=1, second=2, third=3)")
        assert derived(1) != base(1)
        assert base(1) != derived(1)
        with pytest.raises(dataclasses.FrozenInstanceError):
            derived(1).first = 2


def test_text_of_a_record_that_holds_itself_ends():
    def ring():
        class Ring:
            next: object = None

        return Ring

    for cls in both(ring):
        one = cls()
        one.next = one
        assert repr(one) == f"{cls.__qualname__}(next=...)"


def test_weak_references_only_where_asked_for():
    for cls in both(point, weakref_slot=True, eq=False):
        one = cls(1)
        assert weakref.ref(one)() is one
    for cls in both(point):
        with pytest.raises(TypeError, match="weak reference"):
            weakref.ref(cls(1))


def test_frozen_records_are_copied_and_pickled():
    line = SourceLine("model.py", 12, "f")
    for again in (copy.copy(line), copy.deepcopy(line), pickle.loads(pickle.dumps(line))):
        assert again == line
        assert type(again) is SourceLine


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 12])
def test_records_of_any_number_of_fields(count):
    names = [f"field{i}" for i in range(count)]

    def wide():
        return type("Wide", (), {"__annotations__": dict.fromkeys(names, "int")})

    for cls in both(wide, frozen=True):
        one = cls(*range(count))
        assert [getattr(one, name) for name in names] == list(range(count))
        assert one == cls(**dict(zip(names, range(count), strict=True)))
        assert hash(one) == hash(tuple(range(count)))
        for place in range(count):
            assert one != dataclasses.replace(one, **{names[place]: -1})
    ours = both(wide)[0]
    assert [f.name for f in records.fields(ours)] == names
    for name in names:
        one = records.replace(ours(*range(count)), **{name: -1})
        assert (getattr(one, name), one == ours(*range(count))) == (-1, False)


def test_a_field_without_default_behind_one_with_a_default_is_refused():
    def wrong():
        class Wrong:
            first: int = 1
            second: int

        return Wrong

    for decorate in (records.dataclass, dataclasses.dataclass):
        with pytest.raises(TypeError, match="second"):
            decorate(slots=True)(wrong())


def test_records_without_slots_are_refused():
    with pytest.raises(TypeError, match="slots"):
        records.dataclass(slots=False)
