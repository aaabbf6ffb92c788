"""Sound symbolic shape analysis of ONNX models, by abstract interpretation to a fixpoint.

Start with `absint.analyze(model)`. For an analysis of your own, `Analysis` and `ForwardAnalysis` say what to write,
`absint.fixpoint` runs it, and `check_laws` tests a domain.

The way of a model through the rooms, each of which has its map in the docstring of its folder:

model, rules, program    an ONNX file as data, the rule of each operator, and one graph for all of the file's graphs
engine, shapes           any dataflow analysis over any graph; the shape analysis
solution                 what an analysis found
analyses, runs, queries, declared, costs, explain    questions about it; `api` has them as methods of `Result`
auditing, study          what authors, policies and other tools claim, held against it
testing                  for rules and domains of your own
commands, report         the command line, and what it prints

Below these stand lattices (the domains), transfer (the rules of operators) and solver (proofs).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from absint.version import VERSION

if TYPE_CHECKING:
    from absint.analyses.forward import ForwardAnalysis
    from absint.api import Result, analyze
    from absint.diagnostics import Diagnostic, Severity
    from absint.engine import Analysis, fixpoint
    from absint.errors import AbsintError, ModelError, UsageError
    from absint.lattices.dtype import DType
    from absint.lattices.lattice import Lattice
    from absint.lattices.laws import LawError, check_laws
    from absint.lattices.logic.relation import eq, ne
    from absint.lattices.shape import Shape
    from absint.lattices.terms.expr import Dim
    from absint.lattices.text import parse
    from absint.lattices.unify import POLICIES
    from absint.lattices.value import Tensor
    from absint.program.limits import LimitError
    from absint.queries.outcomes import Outcome
    from absint.shapes.memo.cache import purge
    from absint.shapes.profiling import Profile
    from absint.solver.prove import Verdict
    from absint.transfer.op import Op
    from absint.transfer.rule import Rule, RuleError, rule
    from absint.transfer.table import Table

    TABLE: Table

__version__ = VERSION

_HOMES = {
    "analyze": "absint.api",
    "Result": "absint.api",
    "Diagnostic": "absint.diagnostics",
    "Severity": "absint.diagnostics",
    "AbsintError": "absint.errors",
    "LimitError": "absint.program.limits",
    "ModelError": "absint.errors",
    "UsageError": "absint.errors",
    "DType": "absint.lattices.dtype",
    "Dim": "absint.lattices.terms.expr",
    "Shape": "absint.lattices.shape",
    "Tensor": "absint.lattices.value",
    "eq": "absint.lattices.logic.relation",
    "ne": "absint.lattices.logic.relation",
    "Outcome": "absint.queries.outcomes",
    "Profile": "absint.shapes.profiling",
    "purge": "absint.shapes.memo.cache",
    "Analysis": "absint.engine",
    "fixpoint": "absint.engine",
    "ForwardAnalysis": "absint.analyses.forward",
    "Lattice": "absint.lattices.lattice",
    "LawError": "absint.lattices.laws",
    "check_laws": "absint.lattices.laws",
    "Verdict": "absint.solver.prove",
    "parse": "absint.lattices.text",
    "POLICIES": "absint.lattices.unify",
    "Op": "absint.transfer.op",
    "Rule": "absint.transfer.rule",
    "RuleError": "absint.transfer.rule",
    "Table": "absint.transfer.table",
    "rule": "absint.transfer.rule",
}

__all__ = [
    "POLICIES",
    "TABLE",
    "AbsintError",
    "Analysis",
    "DType",
    "Diagnostic",
    "Dim",
    "ForwardAnalysis",
    "Lattice",
    "LawError",
    "LimitError",
    "ModelError",
    "Op",
    "Outcome",
    "Profile",
    "Result",
    "Rule",
    "RuleError",
    "Severity",
    "Shape",
    "Table",
    "Tensor",
    "UsageError",
    "Verdict",
    "analyze",
    "check_laws",
    "eq",
    "fixpoint",
    "ne",
    "parse",
    "purge",
    "rule",
]


def __getattr__(name: str) -> object:
    if name == "TABLE":
        from absint.transfer.families import shipped

        return shipped()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'absint' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
