"""Named tuples are those of `typing`."""

from __future__ import annotations

import pickle
import typing
from collections.abc import Iterator

import pytest

from absint.lattices.records import NamedTuple


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

    assert set(members(Own)) == set(members(Other))
