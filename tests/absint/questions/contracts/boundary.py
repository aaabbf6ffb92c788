"""A contract held against runs of onnxruntime on both sides of its boundary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, helper

import absint
from absint.lattices.logic.relation import NO
from absint.lattices.value import Tensor
from absint.questions.sizes.outcomes import Outcome

Binding = Mapping[str, int]

ort.set_default_logger_severity(4)


class Boundary:
    """A model, its contract and its runs. `high` are exclusive upper ends of the integers fed to inputs."""

    def __init__(self, model: ModelProto, **high: int) -> None:
        self.model = model
        self.result = absint.analyze(model)
        self.contract = self.result.contract()
        self._high = high
        self._failures: dict[tuple[int, ...], str | None] = {}

    @property
    def clauses(self) -> list[str]:
        return [str(clause.relation) for clause in self.contract.clauses]

    @cached_property
    def _session(self) -> ort.InferenceSession:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return ort.InferenceSession(self.model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def failure(self, binding: Binding) -> str | None:
        """onnxruntime's message if it fails; None if it runs."""
        key = tuple(binding[name] for name in self.result.symbols)
        if key not in self._failures:
            feeds = self._feeds(binding)
            session = self._session
            try:
                session.run(None, feeds)
            except Exception as error:
                self._failures[key] = str(error)
            else:
                self._failures[key] = None
        return self._failures[key]

    def _feeds(self, binding: Binding) -> dict[str, np.ndarray[Any, Any]]:
        random = np.random.default_rng(0)
        feeds = {}
        for name in self.result.inputs:
            value = self.result[name]
            assert isinstance(value, Tensor)
            shape = value.shape.evaluate(binding)
            dtype = helper.tensor_dtype_to_np_dtype(int(value.dtype))
            if value.dtype.is_float:
                feeds[name] = random.standard_normal(shape).astype(dtype)
            else:
                feeds[name] = random.integers(0, self._high.get(name, 2), shape).astype(dtype)
        return feeds

    def check(self, bindings: Iterable[Binding], *, refused: str = "") -> None:
        """Every binding runs if and only if the contract and `check` allow it, and both name a node that fails.

        With `refused` the runtime may refuse what they allow, with a message that matches. Raises AssertionError with
        every difference; bindings on both sides of the boundary are expected.
        """
        bindings = list(bindings)
        problems = [problem for binding in bindings for problem in self._wrong(binding, refused)]
        assert not problems, "\n".join(problems)
        runs = {self.failure(binding) is None for binding in bindings}
        assert runs == ({True, False} if self.contract.clauses else {True}), f"only one side: {runs}"

    def check_sound(self, bindings: Iterable[Binding]) -> None:
        """Every binding that runs is allowed by the contract and by `check`, whatever else is."""
        for binding in bindings:
            if self.failure(binding) is None:
                assert self.contract.allows(binding), f"{dict(binding)} runs, against {self.contract}"
                assert self.result.check(binding).ok, str(self.result.check(binding))

    def _wrong(self, binding: Binding, refused: str) -> Iterator[str]:
        at = ", ".join(f"{name}={size}" for name, size in binding.items())
        failure, check = self.failure(binding), self.result.check(binding)
        broken = [clause for clause in self.contract.clauses if not clause.relation.evaluate(binding)]
        assert self.contract.allows(binding) is not bool(broken)
        if bool(broken) is check.ok:
            yield f"{at}: clauses broken: {'; '.join(map(str, broken)) or 'none'}; but {check}"
        if failure is None:
            if broken:
                yield f"{at} runs, against {'; '.join(map(str, broken))}"
        elif not broken:
            if not refused or not re.search(refused, failure):
                yield f"{at} is allowed, and fails: {failure}"
        elif check.failure is not None:
            named = re.search(r"running (\w+) node\. Name:'([^']*)'", failure)
            stated = {c.origin.name for c in self.result.constraints if not _true(c.formula, binding)}
            around = check.failure.origin.path.split("/")
            if named and named.group(2) not in {check.failure.origin.name, *around, *stated}:
                yield f"{at} fails at {named.group(2)}, but {check}"

    def check_box(self, **box: tuple[int, int]) -> Outcome:
        """The outcome for a box that is small enough to be run as a whole; it agrees with all runs in it."""
        found = self.result.check_range(box)
        bindings = grid(**{name: range(lo, hi + 1) for name, (lo, hi) in box.items()})
        failing = [binding for binding in bindings if self.failure(binding) is not None]
        if found.outcome is Outcome.ILLEGAL:
            assert found.sizes is not None
            assert self.failure(found.sizes) is not None, f"{found} runs"
            assert found.failure is not None
        elif found.outcome in (Outcome.RUNS, Outcome.LEGAL):
            assert not any(not self.contract.allows(binding) for binding in bindings), str(found)
            if found.outcome is Outcome.RUNS:
                assert not failing, f"{found}, but {failing[0]} fails"
        return found.outcome


def _true(relation: Any, binding: Binding) -> bool:

    return relation.at(binding) is not NO


def grid(**sizes: Iterable[int]) -> list[Binding]:
    """Every combination of the sizes."""
    return [dict(zip(sizes, chosen, strict=True)) for chosen in product(*sizes.values())]


def around(*boundaries: int) -> Sequence[int]:
    """0, 1, 2 and the sizes next to each boundary."""
    return sorted({0, 1, 2} | {size for b in boundaries for size in (b - 1, b, b + 1) if size >= 0})
