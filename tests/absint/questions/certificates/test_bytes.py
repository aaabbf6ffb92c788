"""check.py reads a model as runtimes do, or not at all: fields that say two things, and elements of another type."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper

import absint
from absint.questions.certificates import check
from tests.absint.questions.certificates.checking import manifest_of, model_of
from tests.absint.questions.certificates.test_certificates import MODELS
from tests.absint.questions.certificates.test_forgeries import edit, rehash, step_of

TEXT = """(float[N, 4] x, int64[2] k, bool[2] c, float[1] f) => (y, z) <
    int64[2] to = {-1, 4}, float[2] half = {0.5, 3.0}> {
    y = Reshape(x, to)  z = Transpose<perm=[1, 0]>(x) }"""


def long(number: int) -> bytes:
    """A varint."""
    return bytes([number & 127 | 128, number >> 7]) if number > 127 else bytes([number])


def sized(tag: int, data: bytes) -> bytes:
    """A field that has a length."""
    return long(tag) + long(len(data)) + data


def in_graph(*parts: bytes) -> Callable[[ModelProto], bytes]:
    """The model with more fields in its graph, which protobuf would merge: as one graph again."""

    def changed(model: ModelProto) -> bytes:
        graph = model.graph.SerializeToString() + b"".join(parts)
        rest = ModelProto()
        rest.CopyFrom(model)
        rest.ClearField("graph")
        return rest.SerializeToString() + sized(0x3A, graph)

    return changed


def graph_twice(model: ModelProto) -> bytes:
    return model.SerializeToString() + sized(0x3A, b"")


def opset_of_two_versions(model: ModelProto) -> bytes:
    return model.SerializeToString() + sized(0x42, b"\x10\x12\x10\x11")


def function_of_onnx(model: ModelProto) -> bytes:
    """A runtime may call it instead of ONNX's operator."""
    function = helper.make_function("", "Transpose", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], [])
    function.domain = "ai.onnx"
    return model.SerializeToString() + sized(202, function.SerializeToString())


def changed(change: Callable[[ModelProto], object]) -> Callable[[ModelProto], bytes]:
    def change_it(model: ModelProto) -> bytes:
        change(model)
        return model.SerializeToString()

    return change_it


def fixed_ints(model: ModelProto) -> bytes:
    """The sizes of an initialiser, written in a way that readers leave out: it is a scalar for them."""
    was = model.graph.initializer[0].SerializeToString()
    assert was.startswith(b"\x08\x02")
    return in_graph(sized(0x2A, was.removeprefix(b"\x08\x02") + b"\x09\x02" + bytes(7)))(_without(model))


def _without(model: ModelProto) -> ModelProto:
    found = ModelProto()
    found.CopyFrom(model)
    del found.graph.initializer[0]
    return found


def attribute_twice(model: ModelProto) -> None:
    model.graph.node[1].attribute.add().CopyFrom(helper.make_attribute("perm", [0, 1]))


def reference_in_the_main_graph(model: ModelProto) -> None:
    model.graph.node[1].attribute[0].ref_attr_name = "perm"


def initialiser_twice(model: ModelProto) -> None:
    model.graph.initializer.add().CopyFrom(helper.make_tensor("to", TensorProto.INT64, [2], [4, -1]))


def input_twice(model: ModelProto) -> None:
    model.graph.input.add().CopyFrom(model.graph.input[0])


def elements_twice(model: ModelProto) -> None:
    model.graph.initializer[0].ClearField("raw_data")
    model.graph.initializer[0].int64_data[:] = [-1, 4]
    model.graph.initializer[0].raw_data = bytes(16)


def element_that_does_not_fit(model: ModelProto) -> None:
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.ClearField("int64_data")
    tensor.data_type = TensorProto.INT8
    tensor.int32_data[:] = [255, 4]


def elements_at(**words: str) -> Callable[[ModelProto], None]:
    def change(model: ModelProto) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.ClearField("int64_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in ({"location": "w"} | words).items():
            tensor.external_data.add(key=key, value=value)

    return change


def location_twice(model: ModelProto) -> None:
    elements_at()(model)
    model.graph.initializer[0].external_data.add(key="location", value="v")


def of_strings(model: ModelProto) -> None:
    model.graph.node[1].attribute[0].type = AttributeProto.INT


DIM = sized(0x0A, b"\x08\x04\x12\x01N")  # 4, and then N, which counts
INPUT = sized(0x5A, sized(0x0A, b"more") + sized(0x12, sized(0x0A, b"\x08\x01" + sized(0x12, DIM))))

CHANGES: list[tuple[Callable[[ModelProto], bytes], str]] = [
    (graph_twice, "the model has a field twice"),
    (opset_of_two_versions, "the model has a field twice"),
    (function_of_onnx, "a function of the model is called Transpose, and something else too"),
    (in_graph(INPUT), "the model declares two types, or two sizes, of one thing"),
    (fixed_ints, "field 1 of the model is of another kind"),
    (in_graph(b"\x82\x80\x80\x80\x80\x80\x80\x80\x80\x7f\x00"), "the model is damaged"),
    (changed(attribute_twice), "two attributes of a node of the model have one name"),
    (changed(reference_in_the_main_graph), "perm refers to an attribute of no function"),
    (changed(initialiser_twice), "two initialisers of the model have one name"),
    (changed(input_twice), "two inputs of the model have one name"),
    (changed(elements_twice), "the elements of a tensor lie in parts"),
    (changed(element_that_does_not_fit), "an element does not fit its type"),
    (changed(elements_at(offset="+8", length="16")), "its elements lie at an odd place"),
    (changed(elements_at(offset="08", length="16")), "its elements lie at an odd place"),
    (changed(elements_at(offset="\u0668")), "its elements lie at an odd place"),
    (changed(elements_at(offset="8", length="1_6")), "its elements lie at an odd place"),
    (changed(elements_at(offset="999", length="16")), "it has 0 elements in the model"),
    (changed(elements_at(location="v")), "its elements lie outside of the folder of the model"),
    (changed(location_twice), "two words on external data of the model have one name"),
    (changed(of_strings), "perm is 0 in the model, its lemma is about [1, 0]"),
]


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ModelProto]:
    folder = tmp_path_factory.mktemp("certified")
    model = model_of(TEXT)
    onnx.save(model, folder / "m.onnx")
    absint.analyze(folder / "m.onnx").certify().write(folder / "c")
    return folder / "c", model


def problems(certificate: Path, model: bytes, manifest: dict[str, Any], folder: Path) -> list[str]:
    """What is wrong with a certificate beside a model whose hash is made to fit."""
    (folder / "changed.onnx").write_bytes(model)
    try:
        found = check.Model(folder / "changed.onnx")
    except check.UnreadableError as problem:
        return [str(problem)]
    manifest["model"]["sha256"] = found.digest
    return check.found_wrong(certificate, manifest, found)[1]


@pytest.mark.parametrize(("change", "told"), CHANGES, ids=[told[:40] for _, told in CHANGES])
def test_bytes_that_say_two_things_are_refused(
    certified: tuple[Path, ModelProto], change: Callable[[ModelProto], bytes], told: str, tmp_path: Path
) -> None:
    certificate, model = certified
    (tmp_path / "w").write_bytes(bytes(8) + (1 << 64).to_bytes(9, "little")[:8] + bytes(8))
    (tmp_path.parent / f"{tmp_path.name}-v").write_bytes(bytes(16))
    (tmp_path / "v").symlink_to(tmp_path.parent / f"{tmp_path.name}-v")
    manifest = manifest_of(certificate)
    assert problems(certificate, model.SerializeToString(), manifest, tmp_path) == []
    (problem,) = problems(certificate, change(deepcopy(model)), manifest, tmp_path)
    assert told in problem


def input_step(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    return step_of(manifest, f"input {name}")


def same_element_twice(manifest: dict[str, Any]) -> str:
    input_step(manifest, "k")["gives"][0]["elements"] = ["k_0", "k_0"]
    input_step(manifest, "k")["introduces"].pop("k_1")
    return "element 0 of k is k_0"


def same_truth_twice(manifest: dict[str, Any]) -> str:
    input_step(manifest, "c")["gives"][0]["elements"] = ["(= c_0 1)", "(= c_0 1)"]
    input_step(manifest, "c")["introduces"].pop("c_1")
    return "element 0 of c is (= c_0 1)"


def bounded_element(manifest: dict[str, Any]) -> str:
    manifest["symbols"]["k_0"] = "(<= (- 128) k_0 127)"
    return "element 0 of k is k_0"


def element_of_a_float(manifest: dict[str, Any]) -> str:
    step = input_step(manifest, "f")
    step["gives"][0]["elements"] = ["whole"]
    step["introduces"] = {"whole": "out0@e0"}
    manifest["symbols"]["whole"] = ""
    return "its elements are of another type in the model"


def integers_for_floats(manifest: dict[str, Any]) -> str:
    step_of(manifest, "input half")["gives"][0]["elements"] = [None, "3"]
    return "an element is 3 in the model, claimed is 3"


def another_name(manifest: dict[str, Any]) -> str:
    step_of(manifest, "Transpose")["gives"][0]["value"] = "z\u200b"
    return "its outputs have other names in the model"


@pytest.mark.parametrize(
    "forge",
    [same_element_twice, same_truth_twice, bounded_element, element_of_a_float, integers_for_floats, another_name],
)
def test_claims_of_inputs_are_those_of_their_types(
    certified: tuple[Path, ModelProto], forge: Callable[[dict[str, Any]], str], tmp_path: Path
) -> None:
    certificate, model = certified
    manifest = manifest_of(certificate)
    told = forge(manifest)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    chain, wrong = check.found_wrong(certificate, manifest, check.Model(tmp_path / "m.onnx"))
    assert chain.comparison is not None
    assert any(told in line for line in wrong or chain.comparison.stated)


STACKED = """(float[N, 3] x, int64 trips, bool go) => (y, s) {
    y, s = Loop(trips, go, x) <body = b (int64 i, bool c, float[R, 3] a) => (bool d, float[S, 3] z, float[T, 3] w)
        {k = ReduceSum<keepdims=0>(a)  d = Cast<to=9>(k)  z = Relu(a)  w = Abs(a)}> }"""


@pytest.mark.parametrize(
    ("text", "old", "new", "told"),
    [
        (
            STACKED,
            "(define-fun goes@0 () Bool in4@e0)",
            "(define-fun goes@0 () Bool true)",
            "this is not what Loop means",
        ),
        (
            STACKED,
            "(define-fun goes@0 () Bool in4@e0)",
            "(define-fun goes@0 () Bool in1@e0)",
            "this is about another input",
        ),
        (STACKED, "Bool in1@e0)", "Bool true)", "its input 1 is not left out in the model"),
        (STACKED, "(define-fun out1@rank () Int 3)", "(define-fun out1@rank () Int 4)", "output 1 has no row for each"),
        (
            MODELS["looped"],
            "(declare-const out0@0 Int)",
            "(define-fun out0@0 () Int trips@0)",
            "output 0 has no row for each trip",
        ),
        (
            MODELS["looped"],
            "(define-fun goes@0 () Bool in4@e0)",
            "(define-fun goes@0 () Bool in1@e0)",
            "this is about another input",
        ),
        (MODELS["counting"], "in7@e0 (- trips@0 1)", "in1@e0 (- trips@0 1)", ""),
    ],
)
def test_the_end_of_a_loop_has_one_meaning(text: str, old: str, new: str, told: str, tmp_path: Path) -> None:
    onnx.save(model_of(text), tmp_path / "m.onnx")
    absint.analyze(tmp_path / "m.onnx").certify().write(tmp_path / "c")
    manifest, model = manifest_of(tmp_path / "c"), check.Model(tmp_path / "m.onnx")
    assert check.found_wrong(tmp_path / "c", manifest, model)[1] == []
    steps = [step for step in manifest["steps"] if step["node"].startswith("Loop") and "lemma" in step]
    step = steps[-1]
    if told:
        edit(tmp_path / "c", step, (old, new))
    else:
        path = tmp_path / "c" / "lemmas" / f"{step['lemma']}.smt2"
        lines = path.read_text("utf-8").splitlines()
        at = next(at for at, line in enumerate(lines) if "(- trips@0 1)" in line)
        lines[at] = "(assert (=> (<= 1 trips@0) (= in0@e0 (- trips@0 1))))"
        path.write_text("\n".join([*lines, ""]), "utf-8")
        told = "this is about another input"
    rehash(tmp_path / "c", manifest)
    (problem,) = check.found_wrong(tmp_path / "c", manifest_of(tmp_path / "c"), model)[1]
    assert told in problem


def test_a_specification_that_was_not_read_is_on_trust(certified: tuple[Path, ModelProto], tmp_path: Path) -> None:
    certificate, model = certified
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    beside = check.Model(tmp_path / "m.onnx")
    manifest = manifest_of(certificate)
    lemmas = check.read(certificate, manifest["lemmas"], [])
    read = {lemma.title: lemma.specification("either") for lemma in lemmas.values()}
    assert read.keys() == {"Reshape-14", "Transpose-13"}
    chain, problems_ = check.found_wrong(certificate, manifest, beside, "\n".join(read.values()))
    assert not problems_
    assert chain.counts["sizes", "certified"] == 4
    chain, problems_ = check.found_wrong(certificate, manifest, beside, read["Reshape-14"])
    assert not problems_
    assert [chain.sizes[("z",), 0, axis][:2] for axis in range(2)] == [
        ("resting", "Transpose-18: a specification that is not among those read")
    ] * 2
    assert lemmas.popitem()[1].specification("onnx") not in read.values()


def test_an_element_has_the_sort_of_its_type(tmp_path: Path) -> None:
    """A sum of integers is an integer, which a lemma names; the same lemma is not about a sum of floats."""
    text = """({}[N] x) => (y) <int64[1] one = {{1}}> {{
        s = ReduceSum<keepdims=0>(x)  c = Cast<to=7>(s)  r = Reshape(c, one)  y = ConstantOfShape(r) }}"""
    for kind in ("int64", "float"):
        onnx.save(model_of(text.format(kind)), tmp_path / f"{kind}.onnx")
    absint.analyze(tmp_path / "int64.onnx").certify().write(tmp_path / "c")
    manifest = manifest_of(tmp_path / "c")
    assert step_of(manifest, "ReduceSum")["gives"][0]["elements"] == ["_d0"]
    assert check.found_wrong(tmp_path / "c", manifest, check.Model(tmp_path / "int64.onnx"))[1] == []
    (problem,) = problems(tmp_path / "c", (tmp_path / "float.onnx").read_bytes(), manifest, tmp_path)
    assert problem.endswith("its elements are Real in the model")


def test_kinds_are_those_of_the_schemas_of_onnx() -> None:
    found: dict[str, set[str]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain or schema.name not in check.KINDS:
            continue
        output = schema.outputs[0]
        allowed = next(
            (set(c.allowed_type_strs) for c in schema.type_constraints if c.type_param_str == output.type_str),
            {output.type_str},
        )
        if all("int" in kind and "float" not in kind for kind in allowed):
            found.setdefault(schema.name, set()).add("Int")
        elif allowed == {"tensor(bool)"}:
            found.setdefault(schema.name, set()).add("Bool")
        else:
            same = [at for at, given in enumerate(schema.inputs) if given.type_str == output.type_str]
            found.setdefault(schema.name, set()).add(str(same[0]))
    assert found == {name: {kind} for name, kind in check.KINDS.items()}
