"""The share of exact dims in outputs of the node tests: constants, or functions of the input dims."""

from __future__ import annotations

from collections import Counter

import pytest

import absint
from absint.lattices.value import Tensor
from tests.soundness.models import NodeTest, Variant, node_tests

DATA_DEPENDENT = frozenset(
    """
    Compress ImageDecoder NonMaxSuppression NonZero StringNormalizer StringSplit Unique
    """.split()  # noqa: SIM905
)
"""Operators whose output sizes depend on the data."""


BROADCASTING = frozenset({"LinearAttention"})
"""Operators that onnxruntime runs as functions that broadcast what does not agree: without it, no size is known."""


def independent() -> list[NodeTest]:
    """The node tests whose sizes do not depend on data."""
    left_out = DATA_DEPENDENT | BROADCASTING
    return [t for t in node_tests().values() if not left_out & {name for _, name in t.operators}]


def exact_dims(test: NodeTest, dims: str) -> Counter[str]:
    """Dims of tensor outputs, `exact` or `open`; an unknown rank is one open dim. Shape inputs are constant."""
    result = absint.analyze(Variant(test, "constant", dims).model)
    counts: Counter[str] = Counter()
    for output in test.model.graph.output:
        value = result[output.name]
        if not isinstance(value, Tensor):
            continue
        if value.shape.is_top:
            counts["open"] += 1
        for dim in () if value.shape.is_top else value.shape:
            exact = not dim.is_unknown and dim.free_symbols <= set(result.symbols)
            counts["exact" if exact else "open"] += 1
    return counts


@pytest.mark.parametrize(("dims", "least"), [("concrete", 0.999), ("same", 0.985), ("distinct", 0.97)])
def test_share_of_exact_dims(dims: str, least: float) -> None:
    """`concrete`: every input size is given. `same`: a symbol for each size. `distinct`: a symbol for each dim."""
    counts = sum((exact_dims(test, dims) for test in independent()), Counter[str]())
    assert counts.total() > 5_000
    assert counts["exact"] / counts.total() >= least, counts
