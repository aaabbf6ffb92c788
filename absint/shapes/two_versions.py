"""Nodes in a function that imports another version of their operator than the model does.

The documents exclude such a model where the two versions differ. onnx.reference takes the function's version;
onnxruntime infers types by the function's, and runs the model's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from absint.lattices.dtype import DTYPES
from absint.lattices.records import NamedTuple
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.value import Tensor, joined
from absint.program.nodes import Operation
from absint.shapes.summaries import RuleSummary, name_unknowns
from absint.transfer.semantics import RUNTIME, Semantics
from absint.transfer.stated import PossibleFailure, Statement


def of_both(operation: Operation, own: RuleSummary, other: RuleSummary, semantics: Semantics) -> RuleSummary:
    """The summary of an operation, and that of its other version, as one.

    A claim holds of both versions; by the semantics of onnxruntime, of the model's. A node may fail if either does.
    """
    conditional = own.conditional or other.conditional
    own, other = own._replace(conditional=conditional), other._replace(conditional=conditional)
    runs_own = semantics == RUNTIME
    if own == other and not any(failure.at_load for failure in own.possible_failures):
        return own
    assert operation.other is not None
    here = _Reading(own, operation.version, _MODEL if runs_own else _FUNCTION)
    there = _Reading(other, operation.other.version, _FUNCTION if runs_own else _MODEL)
    if runs_own and own.rejected is not None:
        return own
    if own.rejected is not None and other.rejected is not None:
        return other if own.refusal else own
    if other.rejected is not None:
        return here.may_fail([there.says(other.rejected)])
    if own.rejected is not None:
        return there.may_fail([here.says(own.rejected)])
    if not runs_own and operation.other.possible_failures:  # onnxruntime refuses it
        return here.may_fail(map(there.says, operation.other.possible_failures))
    return _runs_as_either(here, there, runs_own)


_FUNCTION: Final = "the function imports"
_MODEL: Final = "the model imports and onnxruntime takes"


class _Reading(NamedTuple):
    """The summary of one of the two versions."""

    summary: RuleSummary
    version: int
    importer: str

    @property
    def place(self) -> str:
        """The version in words."""
        return f"in version {self.version}, which {self.importer}"

    def says(self, reason: str) -> str:
        """A reason that only this version gives."""
        return f"{reason} ({self.place})"

    def may_fail(self, reasons: Collection[str] | Iterator[str]) -> RuleSummary:
        """The summary; the other version may fail for these reasons."""
        failures = *self.summary.possible_failures, *map(PossibleFailure, reasons)
        return self.summary._replace(possible_failures=failures)

    def beyond(self, other: _Reading) -> Iterator[Statement]:
        """What this version states and the other does not."""
        known = {(s.relation, s.role) for s in other.summary.statements}
        return (s for s in self.summary.statements if (s.relation, s.role) not in known)

    def failures(self, other: _Reading) -> Iterator[PossibleFailure]:
        """What may fail in this version and not in the other, as where it requires more."""
        for failure in self.summary.possible_failures:
            if failure.at_load or failure not in other.summary.possible_failures:
                yield PossibleFailure(self.says(failure.reason)) if failure.is_open else failure
        for statement in self.beyond(other):
            if statement.role == "required":
                yield PossibleFailure(self.says(statement.reason), statement.relation)

    def clashes(self, other: _Reading) -> Iterator[PossibleFailure]:
        """Outputs of two types, which onnxruntime refuses."""
        for at, (one, two) in enumerate(zip(self.summary.outputs, other.summary.outputs, strict=True)):
            types = [value.dtype for value in (one, two) if isinstance(value, Tensor)]
            if len(types) == 2 and DTYPES.meet(*types) is DTYPES.bottom:
                yield PossibleFailure(f"output {at} has type {types[0]} {self.place}, and {types[1]} {other.place}")


def _runs_as_either(here: _Reading, there: _Reading, runs_own: bool) -> RuleSummary:
    """The summary of a node that runs in one of two versions, or if `runs_own` in the first one."""
    own, other = here.summary, there.summary
    if runs_own:
        return _named(own, [*own.possible_failures, *there.failures(here), *here.clashes(there)])
    outputs = tuple(map(joined, own.outputs, other.outputs))
    only = list(here.beyond(there))
    statements = [s for s in own.statements if s not in only or s.role == "assumed"]
    statements += (s for s in there.beyond(here) if s.role == "assumed")
    failures = [f for f in own.possible_failures if f in other.possible_failures and not f.at_load]
    failures += [*here.failures(there), *there.failures(here), *here.clashes(there)]
    notes = dict.fromkeys((*own.notes, *other.notes))
    if outputs != own.outputs or outputs != other.outputs:
        notes[f"its outputs {here.place}, differ from those {there.place}: what differs is unknown"] = None
    stated = own._replace(outputs=outputs, statements=tuple(statements), notes=tuple(notes))
    return _named(stated, failures)


def _named(summary: RuleSummary, failures: Collection[PossibleFailure]) -> RuleSummary:
    """The summary with its unknowns named, and these failures; a relation about an unknown rules none out."""
    unknown = [any(symbol.kind is SymbolKind.HOLE for symbol in f.unless.symbols) for f in failures]
    plain = [PossibleFailure(f.reason) if is_unknown else f for f, is_unknown in zip(failures, unknown, strict=True)]
    return name_unknowns(summary._replace(possible_failures=tuple(dict.fromkeys(plain))))
