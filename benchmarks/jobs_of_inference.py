"""The shapes that engines infer, held against runs: one of the jobs of `jobs.py`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
from bench import Bench, Row
from grading import is_right
from peers import shortened
from subjects import undeclared

import absint
from absint.runs.run import sizes_at


def inferring() -> list[Row]:
    def row(engine: str) -> Callable[[Bench], str]:
        def cell(bench: Bench) -> str:
            python = sys.executable if engine == "absint" else "python"
            asked = undeclared(bench.model)
            request = json.dumps({"path": str(asked), "way": "file", "runs": 1})
            script = Path(__file__).with_name("engines.py")
            said = bench.ask([python, script, engine], given=request + "\n")
            reply = next((json.loads(text) for text in said.text.splitlines() if text.startswith("{")), None)
            if reply is None or "failure" in reply:
                return f"fails: `{shortened(reply['failure'])}`" if reply else str(said)
            return graded(bench, reply["shapes"])

        return cell

    named = {
        "absint": "absint",
        "onnx": "onnx infer_shapes, data_prop",
        "onnxruntime": "onnxruntime symbolic_shape_infer",
        "onnxruntime auto_merge": "the same, auto_merge",
        "onnx-shape-inference": "onnx-shape-inference",
    }
    return [(name, row(engine)) for engine, name in named.items()]


def graded(bench: Bench, said: Mapping[str, list[Any] | None]) -> str:
    """Dims that are right in three runs, of all that these runs show, and those that are wrong."""
    result = absint.analyze(bench.model)
    names = [name for node in onnx.load(bench.model).graph.node if node.op_type != "Constant" for name in node.output]
    names = [name for name in names if name and name in result.shapes]
    legal, other = bench.subject.legal, bench.subject.other
    bindings = [dict(legal), {**legal, "batch": 3}, {**legal, **other, "batch": 5}]
    runs = [sizes_at(result, sizes, names) for sizes in bindings]
    total = right = wrong = 0
    for name in names:
        ran = [run[name] for run in runs]
        dims = said.get(name)
        total += len(ran[0])
        if dims is None:
            continue
        if len(dims) != len(ran[0]):
            wrong += max(len(ran[0]), 1)
            continue
        for axis, text in enumerate(dims):
            judged = is_right(text, [sizes[axis] for sizes in ran], bindings)
            right += judged is True
            wrong += judged is False
    return f"{right:,} of {total:,}" + (f", **{wrong} wrong**" if wrong else "")
