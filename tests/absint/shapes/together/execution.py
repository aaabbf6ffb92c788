"""Runs of a model in onnxruntime, with all values of its main graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime as ort

from tests.runs import with_all_outputs


def outputs_of(model: onnx.ModelProto, feeds: Sequence[Mapping[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
    """The values of one run after the other."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(with_all_outputs(model).SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    for given in feeds:
        yield dict(zip(names, session.run(names, dict(given)), strict=True))
