"""`annotate`: what is written where, the merge policies, names, and that an annotated model gives the same answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import absint
from absint.lattices.terms.expr import Dim
from absint.lattices.text import parse, read_dim_param
from tests.real_models import EXAMPLES, PATHS

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL

Dims = list[int | str | None]


def value(name: str, dims: Dims | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, dims)


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    *,
    declared: list[onnx.ValueInfoProto] | None = None,
    initializer: list[onnx.TensorProto] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer, value_info=declared)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def dims_of(info: onnx.ValueInfoProto) -> Dims | None:
    tensor = info.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    kinds = [(dim.WhichOneof("value"), dim) for dim in tensor.shape.dim]
    return [dim.dim_value if kind == "dim_value" else dim.dim_param if kind else None for kind, dim in kinds]


def written(graph: onnx.GraphProto) -> dict[str, tuple[str, Dims | None]]:
    return {
        info.name: (TensorProto.DataType.Name(info.type.tensor_type.elem_type), dims_of(info))
        for info in graph.value_info
    }


def chain(declared: Dims | None, inputs: Dims) -> onnx.ModelProto:
    """Two Relus; what lies between them is declared."""
    between = [] if declared is None else [value("a", declared)]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    return model(nodes, [value("x", inputs)], [value("y", None)], declared=between)


def invented(declared: Dims) -> onnx.ModelProto:
    """A NonZero, whose second dim only a run can tell."""
    nodes = [helper.make_node("NonZero", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    return model(nodes, [value("x", ["N", "M"])], [value("y", None, INT64)], declared=[value("a", declared, INT64)])


def looping(body_declared: list[onnx.ValueInfoProto] | None = None) -> onnx.ModelProto:
    """Each trip appends x to the carried value c."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["again"]),
            helper.make_node("Relu", ["c"], ["r"]),
            helper.make_node("Concat", ["r", "x"], ["c2"], axis=0),
        ],
        "body",
        [value("i", [], INT64), value("go", [], BOOL), value("c", None)],
        [value("again", [], BOOL), value("c2", None)],
        value_info=body_declared,
    )
    nodes = [
        helper.make_node("Loop", ["m", "", "x"], ["y"], name="loop", body=body),
        helper.make_node("Relu", ["y"], ["z"]),
    ]
    return model(nodes, [value("x", ["N", 4]), value("m", [], INT64)], [value("z", None)])


# What is written


def test_case_7_added_value_is_annotated_and_nothing_else_changes() -> None:
    weights = helper.make_tensor("w", FLOAT, [64, 32], [0.0] * 2048)
    nodes = [helper.make_node("Add", ["x", "y"], ["added"]), helper.make_node("MatMul", ["added", "w"], ["out"])]
    inputs = [value("x", ["batch", "seq", 64]), value("y", ["batch", "seq", 64])]
    original = model(nodes, inputs, [value("out", None)], initializer=[weights])
    before = original.SerializeToString(deterministic=True)

    annotated = absint.analyze(original).annotate()

    assert written(annotated.graph) == {"added": ("FLOAT", ["batch", "seq", 64])}
    assert original.SerializeToString(deterministic=True) == before
    del annotated.graph.value_info[:]
    assert annotated.SerializeToString(deterministic=True) == before


def test_case_7_outputs_are_written_on_request_only() -> None:
    result = absint.analyze(chain(None, ["N", 4]))
    assert dims_of(result.annotate().graph.output[0]) is None
    assert dims_of(result.annotate(outputs=True).graph.output[0]) == ["N", 4]


def test_case_7_a_value_of_unknown_rank_gets_its_dtype() -> None:
    nodes = [helper.make_node("Reshape", ["x", "s"], ["a"]), helper.make_node("Relu", ["a"], ["y"])]
    annotated = absint.analyze(
        model(nodes, [value("x", ["N"]), value("s", ["K"], INT64)], [value("y", None)])
    ).annotate()
    assert written(annotated.graph) == {"a": ("FLOAT", None)}


def test_a_value_of_unknown_type_is_left_out() -> None:
    nodes = [
        helper.make_node("Mystery", ["x"], ["a"], domain="my"),
        helper.make_node("Mystery", ["a"], ["y"], domain="my"),
    ]
    assert written(absint.analyze(model(nodes, [value("x", ["N"])], [value("y", None)])).annotate().graph) == {}


def test_sequences_and_optionals_are_typed() -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "x"], ["s"]),
        helper.make_node("Optional", ["s"], ["o"]),
        helper.make_node("OptionalHasElement", ["o"], ["y"]),
    ]
    graph = absint.analyze(model(nodes, [value("x", ["N", 4])], [value("y", [], BOOL)])).annotate().graph
    types = {info.name: info.type for info in graph.value_info}
    assert types["s"].sequence_type.elem_type.tensor_type.elem_type == FLOAT
    assert types["o"].optional_type.elem_type.WhichOneof("value") == "sequence_type"


def test_external_data_stay_references(tmp_path: Path) -> None:
    original = model(
        [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Relu", ["a"], ["y"])],
        [value("x", ["N", 64])],
        [value("y", None)],
        initializer=[numpy_helper.from_array(np.zeros((64, 32), np.float32), "w")],
    )
    onnx.save(original, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    (tmp_path / "w.bin").unlink()
    annotated = absint.analyze(tmp_path / "m.onnx").annotate()
    assert {e.key: e.value for e in annotated.graph.initializer[0].external_data}["location"] == "w.bin"
    assert not annotated.graph.initializer[0].raw_data
    assert written(annotated.graph) == {"a": ("FLOAT", ["N", 32])}


# Merging


@pytest.mark.parametrize(("merge", "expected"), [("skip", ["N", None]), ("override", [4, "M"]), ("refine", [4, "M"])])
def test_case_27_merging_an_existing_declaration(merge: str, expected: Dims) -> None:
    result = absint.analyze(chain(["N", None], [4, "M"]))
    assert written(result.annotate(merge).graph) == {"a": ("FLOAT", expected)}  # type: ignore[arg-type]


def test_case_27_strict_raises() -> None:
    result = absint.analyze(chain(["N", None], [4, "M"]))
    with pytest.raises(absint.UsageError) as raised:
        result.annotate("strict")
    assert str(raised.value) == (
        "the declaration of 'a' says N, but it is 4: correct the model, or merge with 'refine' or 'override'"
    )


@pytest.mark.parametrize(
    ("declared", "expected"),
    [("K", "2*N"), ("N + K", "2*N"), (None, "2*N"), (8, "2*N"), ("2*N", "2*N"), ("N + N", "N + N")],
)
def test_case_27_refine_prefers_an_expression_over_the_inputs(declared: int | str | None, expected: str) -> None:
    nodes = [helper.make_node("Concat", ["x", "x"], ["a"], axis=0), helper.make_node("Relu", ["a"], ["y"])]
    doubled = model(nodes, [value("x", ["N"])], [value("y", None)], declared=[value("a", [declared])])
    assert written(absint.analyze(doubled).annotate("refine").graph)["a"][1] == [expected]


def test_strict_accepts_what_only_adds() -> None:
    assert written(absint.analyze(chain([None, "M"], [4, "M"])).annotate("strict").graph)["a"][1] == [4, "M"]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (value("a", [4]), "the declaration of 'a' says rank 1, but it is shape [4, M]"),
        (value("a", [4, "M"], INT64), "the declaration of 'a' says element type 7, but it is FLOAT"),
        (
            helper.make_tensor_sequence_value_info("a", FLOAT, [4]),
            "the declaration of 'a' says a sequence, but it is a tensor",
        ),
    ],
)
def test_strict_names_the_contradiction(declared: onnx.ValueInfoProto, message: str) -> None:
    lying = chain(None, [4, "M"])
    lying.graph.value_info.append(declared)
    with pytest.raises(absint.UsageError) as raised:
        absint.analyze(lying).annotate("strict")
    assert str(raised.value).startswith(message)
    assert written(absint.analyze(lying).annotate("refine").graph) == {"a": ("FLOAT", [4, "M"])}


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(absint.UsageError) as raised:
        absint.analyze(chain(None, ["N"])).annotate("best")  # type: ignore[arg-type]
    assert str(raised.value) == "unknown merge policy 'best': it is one of skip, override, refine, strict"


def test_refine_does_not_keep_a_constant_that_the_inputs_refute() -> None:
    """A traced size left behind in value_info: N is free, so 224 is false in some run."""
    assert written(absint.analyze(chain([1, 224], [1, "N"])).annotate().graph)["a"][1] == [1, "N"]


def test_refine_keeps_a_constant_that_the_requirements_prove() -> None:
    """MatMul with a (8, 2) weight runs only where K is 8."""
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("MatMul", ["a", "w"], ["y"])]
    weights = helper.make_tensor("w", FLOAT, [8, 2], [0.0] * 16)
    declared = [value("a", ["N", 8])]
    proved = model(nodes, [value("x", ["N", "K"])], [value("y", None)], declared=declared, initializer=[weights])
    assert written(absint.analyze(proved).annotate().graph)["a"][1] == ["N", 8]


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ([2, 5], [2, 5]),
        ([2, "found"], [2, "found"]),
        ([2, "2*N"], [2, "2*N"]),
        ([2, None], [2, "_d0"]),
        ([3, "found"], [2, "found"]),
    ],
)
def test_refine_counts_an_invented_symbol_as_unknown(declared: Dims, expected: Dims) -> None:
    assert written(absint.analyze(invented(declared)).annotate().graph)["a"][1] == expected


def test_refine_keeps_what_the_analysis_does_not_know() -> None:
    nodes = [helper.make_node("Mystery", ["x"], ["a"], domain="my"), helper.make_node("Relu", ["a"], ["y"])]
    opaque = model(nodes, [value("x", ["N"])], [value("y", None)], declared=[value("a", ["N", 3])])
    assert written(absint.analyze(opaque).annotate().graph)["a"] == ("FLOAT", ["N", 3])


def test_a_denotation_survives() -> None:
    denoted = chain([None, "M"], [4, "M"])
    denoted.graph.value_info[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    (info,) = absint.analyze(denoted).annotate().graph.value_info
    assert info.type.tensor_type.shape.dim[0].denotation == "DATA_BATCH"
    assert dims_of(info) == [4, "M"]


# Names


def test_invented_names_avoid_the_names_of_inputs() -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    clash = model(nodes, [value("x", ["_d0", "_d1"])], [value("y", None, INT64)])
    assert written(absint.analyze(clash).annotate().graph)["a"][1] == [2, "_d2"]


def test_invented_names_avoid_other_names_in_the_model() -> None:
    """The author's `_d0` is declared where it cannot be what the analysis calls `_d0`."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["a"]),
        helper.make_node("Mystery", ["x"], ["b"], domain="my"),
        helper.make_node("Concat", ["a", "b"], ["y"], axis=0),
    ]
    declared = [value("b", [3, "_d0"], INT64)]
    clash = model(nodes, [value("x", ["N", "M"])], [value("y", None, INT64)], declared=declared)
    result = absint.analyze(clash)
    assert str(result.shapes["a"]) == "[2, _d0]"
    found = written(result.annotate().graph)
    assert found["b"][1] == [3, "_d0"]
    assert found["a"][1] not in ([2, "_d0"], [2, None])


def test_a_dim_too_large_to_write_gets_a_name_that_only_equal_dims_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("absint.jobs.copies.type_writer.MAX_SIZE", 1)
    nodes = [
        helper.make_node("Relu", ["p"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Relu", ["q"], ["c"]),
        helper.make_node("Concat", ["b", "c"], ["y"], axis=0),
    ]
    inputs = [value("p", ["N + M"]), value("q", ["K + L"])]
    large = model(nodes, inputs, [value("y", None)])
    annotated = absint.analyze(large).annotate()
    assert [dims for _, dims in written(annotated.graph).values()] == [["_d0"], ["_d0"], ["_d1"]]
    again = absint.analyze(annotated).annotate()
    assert again.SerializeToString(deterministic=True) == annotated.SerializeToString(deterministic=True)

    large.graph.value_info.append(value("c", ["_d0"]))
    kept = written(absint.analyze(large).annotate("skip").graph)
    assert kept["c"][1] == ["_d0"]
    assert kept["a"][1] == kept["b"][1] == ["_d1"]


def test_a_dim_in_a_loop_body_shares_no_text_with_one_outside() -> None:
    annotated = absint.analyze(looping()).annotate(outputs=True)
    body = annotated.graph.node[0].attribute[0].g
    (outside,) = (dims_of(info) for info in annotated.graph.value_info)
    inside = written(body)["r"][1]
    after = dims_of(body.output[1])
    assert outside is not None
    assert inside is not None
    assert after is not None
    texts = [outside[0], inside[0], after[0], "N"]
    assert len(set(texts)) == 4, texts
    symbols = [read_dim_param(str(text), ()).dim.free_symbols - {"N"} for text in texts]
    assert symbols[0].isdisjoint(symbols[1])
    assert symbols[1] == symbols[2] != frozenset()
    onnx.checker.check_model(annotated)


def test_a_declared_name_does_not_survive_where_each_trip_has_another_size() -> None:
    annotated = absint.analyze(looping([value("r", ["N", 4])])).annotate()
    dims = written(annotated.graph.node[0].attribute[0].g)["r"][1]
    assert dims is not None
    assert dims[0] != "N"
    assert dims[1] == 4


def test_branches_are_annotated_and_their_outputs_only_on_request() -> None:
    def branch(name: str) -> onnx.GraphProto:
        nodes = [helper.make_node("Relu", ["x"], [f"{name}1"]), helper.make_node("Neg", [f"{name}1"], [f"{name}2"])]
        return helper.make_graph(nodes, name, [], [value(f"{name}2", None)])

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("t"), else_branch=branch("e"))
    choice = model([node], [value("x", ["N"]), value("c", [], BOOL)], [value("y", None)])
    result = absint.analyze(choice)
    for outputs in (False, True):
        bodies = {a.name: a.g for a in result.annotate(outputs=outputs).graph.node[0].attribute}
        assert written(bodies["then_branch"]) == {"t1": ("FLOAT", ["N"])}
        assert written(bodies["else_branch"]) == {"e1": ("FLOAT", ["N"])}
        assert dims_of(bodies["else_branch"].output[0]) == (["N"] if outputs else None)


def test_two_bodies_of_one_name_get_their_own_shapes() -> None:
    def choice(x: str, y: str) -> onnx.NodeProto:
        nodes = [helper.make_node("Relu", [x], ["t"]), helper.make_node("Neg", ["t"], ["u"])]
        bodies = [helper.make_graph(nodes, "b", [], [value("u", None)]) for _ in range(2)]
        return helper.make_node("If", ["c"], [y], name="same", then_branch=bodies[0], else_branch=bodies[1])

    inputs = [value("c", [], BOOL), value("p", ["P"]), value("q", ["Q"])]
    twice = model([choice("p", "y"), choice("q", "z")], inputs, [value("y", None), value("z", None)])
    nodes = absint.analyze(twice).annotate().graph.node
    assert [written(node.attribute[0].g)["t"][1] for node in nodes] == [["P"], ["Q"]]


# Over models


def all_infos(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from graph.value_info
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from all_infos(attribute.g)


def whole(dim: Dim, names: Mapping[str, Dim]) -> Dim:
    """The dim with defined names replaced by what they stand for."""
    while not dim.is_concrete and names.keys() & dim.free_symbols:
        dim = dim.substitute(names)
    return dim


@pytest.mark.share(10)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_texts_parse_back_and_a_second_analysis_agrees(path: Path) -> None:
    original = onnx.load(path, load_external_data=False)
    del original.graph.value_info[:]
    first = absint.analyze(original)
    annotated = first.annotate()
    shapes = first.shapes
    defined = {item.key: item.value for item in annotated.metadata_props}.get("absint.definitions", "{}")
    names = {name: parse(text) for name, text in json.loads(defined).items()}
    for info in annotated.graph.value_info:
        dims = dims_of(info)
        if dims is None or info.name not in shapes:
            assert info.name not in shapes or shapes[info.name].rank is None
            continue
        shape = shapes[info.name]
        for dim, text in zip(shape, dims, strict=True):
            if isinstance(text, int):
                assert dim.is_concrete
                assert int(dim) == text
            elif text is not None and not text.startswith("_d"):
                assert str(whole(read_dim_param(text, ()).dim, names)) == str(dim)
    second = absint.analyze(annotated)
    assert dict(second.shapes) == dict(shapes)
    assert second.annotate().SerializeToString(deterministic=True) == annotated.SerializeToString(deterministic=True)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_annotated_model_is_valid_and_runs(path: Path) -> None:
    annotated = absint.analyze(path).annotate(outputs=True).SerializeToString()
    onnx.checker.check_model(annotated, full_check=True)
    onnxruntime.InferenceSession(annotated, providers=["CPUExecutionProvider"])
