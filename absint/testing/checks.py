"""Statements compared with the values of one run. A wrong one raises AssertionError, with the claim and the actual
value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from absint.lattices.logic.truth import NO
from absint.lattices.terms.expr import Dim
from absint.lattices.terms.kinds import HOLE_NAME
from absint.lattices.value import OptionalOf, Tensor, Top, Value
from absint.runs.arrays import Actual, read_actual
from absint.runs.shown_sizes import Sizes
from absint.runs.statements import Statement, Statements
from absint.testing.cases import Binding, Case
from absint.transfer.op import Applied


def check_outputs(case: Case, applied: Applied, binding: Binding, outputs: Sequence[object], given: str = "") -> None:
    """Compare all claims of an application of a rule with the outputs of a run. `given` goes into messages."""
    where = f"{case} at {dict(binding)}{given}"
    if applied.rejected is not None:
        raise AssertionError(f"{where}: rejected ({applied.rejected}) but it runs")
    pairs = zip(applied.outputs, outputs, strict=False)
    found = [
        claim for index, (value, actual) in enumerate(pairs) for claim in claims_of(f"output {index}", value, actual)
    ]
    known = judge(where, found, binding)
    for statement in applied.statements:
        if statement.relation.at(known) is NO:
            raise AssertionError(
                f"{where}: runs, but {statement.role} {statement.relation} ({statement.reason}) is false"
            )


def check_value(where: str, value: Value, actual: object, known: Binding) -> None:
    """Compare one abstract value with one concrete value."""
    judge(where, list(claims_of("value", value, actual)), known)


def check_dim(where: str, claim: Dim, actual: int, known: Binding) -> None:
    """Compare one dim with a number."""
    judge(where, [Statement("dim", "length", None, claim, actual)], known)


def claims_of(name: str, value: Value, actual: object) -> Iterator[Statement]:
    """Statements of an abstract value about a real one; none if the run did not give it."""
    if isinstance(value, Top) or (actual is None and not isinstance(value, OptionalOf)):
        return
    yield from Statements().of(name, value, _read(name, actual))


def _read(name: str, actual: object) -> Actual:
    if isinstance(actual, list):
        return [_read(f"{name}, item {number}", item) for number, item in enumerate(actual)]
    if isinstance(actual, (str, bytes)):
        actual = np.array(actual, dtype=object)
    return read_actual(name, actual)


def judge(where: str, claims: Sequence[Statement], binding: Binding) -> Mapping[str, int]:
    """The sizes of all symbols, those that the run shows included. Raises AssertionError for the first wrong claim."""
    found = Sizes()
    found.known.update(binding)
    found.places.update(dict.fromkeys(binding, "the binding"))
    found.learn(claims)
    for claim in claims:
        row = found.judge(claim)
        if not row.ok:
            raise AssertionError(hole_free(f"{where}, {row}"))
    return found.known


def shape_text(value: Value) -> str:
    """The shape as text, symbols of the node shown by their tag."""
    return hole_free(str(value.shape)) if isinstance(value, Tensor) else str(value)


def hole_free(text: str) -> str:
    """`%hole:nonzero` as `_nonzero`."""
    return text.replace(HOLE_NAME, "_").replace('"', "").replace("`", "")
