"""Random programs with branches and loops: claims of analyses of values hold in runs, forward and backward."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import absint
from tests.absint.shapes.together.bounds import Scalars
from tests.absint.shapes.together.execution import outputs_of
from tests.absint.shapes.together.needs import Needs
from tests.absint.shapes.together.programs import Programs

XS = (-7, -3, -1, 0, 1, 2, 4, 9)
YS = (-6, -1, 0, 3, 7)


@pytest.mark.parametrize("seed", range(24))
def test_bounds_hold_in_runs(seed: int) -> None:
    model = Programs(seed).model()
    analysis = Scalars()
    result = absint.analyze(model, with_=[analysis])
    result.verify()
    claims = result.found_by(analysis)
    feeds = [{"x": np.array(x), "y": np.array(y)} for x, y in product(XS, YS)]
    for arrays in outputs_of(model, feeds):
        for name, array in arrays.items():
            low, high = claims[name]
            assert array.size == 0 or (low <= array.min() and array.max() <= high), f"{name}: {claims[name]}, {array}"


@pytest.mark.parametrize("seed", range(100, 124))
def test_an_input_that_is_not_needed_changes_nothing(seed: int) -> None:
    model = Programs(seed).model()
    for output in (one.name for one in model.graph.output):
        analysis = Needs(output)
        needed = absint.analyze(model, with_=[analysis]).found_by(analysis)
        for free, values, other in (("x", XS, "y"), ("y", YS, "x")):
            if needed[free]:
                continue
            feeds = [{free: np.array(value), other: np.array(2)} for value in values]
            assert len({str(arrays[output]) for arrays in outputs_of(model, feeds)}) == 1, f"{output} depends on {free}"


def test_a_node_that_nothing_needs_may_read_what_is_computed_later() -> None:
    """In a loop that is unrolled; the order of the engine is that of the values that are needed."""
    absint.analyze(Programs(1296).model()).verify()
