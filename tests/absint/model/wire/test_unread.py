"""The table of messages that no analysis reads, held against the descriptors of onnx."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from onnx import FunctionProto, ModelProto, TrainingInfoProto

from absint.model.wire.unread import MESSAGES, NUMBERS

SIZES = {FieldDescriptor.TYPE_FLOAT: 4, FieldDescriptor.TYPE_DOUBLE: 8}
READ = {"Model": {7, 8, 14, 25}, "Function": {9, 12}}
"""Fields of these that are always read."""


def reached() -> dict[str, set[str]]:
    """The kinds of messages by the names of the table, with the names that protobuf has for them."""
    found: dict[str, set[str]] = {}
    pending: list[tuple[str, Descriptor]] = [
        ("Model", ModelProto.DESCRIPTOR),
        ("Function", FunctionProto.DESCRIPTOR),
        ("TrainingInfo", TrainingInfoProto.DESCRIPTOR),
    ]
    kinds: dict[tuple[str, str], Descriptor] = {}
    while pending:
        name, kind = pending.pop()
        if (name, kind.full_name) in kinds:
            continue
        kinds[name, kind.full_name] = kind
        found.setdefault(name, set()).add(kind.full_name)
        check(name, kind)
        for number, inner in MESSAGES.get(name, {}).items():
            pending.append((inner, kind.fields_by_number[number].message_type))
    return found


def check(name: str, kind: Descriptor) -> None:
    inner = {field.number for field in kind.fields if field.message_type is not None}
    assert inner - READ.get(name, set()) == set(MESSAGES.get(name, {})), name
    packed = {
        field.number: SIZES.get(field.type, 0)
        for field in kind.fields
        if field.is_repeated and field.message_type is None and field.type not in TEXTS
    }
    assert packed == NUMBERS.get(name, {}), name


TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def test_the_table_has_every_message_and_every_list_of_numbers() -> None:
    found = reached()
    assert set(MESSAGES) | set(NUMBERS) <= set(found)


@pytest.mark.parametrize("name", MESSAGES)
def test_kinds_of_one_name_have_the_same_fields(name: str) -> None:
    assert len(reached()[name]) <= 2
