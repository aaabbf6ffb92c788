"""Signature: a rule as its nodes see it, without the function; and RuleError, which blames a rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


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
