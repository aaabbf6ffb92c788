"""Exit codes of the command line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

FINE: Final = 0
"""Done, or the answer is yes."""
NO: Final = 1
"""The answer is no."""
BAD_INPUT: Final = 2
"""Bad usage or input, reported on stderr."""
UNDECIDED: Final = 3
"""Neither yes nor no was shown."""
INTERRUPTED: Final = 130
BROKEN_PIPE: Final = 141

_BY_WEIGHT: Final = (FINE, UNDECIDED, NO, BAD_INPUT)


def worst(codes: Iterable[int]) -> int:
    """The code of several answers: bad input outweighs a "no", that all that is undecided, and that every "yes"."""
    return max(codes, key=_BY_WEIGHT.index, default=FINE)
