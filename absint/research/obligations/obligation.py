"""An obligation: an SMT-LIB script that must have no model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["exact", "unique", "content", "necessary", "sufficient", "rejected"]
"""exact: the rule's size is the specified one. unique: only one size is as specified. content: an element that the rule
gives is the specified one. necessary: a legal node meets the rule's requirement. sufficient: a node that meets all
requirements of a complete rule is legal. rejected: the rule rejects the node just where the specification does."""


@dataclass(frozen=True)
class Obligation:
    """One obligation of a rule at one instance."""

    operator: str
    version: int
    instance: str
    kind: Kind
    claim: str
    """The claim in words: `output 0, axis 2 is H - 2`."""
    script: str
    """SMT-LIB 2 without `check-sat`. It has no model if the claim holds."""


@dataclass(frozen=True)
class Gap:
    """Something that a rule leaves open at an instance: an unknown size, a failure for which it has no condition."""

    operator: str
    version: int
    instance: str
    reason: str
