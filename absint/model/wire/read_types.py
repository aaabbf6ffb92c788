"""Reading declared types. Models repeat them, so equal bytes give one object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, overload

from absint.errors import ModelError
from absint.lattices.terms.intern import Kept
from absint.model.wire.fields import (
    DELIMITED,
    LARGE,
    SHALLOW,
    VARINT,
    Content,
    Extent,
    Field,
    MalformedError,
    Parts,
    contents,
    each,
    signed,
    signed32,
    text,
)
from absint.model.wire.graphs import NO_TYPE, Dim, Dims, ElementType, MapType, TensorType, Type, ValueInfo
from absint.model.wire.unread import by_number, check, last_number, places

MAX_KEPT: Final = 1 << 20
"""Bytes of the types that are kept."""

_KINDS: Final = {
    1: "tensor_type",
    4: "sequence_type",
    5: "map_type",
    7: "opaque_type",
    8: "sparse_tensor_type",
    9: "optional_type",
}
_OPAQUE: Final = 7
_KEPT: Final[Kept[bytes, Type]] = Kept(MAX_KEPT)


class DeclaredClaims(Sequence[ValueInfo]):
    """The types that a graph declares for the values inside of it. They are read when somebody looks at one."""

    __slots__ = ("_contents", "_depth", "_read")

    def __init__(self, data: Content, places: Iterable[Extent], depth: int) -> None:
        self._contents: list[bytes] | None = contents(data, places)
        self._depth = depth
        self._read: list[ValueInfo] = []

    def __len__(self) -> int:
        return len(self._read if self._contents is None else self._contents)

    @overload
    def __getitem__(self, at: int) -> ValueInfo: ...
    @overload
    def __getitem__(self, at: slice) -> list[ValueInfo]: ...
    def __getitem__(self, at: int | slice) -> ValueInfo | list[ValueInfo]:
        return self.read()[at]

    def __iter__(self) -> Iterator[ValueInfo]:
        return iter(self.read())

    def read(self) -> list[ValueInfo]:
        """All of them. Raises ModelError if one is damaged."""
        if self._contents is not None:
            try:
                self._read = [_info(item, self._depth) for item in self._contents]
            except MalformedError as error:
                damage = f"a type in value_info does not parse as protobuf ({error})"
                raise ModelError(f"{damage}: the file is damaged") from None
            self._contents = None
        return self._read


def read_infos(data: Content, places: Iterable[Extent], depth: int) -> list[ValueInfo]:
    """The declared types of values, at these places."""
    return [_info(item, depth) for item in contents(data, places)]


def _info(data: bytes, depth: int) -> ValueInfo:
    name, declared = "", []
    for field in each(data, ((0, len(data)),), depth):  # there are thousands: `by_number` would take a third longer
        if field.number == 1 and field.wire == DELIMITED:
            name = text(data[field.start : field.end])
        elif field.number == 2:
            declared.append(field)
        else:
            check(data, field, "ValueInfo", depth + 1)
    return ValueInfo(name, _inner_type(data, declared, depth + 1))


def _inner_type(data: Content, found: Sequence[Field], depth: int) -> Type:
    parts = places(found)
    return read_type(data, parts, depth) if parts else NO_TYPE


def read_type(data: Content, parts: Parts, depth: int) -> Type:
    """The type of a value; one object for equal bytes."""
    content = b"".join(data[start:end] for start, end in parts)
    return (_KEPT.get(content) if depth <= SHALLOW else None) or _new_type(data, parts, depth, content)


def _new_type(data: Content, parts: Parts, depth: int, content: bytes) -> Type:
    """A type, which is kept if it fits in every place that is not deep."""
    if depth <= SHALLOW and len(content) <= LARGE:
        try:
            return _KEPT.add(content, len(content), _type(data, parts, SHALLOW, content))
        except MalformedError:  # too deep for some of them, or damaged
            pass
    return _type(data, parts, depth, content)


def _type(data: Content, parts: Parts, depth: int, content: bytes) -> Type:
    """Of several kinds the last one counts; if it occurs several times in a row, these are merged."""
    last = 0
    inner: list[tuple[int, int]] = []
    seen: list[Field] = []
    for field in each(data, parts, depth):
        if field.wire == DELIMITED and field.number in _KINDS:
            if field.number != last:
                last, inner = field.number, []
            inner.append((field.start, field.end))
            seen.append(field)
    for field in seen if last == _OPAQUE else seen[: -len(inner)]:
        check(data, field, "Type", depth + 1)
    if last in (1, 8):
        return Type(_KINDS[last], _tensor_type(data, inner, depth + 1), content)
    if last in (4, 9):
        return Type(_KINDS[last], _element_type(data, inner, depth + 1), content)
    if last == 5:
        return Type(_KINDS[last], _map_type(data, inner, depth + 1), content)
    return Type(_KINDS.get(last), None, content)


def _tensor_type(data: Content, parts: Parts, depth: int) -> TensorType:
    found = by_number(data, parts, depth, "TensorType", (1, 2))
    elem_type, shape = signed32(last_number(found[1])), places(found[2])
    if not shape:
        return TensorType(elem_type)
    dims = places(by_number(data, shape, depth + 1, "Dims", (1,))[1])
    return TensorType(elem_type, Dims(tuple(_dim(data, part, depth + 2) for part in dims)))


def _dim(data: Content, part: tuple[int, int], depth: int) -> Dim:
    """Of a size and a text the last one counts."""
    dim = Dim()
    for field in each(data, (part,), depth):
        if field.number == 1 and field.wire == VARINT:
            dim = Dim("dim_value", signed(field.value))
        elif field.number == 2 and field.wire == DELIMITED:
            dim = Dim("dim_param", dim_param=text(data[field.start : field.end]))
    return dim


def _element_type(data: Content, parts: Parts, depth: int) -> ElementType:
    return ElementType(_inner_type(data, by_number(data, parts, depth, "ElementType", (1,))[1], depth + 1))


def _map_type(data: Content, parts: Parts, depth: int) -> MapType:
    found = by_number(data, parts, depth, "MapType", (1, 2))
    return MapType(signed32(last_number(found[1])), _inner_type(data, found[2], depth + 1))
