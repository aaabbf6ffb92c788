"""How many examples a property draws."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

ORDINARY: Final = 100
"""What a property draws that does not say how many."""


def examples(count: int) -> int:
    """So many in an ordinary run, and in proportion more under a profile of `tests/conftest.py` that draws more."""
    return max(count * settings.default.max_examples // ORDINARY, 1)
