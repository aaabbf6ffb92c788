"""Statements of a rule about a node, errors that say that there is no run, and the result of one application."""

from __future__ import annotations

from typing import NamedTuple

from absint.lattices.logic.relation import Relation
from absint.lattices.value import Value


class Statement(NamedTuple):
    """A relation with the reason why the operator states it."""

    relation: Relation
    reason: str
    role: str
    """`required` (the node fails without it), `defined` (holds of a value it computes), `assumed` (numeric premise), or
    `claimed` (an unsound policy takes it for granted; no constraint)."""


class Caveat(NamedTuple):
    """A node may fail, for the reason, where the relation does not hold. That it runs does not show that it holds."""

    relation: Relation
    reason: str


class RejectedError(Exception):
    """The node cannot run with these inputs."""


class RefusedError(RejectedError):
    """No runtime loads a model with this node."""

    def __init__(self, reason: str, code: str) -> None:
        super().__init__(reason)
        self.code = code


class BadNodeError(Exception):
    """The node is malformed: a missing input, an attribute of the wrong type."""


class Applied(NamedTuple):
    """The result of one application of a rule."""

    outputs: tuple[Value, ...]
    statements: tuple[Statement, ...]
    possible_failures: tuple[str, ...]
    notes: tuple[str, ...]
    rejected: str | None
    caveats: tuple[Caveat, ...] = ()
    refusal: str = ""
    """Why no runtime loads it, as the code of a diagnostic; empty if one may."""
    load_risks: tuple[str, ...] = ()


__all__ = ["Applied", "BadNodeError", "Caveat", "RefusedError", "RejectedError", "Statement"]
