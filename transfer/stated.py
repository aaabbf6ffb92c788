"""What applying a rule gives: statements, possible failures, `Applied`; errors about a node, RuleError about a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from absint.lattices.logic.relation import FALSE, Relation
from absint.lattices.records import NamedTuple
from absint.lattices.terms.dim import Dim
from absint.lattices.value import Value


class Statement(NamedTuple):
    """A relation about a node, with its reason for messages."""

    relation: Relation
    reason: str
    role: str
    """`required` (the node fails without it), `defined` (holds of a value it computes), `assumed` (numeric premise), or
    `claimed` (assumed by an unsound policy; no constraint)."""


class PossibleFailure(NamedTuple):
    """The node may fail for this reason unless a relation holds; a run that succeeds does not imply the relation."""

    reason: str
    unless: Relation = FALSE
    at_load: bool = False
    """Kernels run the node, but type inference refuses it if it sees the shapes; see `absint.model.inference`."""

    @property
    def is_open(self) -> bool:
        """No relation rules it out."""
        return self.unless is FALSE


class Within(NamedTuple):
    """Bounds of every element of a tensor of integers or truths, in every run; None for none."""

    least: Dim | None
    most: Dim | None


class RejectedError(Exception):
    """The node cannot run with these inputs; with a diagnostic code, no runtime loads a model with it."""

    def __init__(self, reason: str, code: str = "") -> None:
        super().__init__(reason)
        self.code = code


class BadNodeError(Exception):
    """The node is malformed: a missing input, an attribute of the wrong type."""


class Applied(NamedTuple):
    """The result of one application of a rule."""

    outputs: tuple[Value, ...]
    statements: tuple[Statement, ...]
    possible_failures: tuple[PossibleFailure, ...]
    notes: tuple[str, ...]
    rejected: str | None
    refusal: str = ""
    """The diagnostic code of a node that no runtime loads; empty otherwise."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why kernels may fail whatever the sizes are."""
        return tuple(f.reason for f in self.possible_failures if f.is_open and not f.at_load)


class RuleError(ValueError):
    """A rule is declared or written wrongly. The message says in one line what it did, and what to do instead."""


class Signature(Protocol):
    """The part of a rule that an `Op` reads."""

    @property
    def names(self) -> tuple[str, ...]:
        """The operators of the rule."""

    @property
    def domain(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def outputs(self) -> tuple[str, ...]: ...
    @property
    def places(self) -> Mapping[str, int]:
        """The index of each input by name."""

    @property
    def origin(self) -> str:
        """The distribution or schema that provides the rule; empty for a rule of this package."""


def listed(formals: Sequence[str]) -> str:
    """Formal names, for messages."""
    return ", ".join(formals) or "none"
