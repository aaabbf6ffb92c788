"""The names of the policies that `unify` holds, for those who choose one before anything is analysed."""

from __future__ import annotations

from typing import Final

SOUND_NAME: Final = "sound"
POLICY_NAMES: Final = (
    SOUND_NAME, "keep-target", "fresh", "prefer-concrete", "prefer-first", "max", "shortest-name", "rename",
)  # fmt: skip
