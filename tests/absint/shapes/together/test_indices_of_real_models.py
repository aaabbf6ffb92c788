"""examples/index_bounds.py on real models: no run leaves its bounds, and what it says to run runs."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import absint
from absint import ForwardAnalysis, Outcome, Result, UsageError
from absint.lattices.domains import INTERVALS, Interval
from absint.runs.run import RunError, feeds_for, run
from tests.real_models import REAL

EXAMPLE = Path(__file__).parents[4] / "examples" / "index_bounds.py"


def bounded() -> ForwardAnalysis[Interval]:
    example: dict[str, Any] = runpy.run_path(str(EXAMPLE), run_name="example")
    analysis: ForwardAnalysis[Interval] = example["IndexBounds"]()
    return analysis


def claims_of(result: Result, analysis: ForwardAnalysis[Interval]) -> dict[str, Interval]:
    """The bounds of integers in the main graph that say more than the type does."""
    found = result.found_by(analysis)
    computed = {name: result[name] for name in result.values if result.producer(name)[0] >= 0}
    dtypes = {name: value.dtype for name, value in computed.items() if isinstance(value, absint.Tensor)}
    return {
        name: found[name]
        for name, dtype in dtypes.items()
        if dtype.is_integer and found[name] != INTERVALS.held(INTERVALS.top, dtype)
    }


@pytest.mark.share(3)
@pytest.mark.parametrize("name", REAL)
def test_no_run_leaves_the_bounds(name: str) -> None:
    model, analysis = REAL[name], bounded()
    result = absint.analyze(model.path, with_=[analysis])
    claims = claims_of(result, analysis)
    held, failed = 0, []
    for kind, at in zip(("random", "ones"), model.truth["runs"][:2], strict=True):
        try:
            values = run(result, feeds_for(result, at["binding"], seed=0, values=kind), list(claims))
        except (RunError, UsageError) as error:
            failed.append((at["binding"], str(error)))
            continue
        for value in claims:
            numbers = np.asarray(values[value])
            if numbers.size:
                held += 1
                assert INTERVALS.allows(claims[value], int(numbers.min())), value
                assert INTERVALS.allows(claims[value], int(numbers.max())), value
    other_blocks = [error for _, error in failed if "NCHWc block-aligned" in error]  # of another processor's channels
    assert held or not claims or len(other_blocks) == 2
    for binding, error in failed:
        by_machine = "Failed to allocate" in error or error in other_blocks
        assert by_machine or result.check(binding).outcome is not Outcome.RUNS, error
