"""Messages with changed fields, held against protobuf."""

from __future__ import annotations

from random import Random

import pytest
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, helper

from absint.model.differences import differences
from absint.model.wire.fields import MalformedError, delimited, encoded
from absint.model.wire.splicing import Changes, Piece, Span, size_of, spliced
from tests.absint.model.wire.encodings import scrambled


def joined(data: bytes, pieces: list[Piece]) -> bytes:
    made = b"".join(data[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in pieces)
    assert len(made) == size_of(pieces)
    return made


def changed(data: bytes, changes: Changes) -> bytes:
    return joined(data, spliced(data, 0, len(data), changes))


def text(number: int, content: str) -> bytes:
    return delimited(number, content.encode())


def test_without_changes_all_is_one_span() -> None:
    data = text(3, "a") + text(1, "b")
    assert spliced(data, 0, len(data), Changes()) == [Span(0, len(data))]
    assert spliced(b"", 0, 0, Changes()) == []


def test_fields_are_replaced_removed_and_added_where_they_stand() -> None:
    data = text(3, "a") + text(1, "b") + text(3, "c") + text(9, "d")
    changes = Changes()
    changes.replaced[3, 1] = b"C"
    changes.removed.add((1, 0))
    changes.added[3].append(b"e")
    changes.added[2].append(b"f")
    assert changed(data, changes) == text(3, "a") + text(2, "f") + text(3, "C") + text(3, "e") + text(9, "d")
    assert spliced(data, 0, len(data), changes)[0] == Span(0, 3)


def test_a_field_of_another_wire_type_does_not_count() -> None:
    number = encoded(3 << 3) + b"\x05"
    data = number + text(3, "a")
    changes = Changes()
    changes.replaced[3, 0] = b"A"
    assert changed(data, changes) == number + text(3, "A")


def test_a_message_in_two_fields_is_one() -> None:
    data = delimited(7, text(1, "a")) + text(2, "x") + delimited(7, text(1, "b") + text(5, "c"))
    inside = Changes()
    inside.replaced[1, 1] = b"B"
    inside.added[1].append(b"d")
    changes = Changes()
    changes.inside[7] = inside
    second = delimited(7, text(1, "B") + text(1, "d") + text(5, "c"))
    assert changed(data, changes) == delimited(7, text(1, "a")) + text(2, "x") + second


def test_a_length_that_needs_more_bytes_is_written_anew() -> None:
    data = delimited(7, text(1, "a" * 100))
    inside = Changes()
    inside.added[1].append(b"b" * 300)
    changes = Changes()
    changes.inside[7] = inside
    assert changed(data, changes) == delimited(7, text(1, "a" * 100) + text(1, "b" * 300))


def test_a_change_of_what_is_not_there_is_refused() -> None:
    changes = Changes()
    changes.replaced[3, 1] = b"A"
    with pytest.raises(MalformedError, match=r"^at byte 0: there are 1 fields 3, too few for a change$"):
        changed(text(3, "a"), changes)
    changes = Changes()
    changes.inside[7] = Changes()
    with pytest.raises(MalformedError, match=r"^at byte 0: a message that is to be changed is not there$"):
        changed(text(3, "a"), changes)


def test_entries_that_are_removed_are_left_out() -> None:
    before, after = ModelProto(), ModelProto()
    for key in "abc":
        before.metadata_props.add(key=key, value=key)
    for key, content in (("b", "new"), ("c", "c"), ("d", "d")):
        after.metadata_props.add(key=key, value=content)
    for model in (before, after):
        model.graph.name = "g"
    changes = differences(before, after)
    number = ModelProto.METADATA_PROPS_FIELD_NUMBER
    assert changes.removed == {(number, 0)}
    assert list(changes.replaced) == [(number, 1)]
    assert len(changes.added[number]) == 1
    assert ModelProto.FromString(changed(before.SerializeToString(), changes)) == after


def info(random: Random) -> ValueInfoProto:
    return helper.make_tensor_value_info(f"v{random.randrange(99)}", 1, random.choice([None, [], [3, "N"]]))


def graph(random: Random, depth: int = 0) -> GraphProto:
    made = GraphProto(name=random.choice(["", "g"]), doc_string=random.choice(["", "text"]))
    for infos in (made.input, made.output, made.value_info):
        infos.extend(info(random) for _ in range(random.randrange(3)))
    made.initializer.extend(helper.make_tensor(f"w{i}", 1, [2], [0.0, 1.0]) for i in range(random.randrange(3)))
    for number in range(random.randrange(4)):
        node = NodeProto(op_type="If", input=["a"], output=[f"o{number}"], name=f"n{number}")
        node.attribute.add(name="axes", type=AttributeProto.INTS, ints=[1, 300, -1])
        for place in range(random.randrange(3) if depth < 3 else 0):
            body = node.attribute.add(name=f"b{place}", type=AttributeProto.GRAPH)
            body.g.CopyFrom(graph(random, depth + 1))
        made.node.append(node)
    return made


def edit(one: GraphProto, random: Random) -> None:
    """Change what copies may change: types, tensors and nodes, in bodies too."""
    for infos in (one.value_info, one.output, one.input, one.initializer):
        if infos and random.random() < 0.2:
            del infos[random.randrange(len(infos))]
    if random.random() < 0.3:
        one.initializer.append(helper.make_tensor("new", 1, [1], [2.0]))
    if random.random() < 0.5:
        nodes = [NodeProto.FromString(node.SerializeToString()) for node in one.node if random.random() < 0.8]
        for _ in range(random.randrange(3)):
            nodes.insert(random.randint(0, len(nodes)), NodeProto(op_type="Relu", output=[f"r{random.randrange(9)}"]))
        if nodes and random.random() < 0.4:
            random.choice(nodes).input[:] = ["b"]
        if nodes and random.random() < 0.2:
            del random.choice(nodes).attribute[:]
        del one.node[:]
        one.node.extend(nodes)
    for infos in (one.value_info, one.output):
        for item in infos:
            if random.random() < 0.4:
                item.CopyFrom(info(random))
    one.value_info.extend(info(random) for _ in range(random.choice([0, 0, 1, 3])))
    for node in one.node:
        for attribute in node.attribute:
            if attribute.HasField("g") and random.random() < 0.6:
                edit(attribute.g, random)


def edit_metadata(model: ModelProto, random: Random) -> None:
    entries = [(item.key, item.value) for item in model.metadata_props if random.random() < 0.7]
    del model.metadata_props[:]
    for key, value in entries:
        model.metadata_props.add(key=key, value=random.choice([value, "new"]))
    if random.random() < 0.5:
        model.metadata_props.add(key=random.choice("abc"), value="added")


@pytest.mark.parametrize("seed", range(300))
def test_differences_give_the_bytes_of_the_changed_model(seed: int) -> None:
    random = Random(seed)
    model = ModelProto(ir_version=9, graph=graph(random))
    for key in random.sample("abcab", random.randrange(5)):
        model.metadata_props.add(key=key, value=key)
    data = scrambled(model, random) if seed % 3 else model.SerializeToString()
    before = ModelProto.FromString(data)
    after = ModelProto.FromString(data)
    edit(after.graph, random)
    edit_metadata(after, random)
    made = changed(data, differences(before, after))
    assert ModelProto.FromString(made) == after
    if seed % 3 == 0:
        assert made == after.SerializeToString()
