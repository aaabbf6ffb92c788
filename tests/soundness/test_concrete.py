"""Fully concrete node models: absint answers wherever onnx does, and where the two differ a run says who is right."""

import pytest
from onnx import shape_inference

import absint
from absint.lattices.value import Tensor
from absint.transfer.families import shipped
from tests.soundness import limits
from tests.soundness.harness import missing_rules
from tests.soundness.models import NodeTest, Variant, node_tests
from tests.soundness.runs import Runner

SHARDS = 8

ONNX_IS_WRONG = {
    "test_stft": "the signal is real, so only half of the frequencies are given",
    "test_stft_with_window": "likewise",
}
"""Node tests in which onnx contradicts a run, and the truth."""

ONNX_KNOWS_MORE: dict[str, str] = {}
"""Node tests in which onnx gives a rank or size that absint leaves open, and why."""

Sizes = tuple[int | None, ...] | None


def concrete(test: NodeTest) -> Variant:
    """The node test with all its sizes as they are."""
    return Variant(test, "constant", "none")


def onnx_shapes(variant: Variant) -> dict[str, Sizes]:
    """Shapes inferred by onnx, with data propagation."""
    graph = shape_inference.infer_shapes(variant.model, data_prop=True).graph
    found: dict[str, Sizes] = {}
    for info in (*graph.value_info, *graph.output):
        tensor = info.type.tensor_type
        if info.type.HasField("tensor_type") and tensor.HasField("shape"):
            found[info.name] = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
    return found


def absint_shapes(variant: Variant) -> dict[str, Sizes]:
    """Shapes inferred by absint."""
    return {
        name: None if value.shape.rank is None else tuple(int(d) if d.is_concrete else None for d in value.shape)
        for name, value in absint.analyze(variant.model).values.items()
        if isinstance(value, Tensor)
    }


def compare(test: NodeTest) -> tuple[list[str], list[str], list[str]]:
    """Errors of absint, errors of onnx, and outputs on which absint is silent although onnx is right."""
    variant = concrete(test)
    ours, theirs = absint_shapes(variant), onnx_shapes(variant)
    wrong: list[str] = []
    theirs_wrong: list[str] = []
    silent: list[str] = []
    differing = [name for name, sizes in theirs.items() if sizes != ours.get(name)]
    if not differing:
        return wrong, theirs_wrong, silent
    ran = Runner(test, constant=True).run({item.name: item.data for item in test.inputs}).values or {}
    for name in differing:
        if name not in ran:
            continue
        truth, a, b = ran[name].shape, ours.get(name), theirs[name]
        text = f"{name}: ran {truth}, absint {a}, onnx {b}"
        if not fits(a, truth):
            wrong.append(text)
        if not fits(b, truth):
            theirs_wrong.append(text)
        elif known(b) > known(a):
            silent.append(text)
    return wrong, theirs_wrong, silent


def fits(claim: Sizes, truth: tuple[int, ...]) -> bool:
    """The claim is true of the sizes that ran."""
    return claim is None or (
        len(claim) == len(truth) and all(c in (None, t) for c, t in zip(claim, truth, strict=True))
    )


def known(claim: Sizes) -> int:
    """The number of claims: one for the rank, and one for each size."""
    return 0 if claim is None else 1 + sum(c is not None for c in claim)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_case_18_agrees_with_onnx_wherever_onnx_answers(shard: int) -> None:
    for name, test in list(node_tests().items())[shard::SHARDS]:
        if missing_rules(test, shipped()) or limits.is_untrusted(name):
            continue
        wrong, theirs_wrong, silent = compare(test)
        assert not wrong, f"{name}: {wrong}"
        assert bool(theirs_wrong) == (name in ONNX_IS_WRONG), f"{name}: {theirs_wrong}"
        assert bool(silent) == (name in ONNX_KNOWS_MORE), f"{name}: {silent}"
