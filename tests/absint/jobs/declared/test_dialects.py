"""Dialects of annotated models: what other tools parse is the inferred size, and absint reads it back."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx_ir
import onnxruntime
import pytest
import sympy
from onnx import ModelProto, TensorProto, TypeProto, helper, parser

import absint
from absint.jobs.copies.annotate import ASSUMING_KEY
from absint.jobs.copies.dialects import DIALECTS, dialect_of
from absint.jobs.copies.respelling import DIALECT_KEY
from absint.lattices.terms.expr import Dim
from absint.model.declared_types import KEY, NAMES_KEY
from tests.adversarial import MODELS
from tests.models import parsed
from tests.real_models import PATHS

OTHERS = [name for name in DIALECTS if name != "absint"]
SIZES = (1, 2, 5, 7, 12)


def metadata(model: ModelProto, key: str) -> Mapping[str, str]:
    found = next((entry.value for entry in model.metadata_props if entry.key == key), "{}")
    read = json.loads(found)
    assert isinstance(read, dict)
    return read


def texts(proto: TypeProto) -> list[str]:
    return [dim.dim_param or str(dim.dim_value) for dim in proto.tensor_type.shape.dim]


def inferred_dims(result: absint.Result, copy: ModelProto) -> Iterator[tuple[str, Dim]]:
    """The texts of computed values of the main graph, with the dims that they are to say."""
    for info in (*copy.graph.value_info, *copy.graph.output):
        shape = result.shapes.get(info.name)
        dims = info.type.tensor_type.shape.dim
        if shape is not None and shape.rank == len(dims):
            for proto, dim in zip(dims, shape.dims, strict=True):
                if proto.dim_param:
                    yield proto.dim_param, dim


def meaning(text: str, dialect: str) -> sympy.Expr:
    """The text as the tools of the dialect read it."""
    if dialect == "sympy":
        return sympy.sympify(text)
    return onnx_ir.SymbolicDim(text)._expr


def says(text: str, dim: Dim, dialect: str, names: Mapping[str, str], symbols: tuple[str, ...]) -> None:
    """The text has the sizes of the dim, whatever the sizes of the symbols."""
    expression = meaning(text, dialect)
    if not dim.free_symbols <= set(symbols):
        return  # data decide this size
    for shift in range(4):
        sizes = {name: SIZES[(place + shift) % len(SIZES)] for place, name in enumerate(symbols)}
        expected = dim.evaluate(sizes)
        values = {s: sizes.get(names.get(s.name, s.name)) for s in expression.free_symbols}
        if expected is None or None in values.values():
            continue  # it divides by zero, or its text is kept from the author
        assert expression.subs(values) == expected, (text, sizes)


@pytest.mark.share(10)
@pytest.mark.parametrize("dialect", ["sympy", "onnx-shape-inference"])
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_other_tools_read_the_inferred_sizes_of_real_models(path: Path, dialect: str) -> None:
    result = absint.analyze(path)
    copy = result.annotate(dialect=dialect, outputs=True)
    names, defined = metadata(copy, NAMES_KEY), metadata(copy, KEY)
    checked = 0
    for text, dim in dict(inferred_dims(result, copy)).items():
        if text not in defined:
            says(text, dim, dialect, names, result.symbols)
            checked += 1
    assert checked or path.stem not in ("tiny_decoder", "bert.legacy", "swin_batch.legacy")


@pytest.mark.share(2)
@pytest.mark.parametrize("dialect", OTHERS)
@pytest.mark.parametrize("name", MODELS)
def test_absint_reads_its_dialects_back(name: str, dialect: str) -> None:
    model = MODELS[name].model
    result = absint.analyze(model)
    copy = result.annotate("override", dialect=dialect)
    onnx.load_from_string(copy.SerializeToString())
    again = absint.analyze(copy)
    assert [d for d in again.diagnostics if d.code == "false-declaration" and "value_info" in d.where] == []
    known = set(again.symbols)
    for text, _ in inferred_dims(result, copy):
        is_name = dialect_of(dialect).is_name(text)
        assert is_name or dialect != "opaque"
        if dialect != "opaque" and text not in metadata(copy, KEY) and text not in known:
            meaning(text, dialect)
    assert again.annotate("override", dialect=dialect) == copy or metadata(copy, NAMES_KEY)


def two_inputs(first: str, second: str) -> ModelProto:
    """A Concat of two vectors, and every other element of a third one."""
    model = parsed(
        """(float[A] x, float[B] y, float[H] z) => (float[C] joined, float[P] halved) {
            joined = Concat<axis = 0>(x, y)
            doubled = Concat<axis = 0>(joined, joined)
            start = Constant<value = int64[1] {0}>()
            end = Constant<value = int64[1] {9223372036854775807}>()
            step = Constant<value = int64[1] {2}>()
            halved = Slice(z, start, end, start, step)
        }"""
    )
    for info, text in zip(model.graph.input, (first, second), strict=False):
        info.type.tensor_type.shape.dim[0].dim_param = text
    return model


def test_names_that_a_tool_does_not_read_as_names_are_changed_everywhere() -> None:
    copy = absint.analyze(two_inputs("batch/size", "N")).annotate(dialect="sympy")

    assert [texts(info.type) for info in copy.graph.input] == [["batch_size"], ["N_1"], ["H"]]
    assert metadata(copy, NAMES_KEY) == {"batch_size": "batch/size", "N_1": "N"}
    written = {info.name: texts(info.type) for info in copy.graph.value_info}
    assert written["doubled"] == ["2*batch_size + 2*N_1"]
    assert {entry.key: entry.value for entry in copy.metadata_props}[DIALECT_KEY] == "sympy"


def test_opaque_names_are_one_for_each_size_and_defined() -> None:
    copy = absint.analyze(two_inputs("a", "b")).annotate(dialect="opaque")

    written = {info.name: texts(info.type)[-1] for info in (*copy.graph.value_info, *copy.graph.output)}
    assert sorted(written[name] for name in ("joined", "doubled", "halved")) == ["size1", "size2", "size3"]
    defined = metadata(copy, KEY)
    assert sorted(defined.values()) == ["(H + 1)//2", "2*a + 2*b", "a + b"]
    again = absint.analyze(copy)
    assert str(again.shapes["joined"]) == "[a + b]"
    assert again.annotate(dialect="opaque") == copy


def test_a_size_that_the_tool_has_no_text_for_is_a_name_with_a_definition() -> None:
    model = parsed(
        """(float[N] x, int64 use, float[M] y) => (float[K] out) {
            zero = Constant<value = int64 {0}>()
            chosen = Equal(use, zero)
            out = If(chosen) <
                then_branch = one () => (float[A] a) { a = Identity(x) },
                else_branch = other () => (float[B] b) { b = Identity(y) }
            >
        }"""
    )
    copy = absint.analyze(model).annotate(dialect="onnx-shape-inference")

    (name,) = texts(copy.graph.output[0].type)
    assert name.isidentifier()
    assert metadata(copy, KEY) == {name: "ite(use == 0, N, M)"}


def test_outputs_are_written_where_their_names_are_inventions() -> None:
    model = two_inputs("a", "b")
    result = absint.analyze(model)

    assert [texts(info.type) for info in result.annotate().graph.output] == [["a + b"], ["(H + 1)//2"]]
    kept = result.annotate(outputs=False)
    assert kept.graph.output == model.graph.output
    assert result.annotate("skip").graph.output == model.graph.output


def test_sizes_that_were_given_are_written_onto_inputs() -> None:
    copy = absint.analyze(two_inputs("a", "b"), bind={"a": 3}, assume=["b % 2 == 0"]).annotate()

    assert [texts(info.type) for info in copy.graph.input] == [["3"], ["b"], ["H"]]
    assert texts(copy.graph.output[0].type) == ["b + 3"]
    entries = {entry.key: entry.value for entry in copy.metadata_props}
    assert "a == 3" in entries[ASSUMING_KEY]
    assert "b % 2 == 0" in entries[ASSUMING_KEY]


def test_inputs_get_only_what_was_given() -> None:
    """A Conv needs 3 channels: its input stays as it is declared."""
    model = parsed("""(float[N, C, L] x, float[8, 3, 1] w) => (float[N, 8, L] y) { y = Conv(x, w) }""")
    copy = absint.analyze(model, assume=["N >= 2"]).annotate()
    assert texts(copy.graph.input[0].type) == ["N", "C", "L"]
    assert texts(absint.analyze(model, bind={"L": 7}).annotate().graph.input[0].type) == ["N", "C", "7"]


def test_bodies_are_written_too_and_the_model_runs() -> None:
    inner = helper.make_graph(
        [helper.make_node("Concat", ["x", "x"], ["twice"], axis=0)],
        "body",
        [],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, ["unk__1"])],
    )
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["out"], then_branch=inner, else_branch=inner)],
        "main",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["`odd name`"]),
        ],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["unk__0"])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    for dialect in OTHERS:
        copy = absint.analyze(model).annotate(dialect=dialect)
        body = copy.graph.node[0].attribute[0].g
        assert texts(body.output[0].type) == texts(copy.graph.output[0].type)
        assert "unk" not in texts(copy.graph.output[0].type)[0]
        session = onnxruntime.InferenceSession(copy.SerializeToString())
        (out,) = session.run(None, {"c": np.array(True), "x": np.zeros(3, np.float32)})
        assert out.shape == (6,)


def test_an_unknown_dialect_is_an_error() -> None:
    with pytest.raises(absint.UsageError, match="unknown dialect 'simpy': did you mean 'sympy'"):
        absint.analyze(two_inputs("a", "b")).annotate(dialect="simpy")


def test_names_of_sympy_are_those_that_it_reads_as_its_own() -> None:
    """sympy.sympify reads every name that the dialect keeps as a symbol, and none of those that it changes."""
    is_name = DIALECTS["sympy"].is_name
    space: dict[str, object] = {}
    exec("from sympy import *", space)
    for name in (*space, *keyword.kwlist, "batch", "seq_len", "_d0", "w1", "size1"):
        if is_name(name):
            assert sympy.sympify(name) == sympy.Symbol(name), name
    assert not any(map(is_name, ("N", "beta", "lambda", "max", "a b", "a-b", "a.b", "größe", "")))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("dim", ["2*M", "floor(M/2)", "max(M, N) + 1", "M ** 2"])
def test_an_input_that_is_an_expression_is_read_back(dim: str, dialect: str) -> None:
    text = f"""<ir_version: 10, opset_import: ["": 20]> g (float[M] a, float["{dim}"] x) => (float[K] y)
    {{ y = Concat<axis=0>(a, x) }}"""
    first = absint.analyze(parser.parse_model(text))
    back = absint.analyze(first.annotate(dialect=dialect, outputs=True))
    assert not back.diagnostics
    shown = str(back.shapes["y"])
    for new, old in metadata(back.model, NAMES_KEY).items():
        shown = shown.replace(new, old) if old in first.symbols else shown
    assert shown == str(first.shapes["y"])
