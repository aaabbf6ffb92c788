"""Sound symbolic shape analysis of ONNX models, by abstract interpretation to a fixpoint.

Start with `absint.analyze(model)`, which gives a `Result`. For an analysis of your own, `ForwardAnalysis`, `Analysis`
or `GraphAnalysis` say what to write, `fixpoint` runs it, and `check_laws` tests a domain.

The way of a model through the rooms, each of which has its map in the docstring of its folder:

model, program       an ONNX file as data, and one graph for all of the file's graphs, with the rule of each operator
engine, shapes       any dataflow analysis over any graph; the shape analysis
solution             what an analysis found
analyses, runs       other analyses of values; real runs beside them
questions            sizes, proofs, certificates, claims, costs, explanations; methods of `result.Result`
jobs                 a model written anew, profiles, several models side by side, lint, audits of others' claims
show, commands       what is printed, and the command line
testing, research    for rules and domains of your own; the specification of operators, studies of many models

Below these stand lattices (the domains), transfer (the rules of operators) and solver (proofs).
"""

from __future__ import annotations

from os import path
from typing import TYPE_CHECKING

from absint.packages import homes_of, lazily
from absint.version import VERSION

if not path.isdir(path.join(path.dirname(__file__), "lattices")):
    raise ImportError(
        "absint/lattices must be a link to the folder ../lattices, and this checkout has no symbolic links: "
        "run `git config core.symlinks true` and `git checkout -- absint`, or install a wheel"
    )

if TYPE_CHECKING:
    from absint.analyses.arithmetic import ElementAnalysis as ElementAnalysis
    from absint.analyses.backward import BackwardAnalysis as BackwardAnalysis
    from absint.analyses.devices import Devices as Devices
    from absint.analyses.forward import ForwardAnalysis as ForwardAnalysis, on as on
    from absint.analyses.queries import (
        ElementBounds as ElementBounds,
        Query as Query,
        Reachable as Reachable,
        ShapeOf as ShapeOf,
        TripCount as TripCount,
    )
    from absint.analyses.ranges import RangeFinding as RangeFinding, Ranges as Ranges, ValueRanges as ValueRanges
    from absint.api import analyze as analyze, dynamize as dynamize, freeze as freeze
    from absint.diagnostics import Diagnostic as Diagnostic, Severity as Severity
    from absint.engine import (
        Analysis as Analysis,
        GraphAnalysis as GraphAnalysis,
        IterationPolicy as IterationPolicy,
        fixpoint as fixpoint,
    )
    from absint.errors import AbsintError as AbsintError, ModelError as ModelError, UsageError as UsageError
    from absint.jobs import auditing as auditing
    from absint.jobs.auditing import Audit as Audit
    from absint.jobs.copies.annotate import Annotated as Annotated
    from absint.jobs.copies.saving import AnnotatedFile as AnnotatedFile
    from absint.jobs.diffing.comparison import Diff as Diff, diff as diff
    from absint.jobs.dynamizing.dynamize import Dynamized as Dynamized
    from absint.jobs.freezing.dynamic import Fewest as Fewest
    from absint.jobs.freezing.freeze import Frozen as Frozen
    from absint.jobs.freezing.sizes import IllegalSizesError as IllegalSizesError
    from absint.jobs.linting import FileReport as FileReport, Finding as Finding, LintResult as LintResult
    from absint.jobs.linting.lint import lint as lint
    from absint.jobs.profiles.profile import Profile as Profile
    from absint.jobs.simplifying.simplify import Simplified as Simplified
    from absint.lattices.dtype import DType as DType
    from absint.lattices.lattice import Lattice as Lattice
    from absint.lattices.laws import LawError as LawError, check_laws as check_laws
    from absint.lattices.logic.relation import eq as eq, ne as ne
    from absint.lattices.shape import Shape as Shape
    from absint.lattices.terms.expr import Dim as Dim
    from absint.lattices.terms.normal import maximum as maximum, minimum as minimum
    from absint.lattices.text import parse as parse
    from absint.lattices.unify import POLICIES as POLICIES
    from absint.lattices.value import Tensor as Tensor
    from absint.program.limits import LimitError as LimitError
    from absint.questions.certificates.certificate import Certificate as Certificate
    from absint.questions.costs.cost import Cost as Cost
    from absint.questions.costs.memory import Memory as Memory
    from absint.questions.explain.explanation import Explanation as Explanation
    from absint.questions.explain.fresh import FreshSymbol as FreshSymbol
    from absint.questions.proofs.equivalence import AxisPlace as AxisPlace, Equalities as Equalities
    from absint.questions.proofs.proof import Proof as Proof, Verdict as Verdict
    from absint.questions.rows.answer import Rows as Rows
    from absint.questions.sizes.contracts import LegalSamples as LegalSamples, SymbolFacts as SymbolFacts
    from absint.questions.sizes.neighbours import Nearest as Nearest
    from absint.questions.sizes.outcomes import Check as Check, Outcome as Outcome, RangeCheck as RangeCheck
    from absint.result import Result as Result
    from absint.runs.comparison import Comparison as Comparison
    from absint.shapes.memo.cache import purge as purge
    from absint.shapes.timings import Timings as Timings
    from absint.solver.constraints import Constraint as Constraint, ConstraintSet as ConstraintSet
    from absint.solver.contracts.contract import Contract as Contract
    from absint.transfer.op import Op as Op
    from absint.transfer.rule import Rule as Rule, Table as Table, rule as rule
    from absint.transfer.stated import RuleError as RuleError

    TABLE: Table

__version__ = VERSION

_HOMES = homes_of("""
absint.analyses.arithmetic: ElementAnalysis
absint.analyses.backward: BackwardAnalysis
absint.analyses.devices: Devices
absint.analyses.forward: ForwardAnalysis on
absint.analyses.queries: ElementBounds Query Reachable ShapeOf TripCount
absint.analyses.ranges: RangeFinding Ranges ValueRanges
absint.api: analyze dynamize freeze
absint.diagnostics: Diagnostic Severity
absint.engine: Analysis GraphAnalysis IterationPolicy fixpoint
absint.errors: AbsintError ModelError UsageError
absint.jobs: auditing
absint.jobs.auditing: Audit
absint.jobs.copies.annotate: Annotated
absint.jobs.copies.saving: AnnotatedFile
absint.jobs.diffing.comparison: Diff diff
absint.jobs.dynamizing.dynamize: Dynamized
absint.jobs.freezing.dynamic: Fewest
absint.jobs.freezing.freeze: Frozen
absint.jobs.freezing.sizes: IllegalSizesError
absint.jobs.linting: FileReport Finding LintResult
absint.jobs.linting.lint: lint
absint.jobs.profiles.profile: Profile
absint.jobs.simplifying.simplify: Simplified
absint.lattices.dtype: DType
absint.lattices.lattice: Lattice
absint.lattices.laws: LawError check_laws
absint.lattices.logic.relation: eq ne
absint.lattices.shape: Shape
absint.lattices.terms.expr: Dim
absint.lattices.terms.normal: maximum minimum
absint.lattices.text: parse
absint.lattices.unify: POLICIES
absint.lattices.value: Tensor
absint.program.limits: LimitError
absint.questions.certificates.certificate: Certificate
absint.questions.costs.cost: Cost
absint.questions.costs.memory: Memory
absint.questions.explain.explanation: Explanation
absint.questions.explain.fresh: FreshSymbol
absint.questions.proofs.equivalence: AxisPlace Equalities
absint.questions.proofs.proof: Proof Verdict
absint.questions.rows.answer: Rows
absint.questions.sizes.contracts: LegalSamples SymbolFacts
absint.questions.sizes.neighbours: Nearest
absint.questions.sizes.outcomes: Check Outcome RangeCheck
absint.result: Result
absint.runs.comparison: Comparison
absint.shapes.memo.cache: purge
absint.shapes.timings: Timings
absint.solver.constraints: Constraint ConstraintSet
absint.solver.contracts.contract: Contract
absint.transfer.op: Op
absint.transfer.rule: Rule Table rule
absint.transfer.stated: RuleError
""")
_imported = lazily(globals(), _HOMES)

__all__ = sorted([*_HOMES, "TABLE"])


def __getattr__(name: str) -> object:
    if name == "TABLE":
        from absint.transfer.families import shipped

        return shipped()
    return _imported(name)


def __dir__() -> list[str]:
    return sorted(__all__)
