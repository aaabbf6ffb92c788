"""Execution of a node model: onnxruntime without optimisations, else onnx.reference."""

from __future__ import annotations

import pickle
import re
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.soundness.models import NEWEST_RUN, NodeTest, stripped

SECONDS = 5
ROOT = Path(__file__).parents[2]

_NOT_THERE = re.compile(
    "NOT_IMPLEMENTED|Could not find an implementation|is not a registered|No Op registered|Unrecognized attribute"
    "|under development|ONNX Runtime only \\*guarantees\\*|Unsupported type proto|Unable to handle object of type"
)


class Outcome(NamedTuple):
    """The values of the main graph by name, or why there are none, and who ran it."""

    values: Mapping[str, Any] | None
    failure: str
    runtime: str
    """`onnxruntime`, or `reference` where onnxruntime has no kernel for the operators or types."""


class OnnxRuntime:
    """onnxruntime in a process of its own; started again after it dies."""

    def __init__(self, *, optimised: bool = False) -> None:
        self.optimised = optimised
        """Sessions optimise, as they do by default. Read when the process starts."""
        self._process: subprocess.Popen[bytes] | None = None
        self._model = b""

    def load(self, model: bytes) -> tuple[bool, Any]:
        """(True, types of the outputs) or (False, message)."""
        self._model = model
        return self._ask(model)

    def run(self, model: bytes, feeds: Mapping[str, Any]) -> tuple[bool, Any]:
        """(True, outputs) or (False, message)."""
        if self._process is None or self._model is not model:
            ok, message = self.load(model)
            if not ok:
                return False, message
        return self._ask(dict(feeds))

    def refusal(self, model: bytes) -> str:
        """Why a model does not load where inference must agree with what is declared; empty if it does."""
        self._model = b""
        ok, message = self._ask(("strict", model))
        return "" if ok else str(message)

    def _ask(self, request: object) -> tuple[bool, Any]:
        if self._process is None:
            command = [sys.executable, "-m", "tests.soundness.child", *(["--optimised"] if self.optimised else [])]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(request, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            if select.select([process.stdout], [], [], SECONDS)[0]:
                reply: tuple[bool, Any] = pickle.load(process.stdout)
                return reply
            end = f"did not end within {SECONDS} s"
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            end = "ended the process"
        self.close()
        return False, f"onnxruntime {end}"

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()
            process.wait()


ENGINE = OnnxRuntime()


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
        self._evaluator: ReferenceEvaluator | None = None
        older = onnx.ModelProto()
        older.CopyFrom(model)
        for entry in older.opset_import:
            if entry.domain == "":  # a newer version of an operator mostly takes more types
                entry.version = min(entry.version, NEWEST_RUN)
        self._serialised = older.SerializeToString()
        self.loaded, reply = ENGINE.load(self._serialised)
        self.types: list[str] = reply if self.loaded else []
        self.failure = "" if self.loaded else str(reply)
        self.missing = bool(_NOT_THERE.search(self.failure))
        feeds = {item.name: item.data for item in test.inputs}
        if not self.missing and self.run(feeds).values is None and self.reference(feeds).values is not None:
            self.missing = True  # onnx.reference alone runs the node test as it is

    def run(self, feeds: Mapping[str, Any]) -> Outcome:
        """Run the model once."""
        if self.missing:
            return self.reference(feeds)
        if not self.loaded:
            return Outcome(None, self.failure, "onnxruntime")
        ok, reply = ENGINE.run(self._serialised, {item.name: feeds[item.name] for item in self.fed})
        if ok:
            values = map(typed, self.types, reply)
            return Outcome(dict(zip(self.names, values, strict=True)), "", "onnxruntime")
        if _NOT_THERE.search(reply):
            self.missing = True
            return self.reference(feeds)
        return Outcome(None, reply, "onnxruntime")

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


def typed(kind: str, value: Any) -> Any:
    """The array under its own type: onnxruntime gives an 8-bit float as bytes."""
    match = re.fullmatch(r"tensor\((float8\w+)\)", kind)
    if match and isinstance(value, np.ndarray) and value.dtype == np.uint8:
        return value.view(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, match[1].upper())))
    return value
