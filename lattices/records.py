"""Named tuples and frozen data classes as the standard library has them, made in a fraction of the time.

`typing.NamedTuple` compiles each annotation of each class to see whether it may be a type, and `dataclasses` imports
the parser of Python and compiles methods for each class. A type checker checks that better, and at the start of a
process it would take as long as the analysis of a small model. A constructor is compiled when it is first called.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def record(*, eq: bool = True, frozen: bool = True, kw_only: bool = False) -> Callable[[type[T]], type[T]]:
    """A data class of the annotations of a class and its bases, as `dataclasses.dataclass` makes one."""

    def made_of(made: type[T]) -> type[T]:
        annotations: dict[str, str] = vars(made).get("__annotations__", {})
        own = [name for name, kind in annotations.items() if "ClassVar" not in kind]
        inherited: tuple[str, ...] = getattr(made, "_record_fields", ())
        names = (*inherited, *(name for name in own if name not in inherited))
        placed = tuple(dict.fromkeys((*getattr(made, "_record_places", ()), *(() if kw_only else own))))
        defaults = {name: getattr(made, name) for name in names if hasattr(made, name)}
        members: dict[str, Any] = {
            "__init__": _initialiser(made, names, placed, defaults),
            "__repr__": _shown,
            "__match_args__": placed,
            "_record_fields": names,
            "_record_places": placed,
        }
        if frozen:
            members |= {"__setattr__": _frozen, "__delattr__": _frozen}
        if eq:
            members |= {"__eq__": _same, "__hash__": _hash}
        for name, member in members.items():
            if name not in made.__dict__:
                setattr(made, name, member)
        return made

    return made_of


def _initialiser(
    made: type, names: tuple[str, ...], placed: tuple[str, ...], defaults: Mapping[str, object]
) -> Callable[..., None]:
    """The constructor. It is compiled at its first call, since in most processes most classes have no object."""

    def initialise(self: object, *values: object, **named: object) -> None:
        given = {name: f"{name}=_defaults[{name!r}]" if name in defaults else name for name in names}
        star = () if len(placed) == len(names) else ("*",)
        parameters = ", ".join(("self", *map(given.pop, placed), *star, *given.values()))
        body = ["_own = self.__dict__", *(f"_own[{name!r}] = {name}" for name in names)]
        if hasattr(made, "__post_init__"):
            body.append("self.__post_init__()")
        scope: dict[str, Any] = {"_defaults": defaults}
        exec(f"def __init__({parameters}): {'; '.join(body)}", scope)
        compiled = scope["__init__"]
        compiled.__qualname__ = made.__name__
        type.__setattr__(made, "__init__", compiled)
        compiled(self, *values, **named)

    return initialise


def changed(item: T, **fields: object) -> T:
    """A copy of a record with other values of some fields."""
    names: tuple[str, ...] = item._record_fields  # type: ignore[attr-defined]
    return type(item)(**({name: getattr(item, name) for name in names} | fields))


def _frozen(self: object, name: str, value: object = None) -> NoReturn:
    raise AttributeError(f"{type(self).__name__} cannot be changed: {name}")


def _values(item: object) -> tuple[object, ...]:
    names: tuple[str, ...] = item._record_fields  # type: ignore[attr-defined]
    return tuple([getattr(item, name) for name in names])


def _same(self: object, other: object) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: object) -> int:
    return hash(_values(self))


def _shown(self: object) -> str:
    names: tuple[str, ...] = self._record_fields  # type: ignore[attr-defined]
    shown = ", ".join(f"{name}={value!r}" for name, value in zip(names, _values(self), strict=True))
    return f"{type(self).__qualname__}({shown})"


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _Maker(type):
        """Makes a named tuple of the annotations of a class, with its other members."""

        def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
            fields = members["__annotations__"]
            defaults = [members[field] for field in fields if field in members]
            made = namedtuple(name, fields, defaults=defaults, module=members["__module__"])
            made.__annotations__ = fields
            for key, member in members.items():
                if key not in fields and key not in _OWN:
                    setattr(made, key, member)
            return made

    _OWN = frozenset({"__annotations__", "__module__", "__qualname__"})
    NamedTuple = type.__new__(_Maker, "NamedTuple", (), {})

__all__ = ["NamedTuple", "changed", "record"]
