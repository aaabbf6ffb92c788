"""Random nodes of fills, ramps and unknown parameters: no claim that a run contradicts. The hunt is in `fill_nodes`."""

from __future__ import annotations

import pytest

from absint import Op, Tensor, purge, rule
from absint.lattices.contents import Contents
from absint.lattices.ramp import ramp
from absint.lattices.shape import shape_of
from absint.lattices.terms.expr import const
from absint.transfer.families import shipped
from tests.soundness import fill_nodes
from tests.soundness.constant_moves import MOVES
from tests.soundness.fill_nodes import built, wrong

SEED = 800_000


@pytest.mark.share(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", sorted(MOVES))
def test_claims_hold_in_every_run(op: str) -> None:
    tried = 0
    for seed in range(SEED, SEED + 25):
        found = built(seed, op)
        ran, _, problems = wrong(found)
        assert not problems, f"seed {seed}: {found}: {problems[0]}"
        tried += ran
    assert tried or op in FOR_OTHER_TYPES


FOR_OTHER_TYPES = {"BitwiseNot", "CumProd", "BitCast"}
"""Operators of which onnxruntime has few kernels."""


@rule("Transpose", until=99, inputs="data", elements=True)
def keeps_steps(op: Op) -> Tensor:
    """False: the steps stay where they are, and all elements that are alike are 3."""
    x = op.tensor("data")
    shape = x.shape if x.shape.is_top else shape_of(x.shape.dims[::-1])
    ramps = ramp(x.ramps[0].base, [const(9)] * len(x.ramps[0].steps)) if len(x.ramps) == 1 else ()
    alike = x.contents is not None and x.contents.is_fill
    return Tensor(x.dtype, shape, Contents.fill(const(3)) if alike else None, ramps)


def test_a_wrong_fill_and_a_wrong_ramp_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = fill_nodes.analyze
    table = shipped().extended([keeps_steps])
    monkeypatch.setattr(fill_nodes, "analyze", lambda model: original(model, table=table))
    purge()
    found = [built(seed, "Transpose") for seed in range(SEED, SEED + 250)]
    assert {how for model in found if wrong(model)[2] for how in model.how[:1]} >= {"alike", "growing"}
