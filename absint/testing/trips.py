"""Loop for onnx.reference, as the specification says: a condition that is left out is true, and scan outputs are
stacked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np
from onnx import GraphProto
from onnx.helper import tensor_dtype_to_np_dtype
from onnx.reference.op_run import OpRun

Values = Mapping[str, object]


class _Body(Protocol):
    input_names: list[str]
    output_names: list[str]
    proto_: GraphProto

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
        places = range(1 + len(carried), len(body.output_names))
        if not rows:
            return (*carried, *(_empty(body, at) for at in places))
        return (*carried, *(np.stack([np.asarray(row[at]) for row in rows]) for at in range(len(places))))


def _empty(body: _Body, output: int) -> np.ndarray:
    """Rows of an output without any trip, in the type that the body declares."""
    dtype = body.proto_.output[output].type.tensor_type.elem_type
    return np.empty(0, tensor_dtype_to_np_dtype(dtype) if dtype else np.float64)
