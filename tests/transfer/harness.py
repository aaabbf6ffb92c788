"""Soundness of one rule: the kit of `absint.testing`, under the names that the tests here use.

A `Case` is a single node. `run_case` applies the rule symbolically, and for each binding executes the node (onnxruntime
without optimisations, else onnx.reference) and checks:
- if the run succeeds: dtype, rank, every dim, every known element, every stated requirement;
- if the run fails: a rule declared complete must have stated a requirement that this binding breaks.
"""

from __future__ import annotations

import onnxruntime as ort

from absint.lattices.terms.expr import symbol
from absint.testing import Arg, Binding, Case, apply_case, run_case, sizes
from absint.testing.cases import (
    abstract,
    build_model,
    check_dim,
    check_outputs,
    check_value,
    execute,
    hole_free,
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
