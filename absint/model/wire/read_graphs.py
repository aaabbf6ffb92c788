"""Reading graphs, functions and the model around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.model.wire.fields import (
    DELIMITED,
    MAX_DEPTH,
    VARINT,
    Content,
    Extent,
    Field,
    MalformedError,
    Parts,
    each,
    field_at,
    signed,
    text,
    varint,
)
from absint.model.wire.graphs import Function, Graph, Model, Opset
from absint.model.wire.read_attributes import read_attribute
from absint.model.wire.read_nodes import SHORT, Nodes
from absint.model.wire.read_tensors import read_entry, read_sparse, read_tensor
from absint.model.wire.read_types import DeclaredClaims, read_infos
from absint.model.wire.unread import check

_NODE, _INITIALISER, _INPUT, _OUTPUT, _VALUE_INFO, _SPARSE = 1, 5, 11, 12, 13, 15
_COPIED: Final = (_NODE, _INPUT, _OUTPUT, _VALUE_INFO)
_FOUND: Final = (_INITIALISER, _SPARSE)
_OTHER: Final = (False, None)


def read_model(data: Content) -> Model:
    """The model that is the content. Raises MalformedError if it is none."""
    model = Model()
    graphs: list[tuple[int, int]] = []
    opsets, properties, functions = [], [], []
    for field in each(data, ((0, len(data)),), 0):
        if field.wire == VARINT and field.number == 1:
            model.ir_version = signed(field.value)
        elif field.wire != DELIMITED:
            continue
        elif field.number == 7:
            graphs.append((field.start, field.end))
        elif field.number == 8:
            opsets.append(_read_opset(data, field, 1))
        elif field.number == 14:
            properties.append(read_entry(data, field.start, field.end, 1))
        elif field.number == 25:
            functions.append(_read_function(data, field, 1))
        else:
            check(data, field, "Model", 1)
    if graphs:
        model.graph = read_graph(data, graphs, 1)
    model.opset_import, model.metadata_props, model.functions = opsets, properties, functions
    return model


def read_graph(data: Content, parts: Parts, depth: int) -> Graph:
    """A graph without its weights."""
    if depth > MAX_DEPTH:
        raise MalformedError(parts[0][0], f"more than {MAX_DEPTH} messages and groups inside each other")
    found = _delimited(data, parts, depth)
    below = depth + 1
    return Graph(
        Nodes(data, found[_NODE], below, read_graph),
        [read_tensor(data, (span,), below) for span in _spans(found[_INITIALISER])],
        [read_sparse(data, (span,), below) for span in _spans(found[_SPARSE])],
        read_infos(data, found[_INPUT], below),
        read_infos(data, found[_OUTPUT], below),
        DeclaredClaims(data, found[_VALUE_INFO], below),
    )


def _delimited(data: Content, parts: Parts, depth: int) -> dict[int, list[Extent]]:
    """The nodes and declared types of a graph, copied unless they are long, and where its tensors stand."""
    found: dict[int, list[Extent]] = {number: [] for number in (*_COPIED, *_FOUND)}
    by_tag = {number << 3 | DELIMITED: (number in _COPIED, places) for number, places in found.items()}
    for at, end in parts:
        last = end - 2
        while at < end:
            tag = data[at]
            is_copied, places = by_tag.get(tag, _OTHER)
            if places is None or at >= last:  # another field, or one without a byte
                field = field_at(data, at, end, depth)
                if field.wire == DELIMITED and field.number in found:
                    found[field.number].append((field.start, field.end))
                else:
                    check(data, field, "Graph", depth + 1)
                at = field.end
                continue
            append, longest = places.append, SHORT if is_copied else -1
            while at < last and data[at] == tag:  # fields of a number come in long runs
                length, start = data[at + 1], at + 2
                if length > 127:
                    second = data[start]
                    if second < 128:
                        length, start = length & 127 | second << 7, start + 1
                    else:
                        length, start = varint(data, at + 1, end, 5)
                at = start + length
                append(data[start:at] if length <= longest else (start, at))
            if at > end:
                raise MalformedError(start, f"a field of {length:,} bytes, and {end - start:,} are left")
    return found


def _spans(places: Sequence[Extent]) -> list[tuple[int, int]]:
    return [place for place in places if isinstance(place, tuple)]


def _read_opset(data: Content, around: Field, depth: int) -> Opset:
    """The version of a domain."""
    opset = Opset("", 0)
    for field in each(data, ((around.start, around.end),), depth):
        if field.number == 1 and field.wire == DELIMITED:
            opset.domain = text(data[field.start : field.end])
        elif field.number == 2 and field.wire == VARINT:
            opset.version = signed(field.value)
    return opset


def _read_function(data: Content, around: Field, depth: int) -> Function:
    function = Function()
    found: dict[int, list[Field]] = {number: [] for number in (1, 4, 5, 7, 9, 10, 11, 12, 13)}
    for field in each(data, ((around.start, around.end),), depth):
        if field.wire == DELIMITED and field.number in found:
            found[field.number].append(field)
        else:
            check(data, field, "Function", depth + 1)
    names = {number: [text(data[field.start : field.end]) for field in found[number]] for number in (1, 4, 5, 10, 13)}
    function.name, function.domain, function.overload = ((names[number] or [""])[-1] for number in (1, 10, 13))
    function.input, function.output = names[4], names[5]
    below = depth + 1
    places: list[Extent] = [
        data[field.start : field.end] if field.end - field.start <= SHORT else (field.start, field.end)
        for field in found[7]
    ]
    function.node = list(Nodes(data, places, below, read_graph))
    function.opset_import = [_read_opset(data, field, below) for field in found[9]]
    function.attribute_proto = [
        read_attribute(data, ((field.start, field.end),), below, read_graph) for field in found[11]
    ]
    function.value_info = read_infos(data, [(field.start, field.end) for field in found[12]], below)
    with_bodies = [
        field
        for field, node in zip(found[7], function.node, strict=True)
        if not node.tail.is_kept and any(attribute.holds_graphs for attribute in node.attribute)
    ]
    for field in (*with_bodies, *found[11]):  # of which an analysis reads what a call needs
        check(data, field, "Function", below)
    return function
