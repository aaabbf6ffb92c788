"""The memory limit of a process that runs a model: 4 GB, or the value of the environment variable ABSINT_RUN_MEMORY;
and the largest inputs that are made for such a run.

The limit restricts the private memory of the process (RLIMIT_DATA): Linux enforces it, other platforms may not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

VARIABLE: Final = "ABSINT_RUN_MEMORY"
DEFAULT: Final = 4 << 30
MOST_ELEMENTS: Final = 1 << 22
"""Of one input that is made for a run as evidence."""
_LEAST: Final = 256 << 20
_AMOUNT: Final = r"(?i)\s*([0-9]{1,15}(?:\.[0-9]{1,3})?)\s*([KMGT]?)i?B?\s*"
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_EXHAUSTED: Final = ("bad_alloc", "Failed to allocate memory", "MemoryError", "bad allocation", "Unable to allocate")


def allowed() -> int:
    """The limit in bytes. Raises UsageError if the variable is no amount."""
    text = os.environ.get(VARIABLE, "")
    return amount(text, VARIABLE) if text else DEFAULT


def amount(text: str, what: str, alone: str = "") -> int:
    """Bytes from a text such as `8 GB`; a number alone counts `alone`, a letter of a unit.

    Raises UsageError, naming `what`, for any other text.
    """
    found = re.fullmatch(_AMOUNT, text)
    unit = alone if text.strip().isdecimal() else found[2].upper() if found else ""
    size = int(float(found[1]) * _UNITS[unit]) if found else 0
    if size < _LEAST:
        raise UsageError(f"{what} {text}: expected an amount of memory, 256 MB or more, as 8GB")
    return size


@contextmanager
def allowing(text: str | None) -> Iterator[None]:
    """Another limit within the block, if one is given."""
    if text is None:
        yield
        return
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(amount(text, "--memory"))
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)
        if before is not None:
            os.environ[VARIABLE] = before


def unmade(analysed: Analysed, sizes: Mapping[str, int]) -> str:
    """One line on why no inputs of these sizes are made for a run; empty if they are."""
    shapes = [analysed.shapes[name] for name in analysed.inputs if name in analysed.shapes]
    try:
        large = any(shape.rank is not None and prod(shape.evaluate(sizes)) > MOST_ELEMENTS for shape in shapes)
    except (ValueError, ArithmeticError, KeyError) as error:
        return f"no inputs of these sizes are made: {error}"
    return "the inputs are too large to be made for a run" if large else ""


def explained(reason: str) -> str:
    """The reason of a failed run, with the limit if it ran out of memory."""
    if not any(text in reason for text in _EXHAUSTED):
        return reason
    return f"it needs more than {_in_words(allowed())} of memory (--memory or {VARIABLE} allows more): {reason}"


def _in_words(size: int) -> str:
    return f"{size >> 20:,} MB" if size % (1 << 29) else f"{size / (1 << 30):g} GB"
