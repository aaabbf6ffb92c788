"""Conditions that the analysis invents have printed names wherever a set mentions them: it can be exported."""

from __future__ import annotations

import pytest
from onnx import parser

import absint
from absint.solver import export

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
BRANCHES = """Z = If(c)<then_branch = t () => (A) { A = Div(X, X) }, else_branch = e () => (B) { B = Neg(X) }> }"""
CONDITIONS = {
    "of a type that is none": f"g (float c, int64[N] X) => (Z) {{ {BRANCHES}",
    "of two elements": f"g (bool[2] c, int64[N] X) => (Z) {{ {BRANCHES}",
    "of no known rank": f"g (bool[N] d, int64[N] X) => (Z) {{ c = Compress(d, d) {BRANCHES}",
    "that data decide": f"g (bool c, int64[N] X) => (Z) {{ {BRANCHES}",
    "in a loop": """g (float c, int64[N] X, int64 T) => (Z) {
        k = Constant<value = bool {1}>()
        Z = Loop(T, k, X)<body = b (int64 j, bool r, v) => (bool s, w) { s = Identity(r)
            w = If(c)<then_branch = t () => (A) { A = Div(v, v) }, else_branch = e () => (B) { B = Neg(v) }> }> }""",
}


@pytest.mark.parametrize("text", CONDITIONS.values(), ids=CONDITIONS)
@pytest.mark.parametrize("form", ["json", "smtlib", "metadata"])
def test_a_guard_of_a_possible_failure_has_a_text(text: str, form: str) -> None:
    constraints = absint.analyze(parser.parse_model(HEADER + text)).constraints
    assert constraints.possible_failures
    assert "%" not in "".join(map(str, [*constraints, *(failure.guard for failure in constraints.possible_failures)]))
    assert getattr(export, f"from_{form}")(getattr(export, f"to_{form}")(constraints)) == constraints
    assert "def check(" in export.to_python(constraints)
