"""Obligations that neither solver decides in the time that the tests give it: operator and instance, and the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

UNDECIDED: Final[Mapping[tuple[str, str], str]] = {}
