"""Loop for onnx.reference, as the specification says: a condition that is left out is true, and scan outputs are
stacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np
from onnx.reference.op_run import OpRun

Values = Mapping[str, object]


class _Body(Protocol):
    """The evaluator of a body."""

    input_names: list[str]
    output_names: list[str]

    def run(self, names: list[str] | None, feeds: dict[str, object], **options: object) -> list[object]: ...


class Loop(OpRun):
    """The operator for the evaluator; `body` is one too."""

    op_domain = ""
    body: _Body

    def need_context(self) -> bool:
        """The body may read values from outside."""
        return True

    def _run(
        self, *inputs: object, context: Values | None = None, attributes: Values | None = None, **_: object
    ) -> tuple[object, ...]:
        limit, condition, *carried = [*inputs, None, None][: max(len(inputs), 2)]
        trips = None if limit is None else int(cast("np.ndarray", limit).item())
        goes_on = condition is None or bool(cast("np.ndarray", condition).item())
        body, rows, number = self.body, [], 0
        while goes_on and (trips is None or number < trips):
            given = [np.array(number, np.int64), np.array(goes_on), *carried]
            feeds = {**(context or {}), **dict(zip(body.input_names, given, strict=True))}
            goes_on, *results = body.run(None, feeds, attributes=attributes)  # type: ignore[assignment]
            goes_on = bool(goes_on)
            carried, scanned = results[: len(carried)], results[len(carried) :]
            rows.append(scanned)
            number += 1
        width = len(body.output_names) - 1 - len(carried)
        stacks = [np.stack([np.asarray(row[at]) for row in rows]) if rows else np.empty(0) for at in range(width)]
        return (*carried, *stacks)


__all__ = ["Loop"]
