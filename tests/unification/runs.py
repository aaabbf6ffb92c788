"""A row's model run by onnxruntime, and what is measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from tests.unification.formula import Formula
from tests.unification.judging import Sizes
from tests.unification.row import Row

ort.set_default_logger_severity(4)


class Session:
    """A row's model in onnxruntime."""

    def __init__(self, row: Row) -> None:
        self.row = row
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session: ort.InferenceSession | None = None
        self.refusal = ""
        """Why the runtime does not load the model."""
        serialised = row.proto.SerializeToString()
        try:
            self._session = ort.InferenceSession(serialised, options, ["CPUExecutionProvider"])
        except Exception as error:
            self.refusal = str(error)

    def run(self, sizes: Sizes) -> Mapping[str, int] | None:
        """The measurements by name; None if the run fails."""
        if self._session is None:
            return None
        outputs = [info.name for info in self._session.get_outputs()]
        feeds = self._feeds(sizes)
        try:
            values = dict(zip(outputs, self._session.run(outputs, feeds), strict=True))
        except Exception:
            return None
        return {name: Place.of(place).measure(values) for name, (_, place) in self.row.out.items()}

    def _feeds(self, sizes: Sizes) -> dict[str, np.ndarray]:
        feeds = {}
        for info in self.row.proto.graph.input:
            tensor = info.type.tensor_type
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            if info.name in self.row.data.split():
                feeds[info.name] = np.array(sizes[info.name], dtype)
            else:
                feeds[info.name] = np.ones([_size(d, sizes) for d in tensor.shape.dim], dtype)
                if tensor.elem_type == TensorProto.INT64:
                    feeds[info.name][...] = 0
        return feeds


def _size(dim: Any, sizes: Sizes) -> int:
    return int(Formula(dim.dim_param).value(sizes)) if dim.dim_param else int(dim.dim_value)


class Place(NamedTuple):
    """A number to measure in a run."""

    kind: Literal["dim", "element", "rank"]
    value: str
    index: int

    @staticmethod
    def of(text: str) -> Place:
        """Parse `z[0]`, `r{0}` or `rank(z)`."""
        found = re.fullmatch(r"rank\((\w+)\)|(\w+)\[(-?\d+)\]|(\w+)\{(\d+)\}", text)
        assert found, text
        ranked, dim, axis, element, index = found.groups()
        if ranked:
            return Place("rank", ranked, 0)
        return Place("dim", dim, int(axis)) if dim else Place("element", element, int(index))

    def measure(self, values: Mapping[str, Any]) -> int:
        """The number in the values of a run."""
        value = values[self.value]
        if self.kind == "rank":
            return int(value.ndim)
        return int(value.shape[self.index] if self.kind == "dim" else np.ravel(value)[self.index])
