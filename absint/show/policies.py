"""The list of unification policies, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from absint.lattices.text.escapes import json_text
from absint.lattices.unify import POLICIES, UnificationPolicy
from absint.show.text import Line, aligned
from absint.version import VERSION

SCHEMA = "absint.policies/1"


def report(width: int) -> Iterator[Line]:
    """One line for each policy: its name, whether its claims hold in every run, and whose it is."""
    rows = [(policy.name, f"{_soundness(policy):7}  {policy.summary}") for policy in POLICIES.values()]
    yield from map(Line, aligned(rows, width))


def _soundness(policy: UnificationPolicy) -> str:
    return "sound" if policy.sound else "unsound"


def document() -> str:
    """The policies by name, in the order of the text."""
    policies = [{"name": policy.name, "sound": policy.sound, "summary": policy.summary} for policy in POLICIES.values()]
    return json_text({"schema": SCHEMA, "absint": VERSION, "policies": policies}, indent=1)


__all__ = ["SCHEMA", "document", "report"]
