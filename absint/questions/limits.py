"""The limits of an answer."""

from __future__ import annotations

from absint.errors import UsageError
from absint.lattices.limits import Limits


def checked(limits: Limits) -> Limits:
    """The limits. Raises UsageError for one that makes no sense."""
    try:
        return limits.checked()
    except ValueError as error:
        raise UsageError(str(error)) from None
