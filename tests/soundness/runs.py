"""Execution of a node model: onnxruntime without optimisations, else onnx.reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.soundness.models import NEWEST_RUN, NodeTest, stripped

ort.set_default_logger_severity(4)

_NOT_THERE = re.compile(
    "NOT_IMPLEMENTED|Could not find an implementation|is not a registered|No Op registered|Unrecognized attribute"
    "|under development|ONNX Runtime only \\*guarantees\\*|Unsupported type proto|not yet supported in input"
)


class Outcome(NamedTuple):
    """The values of the main graph by name, or why there are none, and who ran it."""

    values: Mapping[str, Any] | None
    failure: str
    runtime: str
    """`onnxruntime`, or `reference` where onnxruntime has no kernel for the operators or types."""


class Runner:
    """Runs one node test, with the inputs that decide shapes as initialisers (`constant`) or fed."""

    def __init__(self, test: NodeTest, *, constant: bool) -> None:
        self.test = test
        self.fed = [i for i in test.inputs if not (constant and i.controls)]
        model = stripped(test)
        for item in test.inputs:
            if item not in self.fed:
                model.graph.initializer.append(numpy_helper.from_array(item.data, item.name))
            elif item.is_tensor:
                info = helper.make_tensor_value_info(item.name, item.type.tensor_type.elem_type, None)
                model.graph.input.append(info)
            else:
                model.graph.input.append(onnx.ValueInfoProto(name=item.name, type=item.type))
        self.model = model
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        self.names = [info.name for info in model.graph.output]
        self.session: ort.InferenceSession | None = None
        self.failure = ""
        self.missing = False
        self._evaluator: ReferenceEvaluator | None = None
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        older = onnx.ModelProto()
        older.CopyFrom(model)
        for entry in older.opset_import:
            if entry.domain == "":  # a newer version of an operator mostly takes more types
                entry.version = min(entry.version, NEWEST_RUN)
        try:
            self.session = ort.InferenceSession(older.SerializeToString(), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            self.failure = str(error)
            self.missing = bool(_NOT_THERE.search(self.failure))
        self._probe()

    def _probe(self) -> None:
        """Use onnx.reference if it alone runs the node test as it is."""
        feeds = {item.name: item.data for item in self.test.inputs}
        if not self.missing and self.run(feeds).values is None and self.reference(feeds).values is not None:
            self.missing = True

    def run(self, feeds: Mapping[str, Any]) -> Outcome:
        """Run the model once."""
        given = {item.name: feeds[item.name] for item in self.fed}
        if self.session is None and not self.missing:
            return Outcome(None, self.failure, "onnxruntime")
        if self.session is not None and not self.missing:
            try:
                values = map(_typed, self.session.get_outputs(), self.session.run(None, given))
                return Outcome(dict(zip(self.names, values, strict=True)), "", "onnxruntime")
            except Exception as error:
                failure = str(error)
                if not (_NOT_THERE.search(failure) or not _feedable(given)):
                    return Outcome(None, failure, "onnxruntime")
                self.missing = True
        return self.reference(feeds)

    def reference(self, feeds: Mapping[str, Any]) -> Outcome:
        """Run it in onnx.reference."""
        given = {item.name: feeds[item.name] for item in self.fed}
        try:
            if self._evaluator is None:
                self._evaluator = ReferenceEvaluator(self.model)
            with np.errstate(all="ignore"):
                values = self._evaluator.run(None, given)
        except Exception as error:
            return Outcome(None, f"{type(error).__name__}: {error}", "reference")
        arrays = [np.asarray(v) if np.isscalar(v) else v for v in values]
        return Outcome(dict(zip(self.names, arrays, strict=True)), "", "reference")


def _typed(output: ort.NodeArg, value: Any) -> Any:
    """The array under its own type: onnxruntime gives an 8-bit float as bytes."""
    match = re.fullmatch(r"tensor\((float8\w+)\)", output.type)
    if match and isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.view(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, match[1].upper())))
    return value


def _feedable(feeds: Mapping[str, Any]) -> bool:
    """The Python binding of onnxruntime takes arrays of these types."""
    return all(not isinstance(a, np.ndarray) or a.dtype.kind in "biufOSUc" for a in feeds.values()) and all(
        a is not None for a in feeds.values()
    )
