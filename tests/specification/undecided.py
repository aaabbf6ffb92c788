"""Obligations that neither solver decides in the time that the tests give it: operator and instance, and the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

UNDECIDED: Final[Mapping[tuple[str, str], str]] = {
    ("Reshape", "[N, C, H], =[n, -1, 4]"): (
        "necessary: C\\*H\\*N % (4\\*n) == 0 or n == 0; the remainder of a product of three variables by a fourth"
    ),
}
