"""The page of errors in other tools: its models, what the tools say, and what runs give."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from absint.jobs.auditing import peer

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"

_SECTION = re.compile(r"\n## (?P<title>[^\n]+)\n.*?```onnx\n(?P<model>.*?)```\n(?P<lines>(?:\n- [^\n]+)+)", re.DOTALL)
_LINE = re.compile(r"- (?P<tool>[\w-]+): `(?P<value>\w+)` is `(?P<says>.*)`; at (?P<at>.*) a run gives `(?P<run>.*)`")


_ENDING = re.compile(r"- (?:(?P<all>all) sessions|sessions by default) end the process; due is (?P<instead>.*)")


class Finding(NamedTuple):
    """A line of the page."""

    title: str
    model: str
    tool: str
    value: str
    says: str
    at: Mapping[str, int]
    run: str

    def __str__(self) -> str:
        return f"{self.title}, {self.tool}"


class Ending(NamedTuple):
    """A line of the page about a run that ends onnxruntime's process."""

    title: str
    model: str
    sessions: str
    """`all`, or `by default`: those without optimisations give the shape in `instead`."""
    instead: str

    @property
    def feeds(self) -> Mapping[str, np.ndarray]:
        """Ones of the declared sizes."""
        return feeds(parsed(self.model), {})

    def __str__(self) -> str:
        return self.title


def _lines(pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], re.Match[str]]]:
    """Sections, and lines in them that match. Every line is one of the two kinds."""
    for section in _SECTION.finditer(PAGE.read_text("utf-8")):
        for line in section["lines"].strip().splitlines():
            assert _LINE.fullmatch(line) or _ENDING.fullmatch(line), line
            if match := pattern.fullmatch(line):
                yield section, match


def endings() -> Iterator[Ending]:
    """The lines about runs that end the process."""
    for section, line in _lines(_ENDING):
        yield Ending(section["title"], section["model"], line["all"] or "by default", line["instead"].strip("`"))


def findings() -> Iterator[Finding]:
    """The lines about shapes that a tool claims."""
    for section, line in _lines(_LINE):
        tool, value, says, at, run = line.groups()
        sizes = {name: int(size) for name, size in (pair.split("=") for pair in at.split(", "))}
        yield Finding(section["title"], section["model"], tool, value, says, sizes, run)


def parsed(text: str) -> onnx.ModelProto:
    """The model, which the checker accepts."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model)
    return model


def said(tool: str, model: onnx.ModelProto, value: str) -> str:
    """The shape that a tool claims of a value."""
    shape = peer(tool, model, keep=True).shapes[value]
    assert shape is not None
    return f"[{', '.join(map(str, shape))}]"


def ran(model: onnx.ModelProto, value: str, at: Mapping[str, int]) -> str:
    """The shape that a value has in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (found,) = session.run([value], feeds(model, at))
    return str(list(found.shape))


def by_reference(model: onnx.ModelProto, value: str, at: Mapping[str, int]) -> str:
    """The shape that a value has in onnx's reference implementation."""
    (found,) = ReferenceEvaluator(model).run([value], feeds(model, at))
    return str(list(found.shape))


def feeds(model: onnx.ModelProto, at: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Ones, False, and the integers that are given."""
    found = {}
    for item in model.graph.input:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
        dims = [size(dim.dim_param, at) if dim.dim_param else dim.dim_value for dim in item.type.tensor_type.shape.dim]
        found[item.name] = np.full(dims, at.get(item.name, dtype.kind != "b"), dtype)
    return found


def size(text: str, at: Mapping[str, int]) -> int:
    """A name, or a name with a number that is added or taken off."""
    name, sign, number = [*text.split(), "+", "0"][:3]
    return at[name] + (int(number) if sign == "+" else -int(number))
