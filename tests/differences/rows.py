"""Rows of the page: a node, the versions of its operator at which it behaves alike, and the sizes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from onnx import TensorProto, numpy_helper

from absint.lattices.terms.expr import Dim
from absint.research.specification.specs import Instance, specification
from absint.testing import Arg, Case
from absint.testing.cases import arrays_of
from tests.differences.outcomes import (
    NO_KERNEL,
    NOT_WRITTEN,
    claimed,
    documented,
    in_onnxruntime,
    in_reference,
    outcome,
)
from tests.specification.comparing import case_of

FOUND: Final = Path(__file__).with_name("found.json")
"""The rows that the search found."""


@dataclass(frozen=True)
class Row:
    """One node that is not the same to all."""

    cases: Mapping[int, Case]
    """The node at each version of its operator at which it behaves alike."""
    at: Mapping[str, int]
    document: str
    """The shapes by the documents; or that they exclude the node, or leave it open."""
    death: str = ""
    """The way in which onnxruntime ends, so that nobody runs it again: `hangs` or `ends the process`."""

    @property
    def case(self) -> Case:
        """The node at its newest version."""
        return self.cases[max(self.cases)]

    @cached_property
    def cells(self) -> Mapping[int, tuple[str, str, str]]:
        """By version, the outcomes in onnx.reference and onnxruntime, and the answer here."""
        return {version: self._cells(case) for version, case in self.cases.items()}

    def _cells(self, case: Case) -> tuple[str, str, str]:
        arrays = arrays_of(case, self.at, 0)
        runs = self.death or outcome(in_onnxruntime(case, arrays), NO_KERNEL, "no kernel")
        return (outcome(in_reference(case, arrays), NOT_WRITTEN, "not implemented"), runs, claimed(case, self.at))

    @property
    def versions(self) -> str:
        return ", ".join(map(str, sorted(self.cases)))

    @property
    def node(self) -> str:
        """The inputs with their sizes, and the attributes."""
        inputs = ", ".join("-" if arg is None else self._input(arg) for arg in self.case.inputs)
        return inputs + "".join(f" {name}={_attribute(value)}" for name, value in self.case.attributes.items())

    def _input(self, arg: Arg) -> str:
        if arg.elements is None:
            return str([self.at.get(str(size), size) for size in arg.dims or ()]).replace("'", "")
        whole = arg.elements.tolist() if isinstance(arg.elements, np.ndarray) else arg.elements
        return f"={self._elements(whole)}"

    def _elements(self, part: object) -> object:
        if isinstance(part, list):
            return list(map(self._elements, part))
        return Dim(part).evaluate(self.at) if isinstance(part, str) else part


def _attribute(value: object) -> object:
    return numpy_helper.to_array(value).tolist() if isinstance(value, TensorProto) else value


def instance_of(domain: str, operator: str, version: int, text: str, outputs: int) -> Instance:
    """The instance of a grid that has this text.

    Raises LookupError if the grid has changed: look for the rows anew.
    """
    spec = specification(domain, operator, version)
    for instance in spec.grid if spec is not None else ():
        if str(instance) == text and instance.outputs == outputs and instance.first <= version <= instance.last:
            return instance
    raise LookupError(f"{operator}-{version} {text} is in no grid: run python -m tests.differences --search")


def found() -> Iterator[Row]:
    """The rows that the search found."""
    for entry in json.loads(FOUND.read_text("utf-8")):
        domain, operator, text, outputs = (entry[key] for key in ("domain", "operator", "instance", "outputs"))
        cases, documents = {}, set()
        for version in entry["versions"]:
            spec = specification(domain, operator, version)
            assert spec is not None
            instance = instance_of(domain, operator, version, text, outputs)
            cases[version] = case_of(spec, operator, version, instance)
            documents.add(documented(spec.meaning(operator, version, instance, documented=True), entry["at"]))
        (document,) = documents
        yield Row(cases, entry["at"], document, entry.get("death", ""))


def _row(
    operator: str,
    versions: Sequence[int],
    inputs: Sequence[Arg | None],
    attributes: Mapping[str, object],
    document: str,
    *,
    outputs: int = 1,
) -> Row:
    cases = {v: Case(operator, inputs, attributes, opset=v, outputs=outputs) for v in versions}
    return Row(cases, {}, document)


def _numbers(*numbers: int) -> Arg:
    return Arg(elements=list(numbers), dtype=7, fed=True)


def others() -> list[Row]:
    """Nodes that no grid has."""
    windows = {"kernel_shape": [2], "strides": [2]}
    return [
        _row("AveragePool", [1], [Arg([0, 1, 1])], windows, "open: the formula gives [0, 1, 0]"),
        _row(
            "Conv",
            [11, 22],
            [Arg([1, 1, 5]), Arg([1, 1, 2])],
            {"auto_pad": "SAME_UPPER", "dilations": [2]},
            "[1, 1, 5]",
        ),
        _row(
            "ConvTranspose",
            [11, 22],
            [Arg([1, 1, 3]), Arg([1, 1, 1])],
            {"auto_pad": "SAME_UPPER", "strides": [2]},
            "open: [1, 1, 6] by the text of auto_pad, [1, 1, 5] by inference",
        ),
        _row(
            "MaxPool",
            [12, 22],
            [Arg([1, 1, 5])],
            {"auto_pad": "SAME_UPPER", "kernel_shape": [2], "dilations": [2]},
            "[1, 1, 5]",
        ),
        _row(
            "MaxPool",
            [12, 22],
            [Arg([1, 1, 1])],
            {"kernel_shape": [2], "strides": [2]},
            "open: the formula gives [1, 1, 0]",
        ),
        _row("Gemm", [13], [Arg([2]), Arg([2, 3])], {}, "excluded: A must be a matrix"),
        _row(
            "GroupNormalization",
            [21],
            [Arg([1, 0, 2]), Arg([1]), Arg([1])],
            {"num_groups": 1},
            "excluded: scale must have a value for each channel",
        ),
        _row("NonZero", [13], [Arg([])], {}, "[0, 1]"),
        _row("PRelu", [16], [Arg([1]), Arg([3])], {}, "excluded: the slope must broadcast to X"),
        _row(
            "Range",
            [11],
            [Arg(elements=0.0, fed=True), Arg(elements=1.1, fed=True), Arg(elements=0.1, fed=True)],
            {},
            "open: in which type it counts",
        ),
        _row("Resize", [13, 19], [Arg([290]), None, Arg(elements=[0.7], fed=True)], {}, "[202]"),
        _row(
            "Resize",
            [19],
            [Arg([4, 4]), None, None, _numbers(8, 6)],
            {"axes": [0, -1], "keep_aspect_ratio_policy": "not_larger"},
            "[6, 6]",
        ),
        _row("Slice", [13], [Arg([3]), _numbers(2), _numbers(2**31 - 1), _numbers(0), _numbers(-1)], {}, "[0]"),
        _row(
            "SplitToSequence",
            [11, 24],
            [Arg([1, 2]), Arg(elements=1, dtype=7, fed=True)],
            {"keepdims": 0},
            "a sequence of [1, 2]",
        ),
        _row("Squeeze", [13, 21], [Arg([1, 2]), Arg([0], 7)], {}, "[1, 2]"),
        _row("Slice", [13], [Arg([1]), _numbers(-2), _numbers(-5), _numbers(0), _numbers(-1)], {}, "[1]"),
        _row("MaxPool", [12, 22], [Arg([1, 1, 2])], {"kernel_shape": [2], "strides": [1], "pads": [0, 1]}, "[1, 1, 2]"),
        _row(
            "AveragePool",
            [19, 22],
            [Arg([1, 1, 3])],
            {"auto_pad": "VALID", "kernel_shape": [2], "dilations": [2]},
            "[1, 1, 1]",
        ),
        _row("CumSum", [14], [Arg([]), Arg(elements=0, dtype=7)], {}, "excluded: the axis must be one of 0"),
        _row("Resize", [19], [Arg([1, 3]), None, Arg(elements=[1.0, 2.0]), Arg(elements=[], dtype=7)], {}, "[1, 6]"),
        _row("TopK", [11], [Arg([3]), _numbers(2**32)], {}, "excluded: k must not be larger than the axis", outputs=2),
        _row("Upsample", [9], [Arg([290]), Arg(elements=[1.7], fed=True)], {}, "[493]"),
        _row("QuantizeLinear", [10], [Arg([2, 3]), Arg([3]), Arg([3], 2)], {}, "excluded: y_scale must be one value"),
    ]


def rows() -> list[Row]:
    """All rows, by domain, operator, and size of the node."""
    return sorted([*found(), *others()], key=lambda row: (row.case.domain, row.case.op, row.versions, row.node))
