"""Types of onnxruntime's own operators: the table is what it registers, and it refuses what the table forbids."""

from __future__ import annotations

import random
from typing import Any

import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as state
import pytest
from onnx import TypeProto, helper

import absint
from absint.lattices.value import SequenceOf, SparseTensor, Tensor
from absint.model import schemas
from absint.model.signatures import Allowed, Signature, parse_type
from absint.questions.sizes.outcomes import Outcome
from absint.transfer.contrib.type_table import GROUPS, TABLE
from absint.transfer.families import shipped
from absint.transfer.rule import Rule
from tests.absint.model.typing.mutations import NAMES
from tests.absint.model.typing.runtime import refusal

OWN = ("com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc")
ONNX = {(s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history() if not s.domain}
REGISTERED: dict[tuple[str, str, int], Any] = {
    (s.domain, s.name, s.since_version): s
    for s in state.get_all_operator_schema()
    if not s.deprecated and (s.domain in OWN or (not s.domain and (s.name, s.since_version) not in ONNX))
}


def found(domain: str, name: str, version: int) -> tuple[Rule, Signature]:
    rule = shipped().lookup(domain, name, version)
    assert rule is not None
    signature = schemas.signature(domain, name, version, rule)
    assert signature is not None
    return rule, signature


def words(allowed: Allowed) -> set[str]:
    """The types as schemas write them."""
    others = {f"seq(tensor({o.element.dtype.name.lower()}))" for o in allowed.others if isinstance(o, SequenceOf)}
    others |= {f"sparse_tensor({o.dtype.name.lower()})" for o in allowed.others if isinstance(o, SparseTensor)}
    assert len(others) == len(allowed.others)
    return others | {f"tensor({dtype.name.lower()})" for dtype in allowed.elements}


@pytest.mark.parametrize("domain", ["", *OWN])
def test_the_table_is_what_onnxruntime_registers(domain: str) -> None:
    compared = 0
    for (of, name, version), schema in REGISTERED.items():
        if of == domain and shipped().lookup(domain, name, version) is not None:
            _, signature = found(domain, name, version)
            pairs = [*zip(signature.inputs, schema.inputs, strict=True)]
            for formal, formal_of_runtime in pairs:
                assert words(formal.allowed) == set(formal_of_runtime.types), f"{name} {formal.name}"
            for other, a in pairs:
                same = ["(" not in a.typeStr and b.typeStr == a.typeStr and b.isHomogeneous for _, b in pairs]
                mine = [bool(other.variable) and formal.variable == other.variable for formal, _ in pairs]
                assert mine == same or (not other.variable and sum(same) <= 1), f"{name} {other.name}"
            for formal, formal_of_runtime in zip(signature.outputs, schema.outputs, strict=True):
                assert words(formal.allowed) >= set(formal_of_runtime.types), f"{name} {formal.name}"
            if name in TABLE.get(domain, {}) and not signature.repeats_output:
                assert signature.least_outputs == schema.min_output, name
            compared += 1
    assert compared >= 5


def test_too_few_outputs_are_refused() -> None:
    """onnxruntime counts them as it loads a model."""
    node = helper.make_node("CausalConvWithState", ["x", "w"], ["y"], domain="com.microsoft")
    inputs = [helper.make_tensor_value_info(n, 1, dims) for n, dims in (("x", [2, 6, 3]), ("w", [6, 1, 2]))]
    graph = helper.make_graph([node], "few", inputs, [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    few = helper.make_model(graph, opset_imports=imports, ir_version=10)
    assert "output size 1 not in range" in (refusal(few) or "")
    assert absint.analyze(few).check({}).outcome is Outcome.ILLEGAL


def test_every_line_belongs_to_a_rule() -> None:
    for domain, lines in TABLE.items():
        for name in lines:
            assert shipped().lookup(domain, name, 1) is not None, name
    assert all(GROUPS.values())


def type_of(allowed: Allowed, choose: random.Random) -> TypeProto:
    """A type that is allowed: float if it may be."""
    others = sorted(words(allowed), key=lambda text: (text != "tensor(float)", text))
    value = parse_type(others[0])
    if isinstance(value, SparseTensor):
        return helper.make_sparse_tensor_type_proto(value.dtype.value, None)
    if isinstance(value, SequenceOf):
        assert isinstance(value.element, Tensor)
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(value.element.dtype.value, None))
    assert isinstance(value, Tensor)
    return helper.make_tensor_type_proto(value.dtype.value, None)


def model(domain: str, name: str, version: int, types: list[TypeProto]) -> onnx.ModelProto:
    """A node of the operator with every input that it can have."""
    inputs = [helper.make_value_info(f"i{at}", proto) for at, proto in enumerate(types)]
    outputs = [f"o{at}" for at in range(len(REGISTERED[domain, name, version].outputs))]
    node = helper.make_node(name, [i.name for i in inputs], outputs, domain=domain)
    graph = helper.make_graph([node], "own", inputs, [onnx.ValueInfoProto(name=name) for name in outputs])
    before_onnx = min((since for other, since in ONNX if other == name), default=10) - 1
    imports = [helper.make_opsetid("", min(9, before_onnx) if not domain else 17)]
    if domain:
        imports.append(helper.make_opsetid(domain, version))
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


LATEST = {(domain, name): version for domain, name, version in sorted(REGISTERED)}


@pytest.mark.parametrize("domain", ["", *OWN])
def test_a_type_that_is_forbidden_is_refused_and_told(domain: str) -> None:
    choose, count = random.Random(14), 0
    for (of, name), version in LATEST.items():
        if of != domain or shipped().lookup(domain, name, version) is None:
            continue
        _, signature = found(domain, name, version)
        for at, formal in enumerate(signature.inputs):
            types = [type_of(f.allowed, choose) for f in signature.inputs]
            wrong = [number for number, text in NAMES.items() if f"tensor({text})" not in words(formal.allowed)]
            types[at] = helper.make_tensor_type_proto(choose.choice(wrong), None)
            made = model(domain, name, version, types)
            errors = [str(d) for d in absint.analyze(made, refine=False).diagnostics if d.code == "ill-typed"]
            assert any(f"{name} takes" in e or f"{signature.operator} takes" in e for e in errors), f"{name} {at}"
            text = refusal(made)
            assert text, f"{name} {at}"
            count += "Type Error" in text
    assert count >= 5


def test_types_that_must_agree() -> None:
    types = [helper.make_tensor_type_proto(dtype, ["N"]) for dtype in (1, 10)]
    made = model("com.microsoft", "BiasGelu", 1, types)
    assert refusal(made)
    assert [str(d) for d in absint.analyze(made).diagnostics] == [
        'error: com.microsoft::BiasGelu #0 (output "o0"): inputs A and B must share one element type, found FLOAT and '
        "FLOAT16 [ill-typed]"
    ]
