"""The choices of an annotated copy. No import of onnx: a copy of a large file begins before it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from absint.jobs.copies.dialects import ABSINT

MergePolicy = Literal["skip", "override", "refine", "strict"]
POLICIES: Final[tuple[MergePolicy, ...]] = ("skip", "override", "refine", "strict")


class Style(NamedTuple):
    """Choices of what is written, and how; see `Result.annotate`."""

    merge: MergePolicy = "refine"
    outputs: bool | None = None
    dialect: str = ABSINT.name
