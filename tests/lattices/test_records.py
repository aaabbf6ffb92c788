"""Named tuples are those of `typing`, and records those of `dataclasses`."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing
from collections.abc import Iterator
from typing import ClassVar

import pytest

from absint.lattices.records import NamedTuple, changed, record


class Window(NamedTuple):
    """A window."""

    kernel: int
    stride: int = 1
    """The step."""

    @property
    def span(self) -> int:
        """Twice its kernel."""
        return 2 * self.kernel

    @staticmethod
    def unit() -> Window:
        """The smallest."""
        return Window(1)


def test_fields_defaults_and_members() -> None:
    assert Window._fields == ("kernel", "stride")
    assert Window._field_defaults == {"stride": 1}
    assert Window(3) == (3, 1) == Window(kernel=3, stride=1)
    assert repr(Window(3)) == "Window(kernel=3, stride=1)"
    assert (Window(3).span, Window.unit()) == (6, (1, 1))
    assert Window(3)._replace(stride=2) == (3, 2)
    assert Window.__doc__ == "A window."
    assert typing.get_type_hints(Window) == {"kernel": int, "stride": int}
    with pytest.raises(TypeError, match="kernel"):
        Window(stride=2)  # type: ignore[call-arg]


def test_they_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(Window(3))) == Window(3)
    assert type(pickle.loads(pickle.dumps(Window(3)))) is Window


def members(made: type) -> Iterator[str]:
    """The names in a class that its author or its users see."""
    return (name for name in vars(made) if name not in ("__orig_bases__", "__annotations_cache__"))


def test_they_have_the_members_of_those_of_typing() -> None:
    class Other(typing.NamedTuple):
        """A window."""

        kernel: int
        stride: int = 1

    class Own(NamedTuple):
        """A window."""

        kernel: int
        stride: int = 1

    assert set(members(Own)) == set(members(Other)) - {"__annotate_func__"}  # of annotations that are no texts


def dataclass_and_record() -> list[type]:
    """The same classes, made by the standard library and by `record`."""
    made: list[type] = []
    for base_options, make in (({"frozen": True, "kw_only": True}, dataclasses.dataclass), ({"kw_only": True}, record)):

        class Base:
            title: ClassVar[str] = "base"
            first: int = -1

        class Step(make(**base_options)(Base)):  # type: ignore[misc]
            taken: bool
            join: int = 0

        made.append(make(**{k: v for k, v in base_options.items() if k == "frozen"})(Step))
    return made


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ((True,), {}),
        ((True, 3), {}),
        ((), {"taken": False, "first": 7}),
        ((True, 3, 4), {}),
        ((), {}),
        ((True,), {"x": 1}),
    ],
)
def test_a_record_takes_what_a_dataclass_takes(values: tuple[object, ...], named: dict[str, object]) -> None:
    found = []
    for kind in dataclass_and_record():
        try:
            item = kind(*values, **named)
            found.append(
                (item.first, item.taken, item.join, repr(item).rpartition(".")[2], item == kind(*values, **named))
            )
        except TypeError:
            found.append("TypeError")
    assert found[0] == found[1]


@record()
class Point:
    """A point."""

    x: int
    y: int = 2


def test_records_are_values_that_cannot_be_changed() -> None:
    point = Point(1)
    assert (point, hash(point)) == (Point(x=1, y=2), hash(Point(1, 2)))
    assert point != Point(1, 3)
    assert point != (1, 2)
    assert changed(point, y=5) == Point(1, 5)
    assert pickle.loads(pickle.dumps(point)) == point
    assert copy.deepcopy(point) == point
    with pytest.raises(AttributeError, match="Point cannot be changed: x"):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    match point:
        case Point(x, y):
            assert (x, y) == (1, 2)
