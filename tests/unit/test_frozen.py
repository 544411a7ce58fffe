"""isagen's own dataclasses behave as those of the standard module."""

import dataclasses
import importlib
import pkgutil

import pytest

import isagen
from isagen.model import frozen

CLASSES = {
    one
    for module in pkgutil.walk_packages(isagen.__path__, "isagen.")
    if not module.name.endswith("__main__")
    for one in vars(importlib.import_module(module.name)).values()
    if isinstance(one, type) and hasattr(one, "__frozen_fields__")
}


def twin(maker, field, **options):
    """Return a class with every kind of field, made by `maker`."""

    @maker(**options)
    class Point:
        x: int
        y: int = 2
        tags: list = field(default_factory=list)
        note: str = field(default="", metadata={"added": True})

        def total(self):
            return self.x + self.y

    return Point


BOTH = [(frozen.dataclass, frozen.field), (dataclasses.dataclass, dataclasses.field)]


@pytest.mark.parametrize("both", [0, 1], ids=["ours", "standard"])
@pytest.mark.parametrize(
    "options", [{"frozen": True}, {}, {"frozen": True, "eq": False}, {"frozen": True, "slots": True}]
)
def test_values_behave_as_those_of_the_standard_module(options, both):
    maker, field = BOTH[both]
    kind = twin(maker, field, **options)
    one, same, other = kind(1), kind(1, 2), kind(1, y=3, note="n")
    assert (one.x, one.y, one.tags, one.note, one.total()) == (1, 2, [], "", 3)
    assert one.tags is not same.tags
    assert (one == same, one == other, one == (1, 2, [], "")) == (options.get("eq", True), False, False)
    assert repr(other).endswith("Point(x=1, y=3, tags=[], note='n')")
    with pytest.raises(TypeError):
        kind()
    if options.get("frozen"):
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            one.x = 2
        with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
            del one.x
    else:
        one.x = 5
        assert one.x == 5
        with pytest.raises(TypeError):
            hash(one)


def test_equal_values_have_one_hash():
    @frozen.dataclass(frozen=True)
    class Pair:
        a: int
        b: tuple

    assert len({Pair(1, (2,)), Pair(1, (2,)), Pair(2, (2,))}) == 2


def test_what_is_made_after_init_is_made():
    @frozen.dataclass
    class Made:
        a: int

        def __post_init__(self):
            self.double = 2 * self.a

    assert Made(2).double == 4


def test_functions_of_both_modules_work_on_the_classes():
    kind = twin(frozen.dataclass, frozen.field, frozen=True)
    one = kind(1, tags=[kind(2)])
    for module in (frozen, dataclasses):
        assert module.is_dataclass(one) and module.is_dataclass(kind) and not module.is_dataclass(3)
        assert [found.name for found in module.fields(kind)] == ["x", "y", "tags", "note"]
        assert module.fields(one)[3].metadata["added"] is True
        assert module.replace(one, y=7) == kind(1, 7, one.tags)
        assert module.asdict(one) == {
            "x": 1,
            "y": 2,
            "tags": [{"x": 2, "y": 2, "tags": [], "note": ""}],
            "note": "",
        }


def test_every_class_of_isagen_is_one_that_the_module_supports():
    """Without bases, and with fields that the standard module reads the same way."""
    assert len(CLASSES) > 80
    for one in CLASSES:
        assert one.__bases__ == (object,), one
        assert [field.name for field in dataclasses.fields(one)] == [field.name for field in one.__frozen_fields__]
