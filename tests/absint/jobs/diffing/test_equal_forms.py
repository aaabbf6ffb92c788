"""Forms of one model are not told apart, in either direction, with and without runs."""

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

import absint
from absint.questions.proofs.evidence import Evidence
from tests.absint.jobs.diffing.models import EQUAL, PLANTED, POOLED, SLICED, model
from tests.jobs.equal_forms import FORMS


@pytest.mark.parametrize("evidence", [None, "none"])
@pytest.mark.parametrize("name", EQUAL)
def test_equal_forms_are_the_same(name: str, evidence: Evidence | None) -> None:
    first, second, verdict, reasons = EQUAL[name]
    found = absint.diff(first, second, evidence=evidence)
    text = str(found)
    assert found.verdict == verdict, text
    assert [reason for reason in reasons if reason not in text] == [], text
    assert absint.diff(second, first, evidence=evidence).verdict == verdict


MODELS = {**PLANTED, **EQUAL}
TWO_FORMS_EACH = [(name, form) for n, name in enumerate(MODELS) for f, form in enumerate(FORMS) if (n + f) % 4 == 0]


@pytest.mark.parametrize(("name", "form"), TWO_FORMS_EACH)
def test_a_form_of_a_model_is_the_same(name: str, form: str) -> None:
    first = MODELS[name].first
    copy = type(first).FromString(first.SerializeToString())
    other = FORMS[form](copy)
    if other is not None:
        found = absint.diff(first, other)
        assert found.verdict == "same", str(found)


@pytest.mark.parametrize("evidence", [None, "none"])
def test_only_sizes_of_0_may_tell_forms_apart(evidence: Evidence | None) -> None:
    """A pool takes no empty axis, and gives one element for an empty batch."""
    first, second = model(POOLED), model(SLICED)
    found = absint.diff(first, second, evidence=evidence)
    assert found.verdict == "changed"
    assert str(found).count(", and only where a size is 0") == 2
    (unmet,), (output,) = found.contract.widened, found.outputs.items
    assert (unmet.apart and unmet.apart.sizes, output.apart and output.apart.sizes) == (
        {"N": 1, "H": 0},
        {"N": 0, "H": 0},
    )
    assert absint.diff(first, second, assume=["H >= 1"], evidence=evidence).verdict == "same"


def test_what_has_no_rule_is_the_same_as_itself_alone() -> None:
    value = helper.make_tensor_value_info

    def custom(operator: str) -> ModelProto:
        nodes = [helper.make_node(operator, ["x"], ["y"], domain="my")]
        graph = helper.make_graph(nodes, "g", [value("x", 1, ["N"])], [value("y", 1, None)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("my", 1)])

    found = absint.diff(custom("A"), custom("A"))
    assert found.contract.agreement == "same"
    assert found.outputs.items[0].status == "not comparable"  # nobody knows if it gives the same twice
    found = absint.diff(custom("A"), custom("B"))
    assert (found.verdict, found.contract.agreement) == ("undecided", "undecided")
    assert "my::B: no rule says what it requires" in str(found)


def declared(*inputs: tuple[str, list[str | int]]) -> ModelProto:
    """A Concat of inputs with these dims, which the text format of onnx cannot write."""
    values = [helper.make_tensor_value_info(name, 1, dims) for name, dims in inputs]
    nodes = [helper.make_node("Concat", [name for name, _ in inputs], ["y"], axis=0)]
    graph = helper.make_graph(nodes, "g", values, [helper.make_tensor_value_info("y", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_symbols_are_expressions_over_those_of_the_other_model() -> None:
    first = declared(("x", ["N"]), ("z", ["2*N"]))
    found = absint.diff(first, declared(("x", ["M//2"]), ("z", ["M"])), evidence="none")
    assert found.symbols == {"M": "2*N"}
    assert found.contract.narrowed == ()
    assert [u.relation for u in found.contract.widened] == ["z[0] == 2*N"]  # x of 1 and z of 3
    assert absint.diff(first, declared(("x", ["K"]), ("z", ["K + K"]))).verdict == "same"
    even = absint.diff(declared(("x", ["N"])), declared(("x", ["2*K"])), evidence="none")
    assert even.symbols == {"K": "N//2"}
    (unmet,) = even.contract.narrowed
    assert unmet.apart is not None
    assert unmet.apart.sizes == {"N": 1}


def test_names_of_one_model_do_not_pass_for_those_of_the_other() -> None:
    """`N'` stands for a symbol of B without an axis in A, unless A has that name."""
    first = declared(("x", ["N'"]))
    second = declared(("x", ["N"]), ("z", ["N'"]))
    assert absint.diff(first, second).broken == ("input z is required",)
    assert "output y" in " ".join(absint.diff(first, second).undecided)


def test_assumptions_that_contradict_each_other_prove_nothing() -> None:
    first = model(SLICED)
    with pytest.raises(absint.UsageError, match="the assumptions contradict each other"):
        absint.diff(first, first, assume=["H >= 5", "H <= 2"])
    impossible = absint.diff(declared(("x", ["N"]), ("z", [3])), declared(("x", ["N"])), assume=["N == 2"])
    assert impossible.verdict == "changed"


def test_random_numbers_are_never_the_same() -> None:
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("RandomUniformLike", ["x"], ["r"]), helper.make_node("NonZero", ["r"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", 1, ["N"])], [value("y", 7, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    found = absint.diff(model, model)
    assert (found.verdict, found.outputs.items[0].status) == ("undecided", "not comparable")


def test_sizes_of_the_same_data_are_compared() -> None:
    """Values behind a NonZero of the same value are compared; behind another one, rounding may explain it."""
    first = model("(float[N] x) => (int64[] y) { f = NonZero(x)  y = Transpose(f) }")
    reshaped = "(float[N] x) => (int64[] y) <int64[2] to = {-1, 1}> { f = NonZero(x)  y = Reshape(f, to) }"
    assert absint.diff(first, model(reshaped)).verdict == "same"
    other = absint.diff(first, model("(float[N] x) => (int64[] y) { r = Relu(x)  f = NonZero(r)  y = Transpose(f) }"))
    (output,) = other.outputs.items
    assert (other.verdict, output.status) == ("undecided", "not comparable")
    assert "[2, 1] and [1, 1] in a run of both at N=2" in str(other)
