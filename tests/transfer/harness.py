"""Soundness of one rule: the kit of `absint.testing`, under the names that the tests here use.

A `Case` is a single node. `run_case` applies the rule symbolically, and for each binding executes the node (onnxruntime
without optimisations, else onnx.reference) and checks:
- if the run succeeds: dtype, rank, every dim, every known element, every stated requirement;
- if the run fails: a rule declared complete must have stated a requirement that this binding breaks.
"""

from __future__ import annotations

import onnxruntime as ort

from absint.lattices.terms.expr import Dim, symbol
from absint.lattices.value import Value
from absint.runs.statements import Statement
from absint.testing import Arg, Binding, Case, apply_case, run_case, sizes
from absint.testing.cases import (
    abstract,
    build_model,
    check_outputs,
    claims_of,
    execute,
    hole_free,
    judge,
    reference,
    shape_text,
)

ort.set_default_logger_severity(4)

__all__ = [
    "Arg",
    "Binding",
    "Case",
    "abstract",
    "apply_case",
    "build_model",
    "check_dim",
    "check_outputs",
    "check_value",
    "execute",
    "hole_free",
    "reference",
    "run_case",
    "shape_text",
    "sizes",
    "symbol",
]


def check_value(where: str, value: Value, actual: object, known: Binding) -> None:
    """Compare one abstract value with one concrete value."""
    judge(where, list(claims_of("value", value, actual)), known)


def check_dim(where: str, claim: Dim, actual: int, known: Binding) -> None:
    """Compare one dim with a number."""
    judge(where, [Statement("dim", "length", None, claim, actual)], known)
