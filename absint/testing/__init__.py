"""Kits for tests: assertions about models, and a conformance kit for rules.

    assert_shapes         values have these shapes in every run
    assert_legal          these sizes are legal
    assert_same_contract  two models have the same legal sizes and the same shapes of outputs

The kit for rules compares the claims of a rule with real runs, in the tests of those who write rules:

    check_rule   all that a rule must obey, over a list of cases
    Case Arg     a node, its symbolic inputs, the sizes to try it at; `sizes` makes every combination
    run_case     one case of a table, against onnxruntime or onnx.reference
    apply_case   the answer of a rule to a case, without a run

The kit for analyses of values (`absint.ForwardAnalysis`) compares their claims with the values of real runs:

    check_analysis   claims, operators and domain of an analysis, on models

`assertions` is about models. `cases` describes nodes, executes them and holds claims against the run. `rules` checks
rules, with inputs too whose elements the rule knows, `analyses` analyses, on models that are run with all their
values (`trips` is Loop for onnx.reference).
onnxruntime is loaded only where it runs a case: `pip install 'absint[run]'`.
"""

from __future__ import annotations

from absint.testing.analyses import AnalysisError, check_analysis
from absint.testing.assertions import assert_legal, assert_same_contract, assert_shapes
from absint.testing.cases import Arg, Binding, Case, sizes
from absint.testing.rules import apply_case, check_rule, run_case

__all__ = [
    "AnalysisError", "Arg", "Binding", "Case", "apply_case", "assert_legal", "assert_same_contract", "assert_shapes",
    "check_analysis", "check_rule", "run_case", "sizes",
]  # fmt: skip
