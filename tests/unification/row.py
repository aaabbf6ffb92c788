"""A rule to judge: what it claims of every run of a small model, and the concrete semantics of that model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from onnx import ModelProto

from tests.adversarial.case import case
from tests.runs import with_all_outputs
from tests.unification.formula import Formula

SOURCES: Final[Mapping[str, tuple[str, str]]] = {
    "0005": (
        "Symbolic Shape Inference And Partial Data Propagation (ONNX 1.10)",
        "https://github.com/onnx/onnx/blob/main/docs/proposals/SymbolicShapeInfProposal.md",
    ),
    "0008": ("Symbolic Dimension Arithmetic in ONNX Shape Inference", "https://github.com/onnx/onnx/pull/7692"),
    "0008b": ("Symbolic dimension algebra for shape inference", "https://github.com/onnx/onnx/pull/8364"),
    "0009": ("Symbolic Expressions in Dynamic Shapes", "https://github.com/onnx/onnx/pull/8175"),
    "0010": (
        "Extensible Symbolic Shape Annotation, Checking, and Inference",
        "https://github.com/onnx/onnx/blob/main/docs/proposals/0010-ExtensibleSymbolicShapeInference.md",
    ),
    "4064": ("Proposal and ideas of shape inference with `dim_expr`", "https://github.com/onnx/onnx/issues/4064"),
    "tools": ("no proposal: what a tool does, or a reader may expect", ""),
}
"""The proposals that are judged: title and address."""


@dataclass(frozen=True)
class Row:
    """One rule. `claim` must hold for all sizes at which `given` and `runs` hold, `out` being what a run computes."""

    rule: str
    """The claim of the source, in our words."""
    source: str
    claim: str
    sizes: str = ""
    """The sizes: natural numbers."""
    data: str = ""
    """Scalar int64 inputs: any integers."""
    model: str = ""
    """In ONNX's text syntax."""
    out: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Measurements: name -> (formula, place); `z[0]` is a dim of z, `r{0}` an element of r, `rank(z)` its rank."""
    runs: str = "True"
    """The bindings at which the model runs."""
    given: str = "True"
    """The assumptions of the rule."""
    instead: str = ""
    """The true statement if the claim is false."""
    note: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes, then the data."""
        return (*self.sizes.split(), *self.data.split())

    @cached_property
    def claimed(self) -> Formula:
        return Formula(self.claim)

    @cached_property
    def premises(self) -> Sequence[Formula]:
        return [Formula(f"{name} >= 0") for name in self.sizes.split()] + [Formula(self.given), Formula(self.runs)]

    @cached_property
    def definitions(self) -> Mapping[str, Formula]:
        return {name: Formula(text) for name, (text, _) in self.out.items()}

    @cached_property
    def proto(self) -> ModelProto:
        """The model, with every value of its main graph as an output."""
        return with_all_outputs(case(self.model).model)

    @cached_property
    def shown(self) -> str:
        """The model in one line."""
        return " ".join(self.model.split())


@dataclass(frozen=True)
class Section:
    """Rows of one kind."""

    title: str
    text: str
    rows: Sequence[Row]
