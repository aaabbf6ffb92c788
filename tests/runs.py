"""Whole models, control flow and function calls included, held against runs of onnxruntime.

`Runs` executes a model with every value of its main graph as an output and compares each with what the analysis
claims: rank, element type, dims, elements, and the statements of every node that the run visits outside loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from absint import Result, analyze
from absint.lattices.contents import replace_in
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import NO
from absint.lattices.terms.expr import Dim, Expr, Symbol, const
from absint.lattices.terms.normal import substitute
from absint.lattices.value import SequenceOf, Tensor, Value
from absint.program.steps import Gate, IfJoin, Operand
from absint.solution.constraints import recorded
from tests.soundness.claims import against, learn

ort.set_default_logger_severity(4)

Binding = Mapping[str, int]
Maker = Callable[[tuple[int, ...], np.random.Generator], np.ndarray]


class Runs:
    """A model, its analysis, and its runs. `data` makes the arrays of inputs whose data matter; others are random."""

    def __init__(
        self, model: onnx.ModelProto, result: Result | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        self.model = model
        self.result = result if result is not None else analyze(model)
        self.data = data or {}
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        shown = with_all_outputs(model)
        self.session = ort.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.names = [info.name for info in shown.graph.output]

    def run(self, binding: Binding, seed: int = 0) -> Mapping[str, Any]:
        """The values of the main graph by name. Raises what onnxruntime raises."""
        feeds = self.feeds(binding, seed)
        return {**feeds, **dict(zip(self.names, self.session.run(self.names, feeds), strict=True))}

    def feeds(self, binding: Binding, seed: int) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        feeds = {}
        for name in self.result.inputs:
            value = self.result[name]
            assert isinstance(value, Tensor)
            given = self.data.get(name)
            shape = () if given is not None and not callable(given) else tuple(value.shape.evaluate(binding))
            array = (
                given(shape, rng)
                if callable(given)
                else random_array(value.dtype, shape, rng)
                if given is None
                else given
            )
            feeds[name] = np.asarray(array, helper.tensor_dtype_to_np_dtype(int(value.dtype)))
        return feeds

    def wrong(self, binding: Binding, seed: int = 0) -> list[str]:
        """Every claim that the run contradicts."""
        values = self.run(binding, seed)
        known = dict(binding)
        problems = []
        for name, actual in values.items():
            problems += learn(name, self.result[name], actual, known)
        problems += self._solve(values, known)
        for name, actual in values.items():
            problems += against(name, self.result[name], actual, known)
        problems += self._statements(values, known)
        return problems

    def check(self, *bindings: Binding, seed: int = 0) -> None:
        """Run at each binding; raises AssertionError for a wrong claim."""
        self.result.verify()
        assert not self.result.analysis.crashes, self.result.analysis.crashes
        for binding in bindings:
            problems = self.wrong(binding, seed)
            assert not problems, f"at {dict(binding)}: " + "; ".join(problems)

    def _solve(self, values: Mapping[str, Any], known: dict[str, int]) -> Iterator[str]:
        """Bind a symbol that occurs in a claim as c*s + rest, everything else being known."""
        progress = True
        while progress:
            progress = False
            for name, actual in values.items():
                for claim, number in numbers(self.result[name], actual):
                    missing = [s for s in claim.symbols if s.name not in known]
                    if len(missing) != 1:
                        continue
                    partly = substitute(claim, {s: const(known[s.name]) for s in claim.symbols if s.name in known})
                    found = linear(partly, missing[0])
                    if found is None:
                        continue
                    factor, rest = found
                    if (number - rest) % factor:
                        yield f"{name}: no {missing[0].name} gives {claim} == {number}, at {known}"
                        return
                    known[missing[0].name] = (number - rest) // factor
                    progress = True

    def _statements(self, values: Mapping[str, Any], known: Binding) -> Iterator[str]:
        names = {operand: name for name, operand in self.result.operands.items()}
        known = {**known, **dict(self._conditions(names, values))}
        for number, node in enumerate(self.result.nodes):
            summary = self.result.analysis.applied.get(number)
            if summary is not None and summary.rejected is not None and self._visited(node.gate, names, values):
                yield f"{node} runs, but is claimed never to: {summary.rejected}"
        for c in recorded(self.result).every:
            relation = replace_in(c.formula, self.result.names)
            if relation.at(known) is NO:  # type: ignore[arg-type]
                yield f"{c.origin} runs, but {c.role}: {relation} ({c.reason}), at {known}"

    def _conditions(self, names: Mapping[Operand, str], values: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        """The boolean symbols that stand for the conditions of Ifs by data."""
        for number, node in enumerate(self.result.nodes):
            if isinstance(node.step, IfJoin) and node.operands[0] in names:
                yield f"%{number}:condition", int(is_true(values[names[node.operands[0]]]))

    def _visited(self, gate: int, names: Mapping[Operand, str], values: Mapping[str, Any]) -> bool:
        """The run is known to pass the gate, and all gates around it, exactly once."""
        while gate >= 0:
            item = self.result.nodes[gate]
            if not isinstance(item.step, Gate) or item.operands[0] not in names:
                return False
            if is_true(values[names[item.operands[0]]]) is not item.step.taken:
                return False
            gate = item.gate
        return True


def is_true(condition: Any) -> bool:
    return bool(np.asarray(condition).ravel()[0])


def with_all_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with every value that a node of its main graph computes as an output."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    already = {info.name for info in shown.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in already:
                shown.graph.output.append(onnx.ValueInfoProto(name=name))
    return shown


def random_array(dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(0, 4, shape) if dtype.is_integer else rng.standard_normal(shape)


def numbers(value: Value, actual: Any) -> Iterator[tuple[Expr, int]]:
    """Pairs of a claimed expression and the number that the run showed."""
    pairs: list[tuple[object, int]] = []
    if isinstance(value, SequenceOf) and isinstance(actual, list):
        pairs.append((value.length, len(actual)))
    elif isinstance(value, Tensor) and isinstance(actual, np.ndarray):
        if value.shape.rank == actual.ndim:
            pairs += zip(value.shape, actual.shape, strict=True)
        if value.contents is not None and len(value.contents.elements) == actual.size:
            pairs += zip(value.contents.elements, actual.ravel().tolist(), strict=True)
    return ((claim, int(number)) for claim, number in pairs if isinstance(claim, Expr))


def linear(claim: Dim, symbol: Symbol) -> tuple[int, int] | None:
    """Factor and constant of a claim c*symbol + rest."""
    if not isinstance(claim, Expr) or any(mono not in ((), (symbol,)) for mono, _ in claim.terms):
        return None
    terms = dict(claim.terms)
    return (terms[(symbol,)], terms.get((), 0)) if (symbol,) in terms else None
