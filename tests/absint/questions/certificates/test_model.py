"""check.py beside the model: a model that is changed is refused, though its hash is made to fit."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import absint
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import checked, manifest_of, model_of, put
from tests.jobs.forged_models import MODELS, accepted, differ, mutants

TEXT = MODELS["everything"]
CHOSEN = """(float[N, 4] x, bool c) => (y) {
    y = If(c) <then_branch = t () => (a) { a = Relu(x) }, else_branch = e () => (b) { b = Abs(x) }> }"""
Manifest = dict[str, Any]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ModelProto]:
    """A certificate, and its model."""
    folder = tmp_path_factory.mktemp("certified")
    model = model_of(TEXT)
    onnx.save(model, folder / "m.onnx")
    absint.analyze(folder / "m.onnx").certify(["y[1] == x[1]"]).write(folder / "certificate")
    return folder, model


@pytest.mark.parametrize("name", MODELS)
def test_every_step_is_compared(name: str, tmp_path: Path) -> None:
    onnx.save(model_of(MODELS[name]), tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    chain, problems = check.found_wrong(tmp_path / "c", manifest_of(tmp_path / "c"), check.Model(tmp_path / "m.onnx"))
    assert problems == []
    assert chain.comparison is not None
    assert not chain.comparison.open
    assert not chain.comparison.stated


def test_the_script_says_what_is_compared(written: tuple[Path, ModelProto]) -> None:
    folder, _ = written
    code, said = checked(folder / "certificate", "--model", str(folder / "m.onnx"))
    assert code == 0
    assert "as in the model: nodes 17, inputs and initialisers 7, constants 1; not compared: 0" in said.splitlines()
    code, said = checked(folder / "certificate")
    assert code == 0
    assert "not compared with the model: name it with --model" in said.splitlines()


def swapped(model: ModelProto) -> None:
    model.graph.node[0].input[:] = ["w", "x"]


def other_operator(model: ModelProto) -> None:
    named(model, "turned").op_type = "NonZero"


def other_axis(model: ModelProto) -> None:
    named(model, "target").attribute[0].i = -1


def no_axis(model: ModelProto) -> None:
    del named(model, "turned").attribute[:]


def more_inputs(model: ModelProto) -> None:
    named(model, "rows").input.append("zero")


def more_outputs(model: ModelProto) -> None:
    named(model, "parts").output.append("third")


def other_opset(model: ModelProto) -> None:
    model.opset_import[0].version = 19


def other_domain(model: ModelProto) -> None:
    named(model, "turned").domain = "com.microsoft"


def other_element(model: ModelProto) -> None:
    tensor = next(item for item in model.graph.initializer if item.name == "heads")
    tensor.CopyFrom(helper.make_tensor("heads", tensor.data_type, [2], [2, -1]))


def other_constant(model: ModelProto) -> None:
    named(model, "three").attribute[0].ints[0] = 4


def other_input(model: ModelProto) -> None:
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 32


def other_rank(model: ModelProto) -> None:
    model.graph.input[1].type.tensor_type.shape.dim.add().dim_value = 1


def other_symbol(model: ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "D"


def branches_changed(model: ModelProto) -> None:
    then, other = named(model, "z").attribute
    then.name, other.name = other.name, then.name


def other_result(model: ModelProto) -> None:
    named(model, "q").attribute[0].g.output[1].name = "e"


def captured_name(model: ModelProto) -> None:
    """The body computes a value of the name that it took from outside."""
    body = named(model, "q").attribute[0].g
    body.node[2].input[1] = "late"
    body.node.insert(0, helper.make_node("Neg", ["a"], ["late"]))


def function_changed(model: ModelProto) -> None:
    model.functions[0].node[0].op_type = "NonZero"


def attribute_of_a_call(model: ModelProto) -> None:
    named(model, "u", named(model, "z").attribute[0].g.node).attribute[0].i = 0


def twice(model: ModelProto) -> None:
    model.graph.node.append(helper.make_node("Relu", ["x"], ["h"]))


def unused(model: ModelProto) -> None:
    """No output depends on the product that shows how many columns there are."""
    model.graph.output[0].name = "s"


def constant_with_input(model: ModelProto) -> None:
    named(model, "three").input.append("x")


def body_with_more(model: ModelProto) -> None:
    named(model, "q").attribute[0].g.output.add(name="e")


def body_without_type(model: ModelProto) -> None:
    """Readers ignore a graph of an attribute that does not say that it is one."""
    named(model, "q").attribute[0].ClearField("type")


def imported_twice(model: ModelProto) -> None:
    model.opset_import.add(domain="ai.onnx", version=17)


def outside(model: ModelProto) -> None:
    tensor = next(item for item in model.graph.initializer if item.name == "heads")
    del tensor.int64_data[:]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../heads")


def named(model: ModelProto, name: str, nodes: object = None) -> onnx.NodeProto:
    """The node with the output."""
    return next(n for n in (nodes or model.graph.node) if name in n.output)  # type: ignore[attr-defined]


CHANGES = [
    (swapped, "step 7, MatMul #0: its input 0 is another value in the model"),
    (other_operator, ""),
    (other_axis, "axis is -1 in the model, its lemma is about 0"),
    (no_axis, "perm is None in the model, its lemma is about [0, 2, 1]"),
    (more_inputs, "its lemma is about a node with other inputs or outputs"),
    (more_outputs, "its lemma is about a node with other inputs or outputs"),
    (other_opset, "it is Shape-18, the model has Shape-19 there"),
    (other_domain, "it is Transpose-18, the model has com.microsoft::Transpose there"),
    (other_element, "an element is 2 in the model, claimed is 4"),
    (other_constant, "an element is 4 in the model, claimed is 3"),
    (other_input, "axis 0 has 32 in the model, claimed is 64"),
    (other_rank, "it has 3 axes in the model"),
    (other_symbol, ""),
    (branches_changed, ""),
    (other_result, "is another value in the model"),
    (captured_name, "is another value in the model"),
    (function_changed, ""),
    (attribute_of_a_call, "axis is 0 in the model, its lemma is about 1"),
    (twice, "two values of the model are called h"),
    (unused, "no output depends on step"),
    (constant_with_input, "a Constant takes nothing"),
    (body_with_more, "its body has other numbers of inputs or outputs in the model"),
    (body_without_type, "body is no graph"),
    (imported_twice, "the model imports two versions of a domain"),
    (outside, "its elements lie outside of the folder of the model"),
]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=lambda item: getattr(item, "__name__", ""))
def test_a_changed_model_is_refused(
    written: tuple[Path, ModelProto], change: Callable[[ModelProto], None], told: str, tmp_path: Path
) -> None:
    folder, model = written
    changed = ModelProto()
    changed.CopyFrom(model)
    change(changed)
    if change in (other_operator, function_changed):
        told = "the model has NonZero there"
    problem = accepted(folder / "certificate", changed, tmp_path)
    if change is other_symbol:
        assert problem is None  # seq is the size of that axis, whatever it is called
    else:
        assert problem is not None
        assert told in problem


def test_a_branch_with_more_outputs_is_refused(tmp_path: Path) -> None:
    model = model_of(CHOSEN)
    onnx.save(model, tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    named(model, "y").attribute[0].g.output.add(name="a")
    problem = accepted(tmp_path / "c", model, tmp_path)
    assert problem is not None
    assert "its branches have other numbers of outputs in the model" in problem


def test_external_data_is_read(tmp_path: Path) -> None:
    model = model_of("(float[N, 8] x) => (y) <int64[2] to = {-1, 4}> { y = Reshape(x, to) }")
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="w", size_threshold=0)
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    manifest = manifest_of(tmp_path / "c")
    assert check.found_wrong(tmp_path / "c", manifest, check.Model(tmp_path / "m.onnx"))[1] == []
    data = bytearray((tmp_path / "w").read_bytes())
    data[8] = 2
    (tmp_path / "w").write_bytes(data)
    (problem,) = check.found_wrong(tmp_path / "c", manifest, check.Model(tmp_path / "m.onnx"))[1]
    assert "an element is 2 in the model, claimed is 4" in problem


def test_a_damaged_model_is_told_in_one_line(written: tuple[Path, ModelProto], tmp_path: Path) -> None:
    folder, model = written
    (tmp_path / "half.onnx").write_bytes(model.SerializeToString()[:100])
    code, said = checked(folder / "certificate", "--model", str(tmp_path / "half.onnx"))
    assert (code, said) == (2, f"{tmp_path / 'half.onnx'}: the model is damaged\n")
    code, said = checked(folder / "certificate", "--model", "none.onnx")
    assert code == 2
    assert len(said.splitlines()) == 1


def test_a_fact_of_a_branch_is_refused(written: tuple[Path, ModelProto], tmp_path: Path) -> None:
    """What a branch requires is no fact of every run."""
    folder, _ = written
    manifest = manifest_of(folder / "certificate")
    step = next(step for step in manifest["steps"] if step.get("facts") and step["facts"][0][0] >= 0)
    manifest["steps"][step["facts"][0][0]]["at"] = ["z", "then_branch", "u"]
    for path in (folder / "certificate").rglob("*.smt2"):
        (tmp_path / "lemmas").mkdir(exist_ok=True)
        (tmp_path / "lemmas" / path.name).write_bytes(path.read_bytes())
    put(tmp_path, manifest)
    (problem,) = check.found_wrong(tmp_path, manifest)[1]
    assert "not every run computes step" in problem


@pytest.mark.parametrize("name", MODELS)
def test_models_changed_at_random(name: str, tmp_path: Path) -> None:
    """A mutant that is accepted has the shapes of the original."""
    model = model_of(MODELS[name])
    onnx.save(model, tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    refused, before = 0, absint.analyze(tmp_path / "m.onnx")
    for mutant in mutants(model, random.Random(7), 40):
        if accepted(tmp_path / "c", mutant, tmp_path) is None:
            assert not differ(before, manifest_of(tmp_path / "c"), mutant)
        else:
            refused += 1
    assert refused >= 15


def counted_as_declared(manifest: Manifest) -> None:
    """The number of the trip is called as the size of an input."""
    text = json.dumps(manifest).replace('"_d0"', '"D"').replace("_d0", "D")
    manifest.clear()
    manifest.update(json.loads(text))


def declared_as_another(manifest: Manifest) -> None:
    """An axis that is declared as seq is called D, which another one is."""
    step = next(step for step in manifest["steps"] if step["node"] == "input x")
    step["gives"][0]["dims"][1] = "D"


def node_by_model(manifest: Manifest) -> None:
    """The output of a node is said to be an input."""
    step = next(step for step in manifest["steps"] if step["node"].startswith("Transpose"))
    for name in ("operator", "lemma", "names", "facts", "relations"):
        step.pop(name, None)
    step.update(node="input turned", by="model", takes=[])


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (counted_as_declared, ""),
        (declared_as_another, ""),
        (node_by_model, "the model has no input or constant turned"),
    ],
)
def test_a_forged_manifest_is_refused(
    written: tuple[Path, ModelProto], forge: Callable[[Manifest], None], told: str, tmp_path: Path
) -> None:
    folder, _ = written
    for path in (folder / "certificate").rglob("*.smt2"):
        (tmp_path / "lemmas").mkdir(exist_ok=True)
        (tmp_path / "lemmas" / path.name).write_bytes(path.read_bytes())
    manifest = manifest_of(folder / "certificate")
    forge(manifest)
    try:
        chain, problems = check.found_wrong(tmp_path, manifest, check.Model(folder / "m.onnx"))
    except check.WrongError as error:
        problems = [str(error)]
    assert problems or (chain.comparison is not None and "x[1] is D, declared seq" in chain.comparison.stated)
    assert not told or told in problems[0]


def test_versions_of_operators_are_those_of_onnx() -> None:
    wanted: dict[str, set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            name = f"{schema.domain}::{schema.name}" if schema.domain else schema.name
            wanted.setdefault(name, set()).add(schema.since_version)
    assert {name: set(versions) for name, versions in check.VERSIONS.items()} == wanted


def test_a_lemma_of_an_older_version_is_refused(written: tuple[Path, ModelProto], tmp_path: Path) -> None:
    folder, _ = written
    manifest = manifest_of(folder / "certificate")
    (tmp_path / "lemmas").mkdir()
    for path in (folder / "certificate" / "lemmas").iterdir():
        text = path.read_text("utf-8").replace("; Split-18,", "; Split-13,")
        (tmp_path / "lemmas" / path.name).write_text(text, "utf-8")
        manifest["lemmas"][path.stem] = hashlib.sha256(text.encode()).hexdigest()
    put(tmp_path, manifest)
    (problem,) = check.found_wrong(tmp_path, manifest)[1]
    assert "its lemma is about Split-13, not about Split-18" in problem
