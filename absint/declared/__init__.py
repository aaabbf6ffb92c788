"""Declared types and shapes held against the inferred ones: which are false at some legal size, and at which.

reading.py   the declarations of all graphs, and what they claim: each distinct claim is read once
claims.py    a claim as relations between dims, with the path to the value
trips.py     what a loop carries in its first two trips
legal.py     legal sizes at which relations are false, found without a solver
findings.py  the false declarations, and their diagnostics
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from absint.declared.findings import FalseDeclaration, false_declarations

__all__ = ["FalseDeclaration", "false_declarations"]


def __getattr__(name: str) -> object:
    """Loaded when it is asked for: reading a model needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from absint.declared import findings

    return getattr(findings, name)
