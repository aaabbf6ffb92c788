"""Unusual encodings, read as protobuf reads them, one by one."""

from __future__ import annotations

import pytest
from onnx import AttributeProto, NodeProto, TensorProto, helper

from absint.model.wire.fields import FIXED32, FIXED64, GROUP, GROUP_END, VARINT, delimited, encoded
from tests.absint.model.wire.comparing import differences, parsed, read
from tests.absint.model.wire.random_messages import in_graphs, in_types


def number(field: int, value: int) -> bytes:
    return encoded(field << 3 | VARINT) + encoded(value)


def tensor_type(*parts: bytes) -> bytes:
    return delimited(1, b"".join(parts))


def dim(*parts: bytes) -> bytes:
    return delimited(2, delimited(1, b"".join(parts)))


def attribute(*parts: bytes) -> bytes:
    return delimited(5, delimited(1, b"a") + b"".join(parts))


def kind(value: int) -> bytes:
    return number(20, value)


def tensor(*parts: bytes) -> bytes:
    return delimited(5, delimited(1, b"w") + b"".join(parts))


TYPES = {
    "none": b"",
    "of a size, then of a name": tensor_type(number(1, 1), dim(number(1, 3), delimited(2, b"N"))),
    "of a name, then of a size": tensor_type(number(1, 1), dim(delimited(2, b"N"), number(1, 3))),
    "dims in two parts": tensor_type(number(1, 1), dim(number(1, 3)), dim(number(1, 4))),
    "a tensor in two parts": tensor_type(number(1, 1), dim(number(1, 3))) + tensor_type(number(1, 7)),
    "a tensor, a sequence, a tensor": tensor_type(number(1, 1)) + delimited(4, b"") + tensor_type(dim(number(1, 2))),
    "a sequence in two parts": delimited(4, delimited(1, tensor_type(number(1, 1)))) + delimited(4, delimited(1, b"")),
    "a map in two parts": delimited(5, number(1, 8)) + delimited(5, delimited(2, tensor_type(number(1, 1)))),
    "an element type of 33 bits": tensor_type(number(1, (1 << 32) + 1)),
    "an element type below 0": tensor_type(number(1, -3)),
    "a negative size": tensor_type(dim(number(1, -1))),
    "a size as a text": tensor_type(dim(delimited(1, b"3"))),
    "a name that is no UTF-8": tensor_type(dim(delimited(2, b"\xff"))),
    "a group": encoded(1 << 3 | GROUP) + number(1, 1) + encoded(1 << 3 | GROUP_END),
}

ATTRIBUTES = {
    "the last number counts": attribute(number(3, 5), number(3, -7), kind(AttributeProto.INT)),
    "the last float counts": attribute(*(encoded(2 << 3 | FIXED32) + value for value in (b"\0\0\0@", b"\0\0\x80?"))),
    "numbers, packed and not": attribute(
        number(8, 1),
        delimited(8, encoded(300) + encoded(-2)),
        number(8, 5),
        number(8, 1 << 40),
        kind(AttributeProto.INTS),
    ),
    "floats, packed and not": attribute(
        *([encoded(7 << 3 | FIXED32) + b"\0\0\x80?"] * 3), delimited(7, b"\0\0\0@" * 2), kind(AttributeProto.FLOATS)
    ),
    "numbers with long tags": attribute(b"\xc0\x00\x00", number(8, 300), b"\xc0\x80\x00\x01", b"\xa0\x81\x00\x07"),
    "a float with a long tag": attribute(b"\xbd\x00\0\0\0@", kind(AttributeProto.FLOATS)),
    "floats as doubles": attribute(encoded(7 << 3 | FIXED64) + bytes(8), kind(AttributeProto.FLOATS)),
    "a type that protobuf does not know": attribute(kind(2), kind(99)),
    "a negative type": attribute(kind(2), kind(-1)),
    "a tensor in two parts": attribute(
        delimited(5, number(1, 2) + number(2, 7)), delimited(5, number(1, 3) + delimited(9, bytes(48)))
    ),
    "a graph in two parts": attribute(
        delimited(6, delimited(1, NodeProto(op_type="A").SerializeToString())),
        delimited(6, delimited(1, NodeProto(op_type="B").SerializeToString())),
        kind(AttributeProto.GRAPH),
    ),
    "a text that is no UTF-8": attribute(delimited(4, b"\xff\xfe"), kind(AttributeProto.STRING)),
    "a name that is no UTF-8": attribute(delimited(1, b"\xff")),
    "a name that comes last": delimited(5, number(3, 1) + delimited(1, b"a")),
}

TENSORS = {
    "numbers with long tags": tensor(
        number(1, 2), b"\x88\x00\x01", number(2, 7), b"\xb8\x80\x00\x05", number(7, -1), b"\xb8\x00\xac\x02"
    ),
    "floats with long tags": tensor(number(1, 2), number(2, 1), b"\xa5\x00\0\0\0@", b"\x25\0\0\x80?"),
    "a double with a long tag": tensor(number(2, 11), b"\xd1\x00" + bytes(8)),
    "a place with a long tag": number(1, 9999) + number(2, 1) + b"\xea\x00\x05" + delimited(1, b"key") + number(14, 1),
    "sizes, packed and not": tensor(number(1, 2), delimited(1, b"\x03"), number(2, 1)),
    "a negative size": tensor(number(1, -2), number(2, 1), delimited(8, b"w")),
    "a scalar with a packed number": number(2, 6) + delimited(5, b"\x03"),
    "small numbers below 0": number(1, 2) + number(2, 3) + delimited(5, encoded(-1) + encoded(-200)),
    "numbers of more than 32 bits": number(1, 1) + number(2, 6) + number(5, (1 << 33) + 4),
    "the last data count": number(1, 1) + number(2, 2) + delimited(9, b"a") + delimited(9, b"b"),
    "another place": number(2, 1) + number(14, 1),
    "a place that protobuf does not know": number(2, 1) + number(14, 1) + number(14, 7),
    "two places of large data": number(1, 9999) + number(2, 1) + delimited(8, b"w") + number(14, 1) + number(14, 0),
    "data of another length": number(1, 3) + number(2, 1) + delimited(4, bytes(8)),
    "more data than the sizes say": number(1, 2) + number(2, 2) + delimited(8, b"w") + delimited(9, b"abcd"),
    "empty data": number(1, 0) + number(2, 1) + delimited(8, b"w") + delimited(9, b""),
    "data, then its name": number(1, 1) + number(2, 2) + delimited(9, b"a") + delimited(8, b"w"),
    "uint64": number(2, 13) + delimited(11, encoded((1 << 64) - 1)),
}  # fmt: skip


SPARSE = {
    "sizes with long tags": number(3, 4) + b"\x98\x80\x00\x05" + delimited(3, b"\x06"),
    "values in two parts": delimited(1, number(1, 2)) + delimited(1, number(2, 1) + delimited(8, b"w")),
}

LARGE = number(1, 9999) + number(2, 1)
RELU = delimited(4, b"Relu")
REFUSED = {
    "numbers that end beyond their tensor": delimited(5, b"\x08\x02\x10\x07\x3a\x04\x02\x02") + delimited(2, b"zzzz"),
    "numbers that end beyond it, then a name": delimited(5, b"\x10\x07\x3a\x04\x02B\x01") + delimited(2, b"zzz"),
    "a name that ends beyond its tensor": delimited(5, b"\x08\x02\x10\x07B\x02a") + delimited(2, b"zzzz"),
    "a truncated number of a large tensor": delimited(5, LARGE + delimited(7, b"\x01\xff")),
    "a long number of a large tensor": delimited(5, LARGE + delimited(7, b"\xff" * 10 + b"\x01")),
    "half a float of a large tensor": delimited(5, LARGE + delimited(4, b"\0\0")),
    "a place of a large tensor": delimited(5, LARGE + delimited(13, b"\x0a\x05") + number(14, 1)),
    "a segment of a tensor": delimited(5, delimited(3, b"\x08")),
    "an annotation": delimited(14, b"\x0a\x05"),
    "metadata of a graph": delimited(16, b"\x0a\x05"),
    "metadata of a node": delimited(1, RELU) + delimited(1, RELU + delimited(9, b"\x0a\x05")),
    "metadata of a node without an end": delimited(1, RELU)
    + delimited(1, RELU + delimited(9, b"\x0a\x01k\x12\x81\x00")),
    "metadata of a type": delimited(11, delimited(1, b"x") + delimited(4, b"\xff")),
    "devices of a node": delimited(1, delimited(10, delimited(2, delimited(2, b"\xff")))),
    "a kind of type that another one replaces": delimited(11, delimited(2, delimited(1, b"\x08") + delimited(4, b""))),
    "tensors of an attribute": delimited(1, attribute(delimited(10, b"\x08"))),
    "a graph of an attribute that is a number": delimited(1, attribute(delimited(6, delimited(1, b"\x0a")), kind(2))),
}


def in_graph(content: bytes) -> bytes:
    return number(1, 8) + delimited(7, content)


def check(content: bytes) -> None:
    """Both read it alike, twice: the second time some of it is known."""
    assert parsed(content) is not None
    for _ in range(2):
        assert list(differences(read(content), parsed(content))) == []


@pytest.mark.parametrize("name", TYPES)
def test_types(name: str) -> None:
    check(in_graph(delimited(11, delimited(1, b"x") + delimited(2, TYPES[name]))))
    check(in_graph(delimited(13, delimited(1, b"x") + delimited(2, TYPES[name]))))


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    node = delimited(1, b"x") + delimited(2, b"y") + delimited(4, b"Op")
    other = delimited(4, b"Other") + ATTRIBUTES[name]
    check(in_graph(b"".join(delimited(1, n) for n in (node + ATTRIBUTES[name], ATTRIBUTES[name] + node, other))))


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name: str) -> None:
    check(in_graph(delimited(5, TENSORS[name])))
    check(in_graph(delimited(5, TENSORS[name] + delimited(8, b"name"))))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tensors(name: str) -> None:
    check(in_graph(delimited(15, SPARSE[name])))
    check(in_graph(delimited(1, attribute(delimited(22, SPARSE[name])))))


@pytest.mark.parametrize("name", REFUSED)
def test_damage_is_refused_wherever_it_is(name: str) -> None:
    for _ in range(2):
        assert parsed(in_graph(REFUSED[name])) is None
        assert read(in_graph(REFUSED[name])) is None


def test_a_tensor_without_a_name_ends_before_the_next_field() -> None:
    """The tag of the next initialiser is also that of packed numbers."""
    check(in_graph(delimited(5, b"\x08\x01\x10\x07") + delimited(5, b"\x08\x01\x10\x07B\x01w") * 2))


@pytest.mark.parametrize(
    "name", [b"", b"a", b"a" * 127, b"a" * 128, b"a" * 300, "\u00e9".encode() * 60, b"\xff", b"\0\n\x12"]
)
def test_names(name: bytes) -> None:
    """Names of every length and content, in nodes whose tail is known."""
    known = NodeProto(input=["x"], output=["y"], op_type="Relu").SerializeToString()
    relu = delimited(4, b"Relu")
    one, two, named = delimited(1, name), delimited(2, name), delimited(3, name)
    for node in (
        one + relu,
        one + two + relu,
        one + one + two + named + relu,
        two + relu + one,
        relu + named,
        one + two,
    ):
        check(in_graph(delimited(1, known) + delimited(1, node) + delimited(5, delimited(8, name))))


@pytest.mark.parametrize("length", [0, 100, 200, 20_000])
def test_texts_for_readers(length: int) -> None:
    """A node with notes of its exporter shares the tail of one without."""
    bare = NodeProto(input=["x"], output=["y"], op_type="Softmax", attribute=[helper.make_attribute("axis", -1)])
    noted, domain = NodeProto(), NodeProto(op_type="Softmax", doc_string="n" * length, domain="d")
    noted.CopyFrom(bare)
    noted.doc_string = "n" * length
    for at in range(3):
        noted.metadata_props.add(key=f"note {at}", value="v" * length)
    nodes = [bare, noted, domain, noted, bare]
    content = in_graph(b"".join(delimited(1, node.SerializeToString()) for node in nodes))
    content += delimited(7, delimited(1, noted.SerializeToString() + delimited(1, b"late")))
    check(content)
    found = read(content)
    assert found is not None
    assert {id(node.tail) for at, node in enumerate(found.graph.node) if at != 2} == {id(found.graph.node[0].tail)}


def test_the_model_in_two_parts() -> None:
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [], [], [TensorProto(name="w")])
    content = graph.SerializeToString()
    check(in_graph(content) + in_graph(content) + number(1, 9))


@pytest.mark.parametrize("levels", range(40, 52))
def test_a_type_that_is_known_is_too_deep_elsewhere(levels: int) -> None:
    """100 messages inside each other, of which the inner ones have been read before."""
    declared = delimited(11, delimited(2, in_types(levels, tensor_type(number(1, 1)))))
    typed = delimited(1, RELU + attribute(delimited(14, in_types(levels, b"")), kind(AttributeProto.TYPE_PROTO)))
    for content in (declared, typed):
        for level in (0, 1, 2, 3, 0):
            nested = in_graphs(level, content)
            assert (read(nested) is None) is (parsed(nested) is None)


@pytest.mark.parametrize("inside", [b"", delimited(1, b""), delimited(2, b"g")], ids=["empty", "node", "name"])
@pytest.mark.parametrize("levels", [32, 33, 34])
def test_nested_graphs(levels: int, inside: bytes) -> None:
    """100 messages inside each other are read, as by protobuf, and not one more."""
    for _ in range(levels):
        inside = delimited(1, delimited(4, b"If") + attribute(delimited(6, inside), kind(AttributeProto.GRAPH)))
    found, proto = read(in_graph(inside)), parsed(in_graph(inside))
    assert (found is None) == (proto is None)
    assert proto is None or list(differences(found, proto)) == []
    assert levels > 32 or proto is not None
    assert levels < 34 or proto is None
