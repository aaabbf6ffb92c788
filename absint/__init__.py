"""Sound symbolic shape analysis of ONNX models, by abstract interpretation to a fixpoint.

Start with `absint.analyze(model)`. For an analysis of your own, `Analysis` and `ForwardAnalysis` say what to write,
`absint.fixpoint.fixpoint` runs it, and `check_laws` tests a domain.

Modules: `load` and `lower` read a model into one graph, `fixpoint` iterates any analysis over any graph, `dataflow` is
for analyses of values, `shapes` is the shape analysis, `templates` what one application of a rule gives, `kernels` what
analyses share, `control`, `loops` and `scans` control flow, `rounds` what requirements teach, `api` the result.
`recording`, `proving`, `checking`, `boxes`, `contracts`, `classes` and `explain` answer what is asked of a result;
`comparing` and `running` hold it against real tensors; `commands` and `report` are the command line. The packages
`lattices`, `transfer` and `solver` beside this one hold the domains, the operators and the proofs.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from absint.api import Result, analyze
    from absint.dataflow import ForwardAnalysis
    from absint.diagnostics import Diagnostic, Severity
    from absint.errors import AbsintError, ModelError, UsageError
    from absint.fixpoint import Analysis
    from absint.kernels import purge
    from absint.limits import LimitError
    from absint.outcomes import Outcome
    from absint.profiling import Profile
    from lattices.dtype import DType
    from lattices.expr import Dim
    from lattices.lattice import Lattice
    from lattices.laws import LawError, check_laws
    from lattices.relation import eq, ne
    from lattices.shape import Shape
    from lattices.tensor import Tensor
    from lattices.text import parse
    from lattices.unify import POLICIES
    from solver.prove import Verdict
    from transfer.op import Op
    from transfer.rule import Rule, RuleError, transfer
    from transfer.table import Table

    TABLE: Table

__version__ = "0.1.0"

_HOMES = {
    "analyze": "absint.api",
    "Result": "absint.api",
    "Diagnostic": "absint.diagnostics",
    "Severity": "absint.diagnostics",
    "AbsintError": "absint.errors",
    "LimitError": "absint.limits",
    "ModelError": "absint.errors",
    "UsageError": "absint.errors",
    "DType": "lattices.dtype",
    "Dim": "lattices.expr",
    "Shape": "lattices.shape",
    "Tensor": "lattices.tensor",
    "eq": "lattices.relation",
    "ne": "lattices.relation",
    "Outcome": "absint.outcomes",
    "Profile": "absint.profiling",
    "purge": "absint.kernels",
    "Analysis": "absint.fixpoint",
    "ForwardAnalysis": "absint.dataflow",
    "Lattice": "lattices.lattice",
    "LawError": "lattices.laws",
    "check_laws": "lattices.laws",
    "Verdict": "solver.prove",
    "parse": "lattices.text",
    "POLICIES": "lattices.unify",
    "Op": "transfer.op",
    "Rule": "transfer.rule",
    "RuleError": "transfer.rule",
    "Table": "transfer.table",
    "transfer": "transfer.rule",
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
    "ne",
    "parse",
    "purge",
    "transfer",
]


def _check_siblings() -> None:
    """`solver` and `transfer` are common names: make sure that ours are the ones that import finds."""
    root = Path(__file__).resolve().parent.parent
    for name in ("lattices", "transfer", "solver"):
        spec = find_spec(name)
        origin = spec.origin if spec is not None else None
        if origin is None or Path(origin).resolve().parent != root / name:
            found = origin or "nothing that can be imported"
            raise ImportError(
                f"absint needs its own package {name!r} (at {root / name}), but {found} shadows it: "
                f"rename that file or folder, or start Python elsewhere"
            )


_check_siblings()


def __getattr__(name: str) -> object:
    if name == "TABLE":
        from transfer.table import shipped

        return shipped()
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'absint' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
