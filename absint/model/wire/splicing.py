"""A message with some of its fields changed, as spans of the original and new bytes. Nothing is copied until it is
written, and what is not changed stays byte for byte as it was: unknown fields, the order of fields, unusual encodings.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from absint.lattices.records import NamedTuple
from absint.model.wire.fields import DELIMITED, Data, Field, MalformedError, delimited, encoded, fields


class Span(NamedTuple):
    """A part of the original."""

    start: int
    end: int


Piece: TypeAlias = Span | bytes
Content: TypeAlias = bytes | Sequence[Piece]
"""The content of a new field."""


class Changes:
    """The changes to one message. Fields of messages, texts and bytes are counted by number: the third field 13.

    A message that is not repeated but stands in several fields counts as one, as it does for parsers, which merge them.
    """

    def __init__(self) -> None:
        self.replaced: dict[tuple[int, int], Content] = {}
        """New contents by field number and index."""
        self.removed: set[tuple[int, int]] = set()
        """Fields to leave out."""
        self.instead: dict[tuple[int, int], Sequence[Content]] = {}
        """Contents of several fields of the same number in place of one."""
        self.added: dict[int, list[Content]] = defaultdict(list)
        """Contents of new fields by number, which come after those of the same number."""
        self.within: dict[tuple[int, int], Changes] = {}
        """Changes to the messages in repeated fields."""
        self.inside: dict[int, Changes] = {}
        """Changes to the messages in fields that are not repeated."""

    def __bool__(self) -> bool:
        return bool(self.replaced or self.removed or self.instead or self.added or self.within or self.inside)


def spliced(data: Data, start: int, end: int, changes: Changes) -> list[Piece]:
    """The message in `data[start:end]` with the changes, in pieces. Raises MalformedError where it is none."""
    return list(_joined(_spliced(data, [Span(start, end)], changes)[0]))


def size_of(pieces: Sequence[Piece]) -> int:
    """Bytes of all pieces together."""
    return sum(piece.end - piece.start if isinstance(piece, Span) else len(piece) for piece in pieces)


def whole(data: Data, pieces: Iterable[Piece]) -> bytes:
    """The bytes of all pieces."""
    return b"".join(data[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in pieces)


def _spliced(data: Data, spans: Sequence[Span], changes: Changes) -> list[list[Piece]]:
    """The spans of one message, each with its changes. New fields go into the last one."""
    parts = [list(fields(data, *span)) for span in spans]
    inner = _inner(data, parts, changes)
    added = _places(parts[-1], changes)
    seen: Counter[int] = Counter()
    made: list[list[Piece]] = []
    for part in parts:
        pieces: list[Piece] = []
        is_last = len(made) == len(parts) - 1
        if is_last:
            pieces += added.get(-1, ())
        for place, field in enumerate(part):
            pieces += _field(field, seen[field.number], changes, inner)
            seen[field.number] += field.wire == DELIMITED
            if is_last:
                pieces += added.get(place, ())
        made.append(pieces)
    for number, index in (*changes.replaced, *changes.removed, *changes.instead, *changes.within):
        if index >= seen[number]:
            raise MalformedError(spans[0].start, f"there are {seen[number]:,} fields {number}, too few for a change")
    return made


def _field(field: Field, index: int, changes: Changes, inner: dict[int, list[Piece]]) -> Iterator[Piece]:
    key = field.number, index
    if field.wire != DELIMITED:
        yield Span(field.tag, field.end)
    elif key in changes.instead:
        for content in changes.instead[key]:
            yield from field_of(field.number, content)
    elif key in changes.replaced:
        yield from field_of(field.number, changes.replaced[key])
    elif key not in changes.removed:
        pieces = inner.get(field.tag)
        if pieces is None:
            yield Span(field.tag, field.end)
        else:
            yield from field_of(field.number, pieces)


def field_of(number: int, content: Content) -> Iterator[Piece]:
    """A field of this number that holds the content."""
    if isinstance(content, bytes):
        yield delimited(number, content)
    else:
        yield encoded(number << 3 | DELIMITED) + encoded(size_of(content))
        yield from content


def _inner(data: Data, parts: Sequence[Sequence[Field]], changes: Changes) -> dict[int, list[Piece]]:
    """The new contents of fields that hold changed messages, by the place of the field."""
    wanted = {number for number, _ in changes.within} | set(changes.inside)
    by_number: dict[int, list[Field]] = {number: [] for number in wanted}
    for part in parts if wanted else ():
        for field in part:
            if field.number in wanted and field.wire == DELIMITED:
                by_number[field.number].append(field)
    groups = [(by_number[number][index : index + 1], inside) for (number, index), inside in changes.within.items()]
    groups += [(by_number[number], inside) for number, inside in changes.inside.items()]
    found: dict[int, list[Piece]] = {}
    for group, inside in groups:
        if not group:
            raise MalformedError(0, "a message that is to be changed is not there")
        new = _spliced(data, [Span(field.start, field.end) for field in group], inside)
        found.update((field.tag, pieces) for field, pieces in zip(group, new, strict=True))
    return found


def _places(part: Sequence[Field], changes: Changes) -> dict[int, list[Piece]]:
    """New fields by the place of the field that they follow: the last one of the same number or of a smaller one."""
    found: dict[int, list[Piece]] = defaultdict(list)
    for number in sorted(changes.added):
        after = max((place for place, field in enumerate(part) if field.number <= number), default=-1)
        for content in changes.added[number]:
            found[after] += field_of(number, content)
    return found


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The same pieces, neighbours in one."""
    new: list[bytes] = []
    old = Span(0, 0)
    for piece in pieces:
        if isinstance(piece, bytes):
            new.append(piece)
        elif not new and old.end == piece.start:
            old = Span(old.start, piece.end)
        else:
            yield from _filled(old, new)
            old, new = piece, []
    yield from _filled(old, new)


def _filled(old: Span, new: Sequence[bytes]) -> Iterator[Piece]:
    if old.start < old.end:
        yield old
    if new:
        yield b"".join(new)
