"""A conformance kit for rules: compare the claims of a rule with real runs, in the tests of those who write rules.

    check_rule   all that a rule must obey, over a list of cases
    Case Arg     a node, its symbolic inputs, the sizes to try it at; `sizes` makes every combination
    run_case     one case of a table, against onnxruntime or onnx.reference
    apply_case   the answer of a rule to a case, without a run

`cases` describes nodes, `runs` executes them, `checks` holds claims against a run,
`elements` makes inputs whose elements the rule knows, `laws` needs no run.
onnxruntime is loaded only where it runs a case: `pip install 'absint[run]'`.
"""

from __future__ import annotations

from absint.testing.cases import Arg, Binding, Case, sizes
from absint.testing.rules import apply_case, check_rule, run_case

__all__ = ["Arg", "Binding", "Case", "apply_case", "check_rule", "run_case", "sizes"]
