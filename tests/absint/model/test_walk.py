"""Graphs in lists of graphs: every walk over a model sees them, in the wire form and in that of protobuf."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

import absint
from absint.cli import run
from absint.jobs.auditing.runs import bodies as audited
from absint.jobs.copies.respelling import simplify
from absint.jobs.dynamizing.rewriting import Protos
from absint.jobs.rewriting.folding import ValueNames, reads
from absint.model.differences import differences
from absint.model.load import load, unreadable_texts
from absint.model.protos import Captures, bodies, graphs, graphs_below, holders, pairs
from absint.model.wire.graphs import Attribute, Graph, Node, Tail
from absint.model.wire.read_graphs import Nodes, read_model
from absint.model.wire.splicing import spliced
from absint.model.writing import locations
from absint.program.folded import called_by
from absint.show.summary import nodes_in_words

FLOAT = TensorProto.FLOAT
value = helper.make_tensor_value_info


def outside(location: str) -> TensorProto:
    tensor = TensorProto(name=f"w_{location}", data_type=FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def body(name: str, read: str, operator: str = "Relu", *inner: GraphProto) -> GraphProto:
    """A graph that reads a name from outside; its node holds further graphs."""
    node = helper.make_node(operator, [read], [f"{name}_out"], name=f"{name}_node")
    if inner:
        node.attribute.append(AttributeProto(name="more", type=AttributeProto.GRAPHS, graphs=inner))
    infos = [value(f"{name}_info", FLOAT, ["1 + N + 1"])]
    return helper.make_graph([node], name, [], [ValueInfoProto(name=f"{name}_out")], [outside(name)], value_info=infos)


def listed() -> NodeProto:
    """A node with a graph, and a list of two of which the first holds a list itself."""
    node = helper.make_node("Listed", ["x"], ["y"], domain="own", one=body("one", "a"))
    held = [body("two", "b", "Relu", body("three", "c", "Neg")), body("four", "d")]
    node.attribute.append(AttributeProto(name="list", type=AttributeProto.GRAPHS, graphs=held))
    return node


def model() -> ModelProto:
    first = [helper.make_node("Identity", ["x"], [name]) for name in "abcd"]
    graph = helper.make_graph([*first, listed()], "main", [value("x", FLOAT, ["N"])], [ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    function = helper.make_function("own", "F", ["x"], ["y"], [listed()], opsets)
    default = AttributeProto(name="default", type=AttributeProto.GRAPHS, graphs=[body("default", "x")])
    function.attribute_proto.append(default)
    return helper.make_model(graph, opset_imports=opsets, functions=[function], ir_version=10)


FOUND = ["main", "one", "two", "three", "four"]


def test_graphs_come_in_the_order_of_the_file() -> None:
    proto = model()
    assert [graph.name for graph in graphs(proto.graph)] == FOUND
    assert [graph.name for graph in bodies(listed())] == ["one", "two", "four"]
    assert [held.name for held in holders(proto)] == [*FOUND, "F", *FOUND[1:], "default"]


def test_the_wire_form_has_them_too() -> None:
    proto = model()
    read = read_model(proto.SerializeToString())
    both = [(a.output[0].name, b.output[0].name) for a, b in pairs(read.graph, proto.graph)]
    assert both == [(name, name) for name in ("y", "one_out", "two_out", "three_out", "four_out")]
    assert len(list(holders(read))) == len(list(holders(proto)))
    listed_twice = ModelProto()
    listed_twice.CopyFrom(proto)
    listed_twice.graph.node.append(listed())
    read = read_model(listed_twice.SerializeToString())
    assert len({id(graph) for graph in graphs(read.graph)}) == 9  # nodes with equal bytes have graphs of their own


def test_a_deep_model_needs_no_deep_stack() -> None:
    graph = Graph()
    for _ in range(sys.getrecursionlimit() + 1):
        attribute = Attribute()
        attribute.graphs = [graph]
        graph = Graph([Node([], (), "", Tail("Own", "", "", [attribute]))])
    assert len(list(graphs(graph))) == sys.getrecursionlimit() + 2


def test_names_that_bodies_read() -> None:
    read = read_model(model().SerializeToString())
    assert Captures().of(read.graph.node[-1]) == set("abcd")
    assert Captures().of(model().graph.node[-1]) == set("abcd")
    assert set(reads(listed())) == {"x", *"abcd"}
    assert ValueNames(model().graph).fresh("three_out", "p") == "three_out"


def test_files_and_functions() -> None:
    proto = model()
    assert locations(proto) == sorted({*FOUND[1:], "default"})
    function = proto.functions[0]
    inner = next(iter(bodies(function.node[0])[1].node[0].attribute[0].graphs))
    inner.node[0].op_type, inner.node[0].domain = "F", "own"
    assert called_by({("own", "F", ""): function})["own", "F", ""] == (5, [("own", "F", "")])


def test_unreadable_names() -> None:
    read = read_model(model().SerializeToString().replace(b"three_node", b"three_n\xff\xfee"))
    assert list(unreadable_texts(read)) == [b"three_n\xff\xfee"] * 2  # in the graph, and in the function


def test_copies_and_their_differences() -> None:
    proto, copy = model(), model()
    assert simplify(copy) == 4
    infos = [info for graph in graphs(copy.graph) for info in graph.value_info]
    assert [info.type.tensor_type.shape.dim[0].dim_param for info in infos] == ["N + 2"] * 4
    data = proto.SerializeToString()
    pieces = spliced(data, 0, len(data), differences(proto, copy))
    written = b"".join(piece if isinstance(piece, bytes) else data[piece.start : piece.end] for piece in pieces)
    assert ModelProto.FromString(written) == copy


def test_commands_take_such_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    result = absint.analyze(str(path))
    assert Protos(result, model().graph).graphs.keys() == {""}
    assert [found.path for found in audited(model())] == [""]
    for name in "abcd":
        assert result.values[name].shape == result.values["x"].shape
    assert run(["annotate", str(path), "-o", str(tmp_path / "out.onnx")]) == 0
    assert run(["diff", str(path), str(path)]) in (0, 3)
    assert [graph.name for graph in graphs(onnx.load(tmp_path / "out.onnx", load_external_data=False).graph)] == FOUND


BRANCHES = """<ir_version: 9, opset_import: ["": 20]> g (bool c, float[N] x) => (float[M] y) {
    a = Relu(x) b = Relu(a)
    y = If (c) <then_branch = t () => (float[K] u) { u = Relu(b) },
                else_branch = e () => (float[L] v) { w = Neg(b) v = Neg(w) }>
}"""


def test_nodes_with_graphs_are_found_before_and_after_all_are_read() -> None:
    nodes = load(onnx.parser.parse_model(BRANCHES).SerializeToString()).model.graph.node
    assert isinstance(nodes, Nodes)
    for known in (3, 1):  # of the nodes that have been read, those that are kept
        assert sum(1 for _ in nodes.with_graphs()) == known
        assert [len(body.node) for body in graphs_below(nodes.with_graphs())] == [1, 2]


@pytest.mark.parametrize("given", [bytes, onnx.ModelProto])
def test_a_title_counts_the_nodes_in_bodies(given: type) -> None:
    model = onnx.parser.parse_model(BRANCHES)
    result = absint.analyze(model if given is onnx.ModelProto else model.SerializeToString())
    assert nodes_in_words(result) == "3 nodes and 3 in bodies"
