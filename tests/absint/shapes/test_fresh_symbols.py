"""Fresh symbols: where each begins and why, and bounds that every run keeps."""

from __future__ import annotations

import json

import pytest
from onnx import TensorProto, helper

import absint
from absint.questions.explain.fresh import FreshSymbol
from absint.questions.proofs.proof import Verdict
from absint.show.document import document
from tests.absint.shapes.flows import FLOWS
from tests.models import floats, ints, model, node


def _told(name: str) -> list[str]:
    return [str(found) for found in absint.analyze(FLOWS[name]().model).fresh_symbols]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("if_by_data", "N <= _d1 <= 2*N: the branch that is taken, If #1"),
        ("if_with_sizes_born_in_a_branch", "0 <= _d0 <= 2*N: count(x), NonZero If#0/then_branch/#0"),
        ("if_with_sizes_born_in_a_branch", "0 <= _d1: the branch that is taken, If #0"),
        ("loop_doubles", "0 <= _d0: the number of the trip, from 0, Loop #0"),
        ("loop_doubles", "0 <= _d1: carried: its value at the start of one trip, Loop #0"),
        ("loop_doubles", "N <= _d2: after max(m, 0) trips, Loop #0"),
    ],
)
def test_causes_and_bounds(name: str, told: str) -> None:
    assert told in _told(name)


def test_each_cause_is_told_apart() -> None:
    nodes = [
        node("NonZero", ["x"], ["places"], name="nz"),
        node("Mystery", ["x"], ["m"], name="my", domain="my"),
        node("Shape", ["m"], ["sizes"], name="sh"),
        node("Slice", ["x", "from", "to"], ["part"], name="cut"),
    ]
    made = model(nodes, [floats("x", "N", 4), ints("from", None), ints("to", None)], ["places", "sizes", "part"])
    made.opset_import.append(helper.make_opsetid("my", 1))
    result = absint.analyze(made)
    found = {(fresh.node, fresh.cause): fresh for fresh in result.fresh_symbols}
    assert str(found["nz", "data"]) == "0 <= _d0 <= 4*N: count(x), NonZero nz"
    assert found["sh", "open"].why == "the rank of its input data is unknown"
    assert "unknown until a run\n  _d0" in str(result)


def test_what_an_operator_without_a_rule_gives() -> None:
    made = model([node("Mystery", ["x"], ["m"], domain="my")], [floats("x", "N")], [])
    made.opset_import.append(helper.make_opsetid("my", 1))
    made.graph.output.append(helper.make_tensor_value_info("m", TensorProto.INT64, None))
    assert absint.analyze(made).fresh_symbols == ()  # its rank is unknown: no size has a symbol


@pytest.mark.parametrize("name", FLOWS)
def test_every_bound_is_proved(name: str) -> None:
    result = absint.analyze(FLOWS[name]().model)
    main = {symbol for value in result.values.values() for symbol in _symbols(value)}
    for fresh in result.fresh_symbols:
        for relation in _relations(fresh):
            if fresh.name in main:
                assert result.prove(relation).verdict is Verdict.PROVED, (str(fresh), relation)


def _relations(fresh: FreshSymbol) -> list[str]:
    least = [] if fresh.least is None else [f"{fresh.name} >= {fresh.least}"]
    return [*least, *([] if fresh.most is None else [f"{fresh.name} <= {fresh.most}"])]


def _symbols(value: object) -> set[str]:
    shape = getattr(value, "shape", None)
    return set() if shape is None or shape.rank is None else {s for dim in shape for s in dim.free_symbols}


def test_the_document_has_all() -> None:
    result = absint.analyze(FLOWS["if_by_data"]().model)
    found = json.loads(document(result, {}, ()))["fresh_symbols"]
    assert [entry["name"] for entry in found] == [fresh.name for fresh in result.fresh_symbols]
    assert found[1] == {
        "name": "_d1", "cause": "branch", "why": "the branch that is taken", "node": "#1", "operator": "If", "path": "",
        "least": "N", "most": "2*N",
    }  # fmt: skip


def test_claims_of_a_policy_bound_nothing() -> None:
    result = absint.analyze(FLOWS["if_by_data"]().model, policy="fresh")
    assert all(fresh.most is None or fresh.most.is_concrete for fresh in result.fresh_symbols)
