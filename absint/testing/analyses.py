"""Checking an analysis of values: its claims against real runs, its operators, and its domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from random import Random
from typing import Final, Generic, NamedTuple, TypeVar, cast

import numpy as np
import onnx

from absint.analyses.forward import ForwardAnalysis
from absint.api import analyze
from absint.errors import UsageError
from absint.jobs.auditing.run_process import MARK, observer
from absint.jobs.auditing.runs import walked
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.lattice import why_not_leq
from absint.lattices.laws import LawError, check_laws
from absint.lattices.value import Tensor, Value
from absint.packages import is_installed
from absint.result import Result
from absint.runs.run import RunError, feeds_for, run

# Operators of an analysis, tried on comparable elements while it runs: greater inputs give outputs no less.

T = TypeVar("T")
Inputs = Sequence["T | None"]

VISITS: Final = 3
"""Visits of a node at which its operator is tried."""


class MonotonyError(AssertionError):
    """A method of the analysis is not monotone, or no function; the text says where and on what."""


@contextmanager
def tried(
    analysis: ForwardAnalysis[T], pool: Sequence[T], text: Callable[[T], str], tries: int, seed: int
) -> Iterator[None]:
    """`operator` and `assume` of an analysis that runs in this block are tried on elements of the pool."""
    trial = _Trial(analysis, pool, text, tries, seed)
    own = dict(vars(analysis))
    analysis.operator = trial.operator  # type: ignore[method-assign]
    analysis.assume = trial.assume  # type: ignore[method-assign]
    try:
        yield
    finally:
        for name in ("operator", "assume"):
            if name in own:
                setattr(analysis, name, own[name])
            else:
                delattr(analysis, name)


class _Trial(Generic[T]):
    def __init__(
        self, analysis: ForwardAnalysis[T], pool: Sequence[T], text: Callable[[T], str], tries: int, seed: int
    ) -> None:
        self._analysis, self._pool, self._text, self._tries = analysis, pool, text, tries
        self._operator, self._assume = analysis.operator, analysis.assume
        self._draw = Random(seed)
        self._visits: dict[object, int] = {}

    def operator(self, node: int, inputs: Inputs[T]) -> Sequence[T]:
        found = self._operator(node, list(inputs))
        outputs = len(self._analysis.nodes[node].outputs)
        if len(found) < outputs:
            raise MonotonyError(f"{self._place(node)}: operator gives {len(found)} elements for {outputs} outputs")
        self._try("operator", node, None, inputs, found, lambda less: self._operator(node, list(less)))
        return found

    def assume(self, node: int, inputs: Inputs[T], truth: bool) -> Inputs[T]:
        found = self._assume(node, list(inputs), truth)
        if len(found) != len(inputs):
            raise MonotonyError(f"{self._place(node)}: assume gives {len(found)} elements for {len(inputs)} inputs")
        self._try("assume", node, truth, inputs, found, lambda less: self._assume(node, list(less), truth))
        return found

    def _try(
        self,
        method: str,
        node: int,
        truth: bool | None,
        inputs: Inputs[T],
        found: Inputs[T],
        apply: Callable[[Inputs[T]], Inputs[T]],
    ) -> None:
        visits = self._visits[node, truth] = self._visits.get((node, truth), 0) + 1
        if visits > VISITS:
            return
        where = f"{self._place(node)}: {method}" if truth is None else f"{self._place(node)}: {method} ({truth})"
        again = apply(inputs)
        if self._why(again, found) or self._why(found, again):
            raise MonotonyError(
                f"{where} gives {self._shown(again)} after {self._shown(found)} on {self._shown(inputs)}: "
                "it must not keep state"
            )
        for _ in range(self._tries):
            chosen = [self._draw.choice(self._pool) if self._draw.random() < 0.6 else None for _ in inputs]
            above = self._combined(self._analysis.domain.join, inputs, chosen)
            self._compare(where, inputs, found, above, apply(above))
            below = self._combined(self._analysis.domain.meet, inputs, chosen)
            self._compare(where, below, apply(below), inputs, found)

    def _compare(self, where: str, low: Inputs[T], less: Inputs[T], high: Inputs[T], more: Inputs[T]) -> None:
        reason = self._why(less, more)
        if reason:
            raise MonotonyError(
                f"{where} is not monotone: on {self._shown(low)} it gives {self._shown(less)}, on the greater "
                f"{self._shown(high)} it gives {self._shown(more)}, which is not above: {reason}"
            )

    def _combined(self, combine: Callable[[T, T], T], inputs: Inputs[T], chosen: Inputs[T]) -> list[T | None]:
        pairs = zip(inputs, chosen, strict=True)
        return [a if a is None or b is None else combine(a, b) for a, b in pairs]

    def _why(self, less: Inputs[T], more: Inputs[T]) -> str:
        """The first reason why elements are not below others; an input that is left out is like any."""
        pairs = ((a, b) for a, b in zip(less, more, strict=False) if a is not None and b is not None)
        return next((reason for a, b in pairs if (reason := why_not_leq(self._analysis.domain, a, b))), "")

    def _shown(self, elements: Inputs[T]) -> str:
        return "(" + ", ".join("nothing" if e is None else self._text(e) for e in elements) + ")"

    def _place(self, node: int) -> str:
        return str(self._analysis.nodes[node])


# Runs of a model with all values: those of the main graph, and in onnx.reference those of bodies and functions at each
# visit.


class Recorded(NamedTuple):
    """A value as a run computed it: its name with the path of its body, as `loop1/body/x`."""

    name: str
    value: object


class RunFailedError(Exception):
    """No run at these sizes and with these data; the text says why."""


Recorder = Callable[[Mapping[str, object]], list[Recorded]]
"""Runs a model on inputs. Raises RunFailedError."""


def recorders(result: Result) -> Iterator[tuple[str, Recorder]]:
    """The runtimes that are installed, by name."""
    yield "onnx.reference", _in_reference(result)
    if is_installed("onnxruntime"):
        yield "onnxruntime", _in_onnxruntime(result)


def _in_onnxruntime(result: Result) -> Recorder:
    names = [name for name in result.values if result.producer(name)[0] >= 0]

    def record(feeds: Mapping[str, object]) -> list[Recorded]:
        try:
            return [Recorded(*pair) for pair in run(result, feeds, names).items()]
        except RunError as error:
            raise RunFailedError(str(error)) from None

    return record


def _in_reference(result: Result) -> Recorder:
    from absint.testing.trips import Loop

    model = onnx.ModelProto()
    model.CopyFrom(result.model)
    scopes = result.scopes
    _mark(model, scopes)
    seen: list[Recorded] = []

    def note(path: str, found: Mapping[str, object]) -> None:
        scope, prefix = scopes.get(path), f"{path}/" if path else ""
        names = () if scope is None else [name for name in scope.names if name in found]
        seen.extend(Recorded(prefix + name, found[name]) for name in names)

    def record(feeds: Mapping[str, object]) -> list[Recorded]:
        seen.clear()
        try:
            observer(note)(model, new_ops=[Loop]).run(None, dict(feeds))
        except Exception as error:
            raise RunFailedError(f"{type(error).__name__}: {error}".splitlines()[0]) from None
        return list(seen)

    return record


def _mark(model: onnx.ModelProto, paths: Container[str]) -> None:
    """Name bodies by their paths, and let each call have a copy of its function, whose name is the path of the call.

    Bodies whose paths are the same keep no name, and calls whose paths are the same, or are not followed, no copy.
    """
    found = [body for body in walked(model, copies=True) if body.node is not None]
    count = Counter(body.path for body in found)
    for path, graph, node in reversed(found):  # a copy stands after those that it calls
        if isinstance(graph, onnx.GraphProto):
            graph.name = MARK + path if count[path] == 1 else ""
        elif node is not None and count[path] == 1 and path in paths:
            graph.name = node.op_type = MARK + path
            graph.overload = node.overload = ""
            model.functions.append(graph)


V = TypeVar("V")
Model = str | PathLike[str] | bytes | onnx.ModelProto
Feeds = Callable[["Result", Mapping[str, int], int], Mapping[str, object]]

SAMPLES: Final = 6
"""Legal sizes that a model is tried at."""

LAW_ELEMENTS: Final = 6
LAW_VALUES: Final = 16
"""Elements and values that the laws of the domain are checked with: the time grows with the cube of the elements."""


class AnalysisError(AssertionError):
    """An analysis is wrong; the text says which, and on what."""


class _Run(NamedTuple):
    where: str
    """Sizes, data and runtime."""

    values: Sequence[tuple[str, object]]


def check_analysis(
    analysis: ForwardAnalysis[T],
    models: Iterable[Model],
    allows: Callable[[T, V], bool],
    *,
    sizes: Iterable[Mapping[str, int]] | None = None,
    feeds: Feeds | None = None,
    seeds: int = 2,
    tries: int = 8,
) -> int:
    """Check an analysis on models; the number of runs that its claims were held against.

    `allows(element, value)` says if an element describes a value. If the analysis is `elementwise`, that is each
    element of a tensor, as a number or text of Python; otherwise an array, or a list for a sequence. It is not asked of
    top, which says nothing. Checked are

    - every value of every run: of onnx.reference, also those in branches, in each trip of a loop and in each call of a
      function, and of onnxruntime, if it is installed, those of the main graph; at `sizes`, or some legal ones, on
      random data with as many `seeds`, on zeros, on ones, and on integers from -4 to 3;
    - `operator` and `assume` at each node, `tries` times on greater and on smaller inputs: they must be monotone, and
      give the same again;
    - the laws of the domain on elements and values that were met.

    `feeds(result, sizes, seed)` makes the inputs instead, for an analysis that takes something for granted of them. A
    run that fails proves nothing. Raises AnalysisError for the first thing that is wrong, also if no run of a model
    succeeds; UsageError for what is no forward analysis of values.
    """
    if not isinstance(analysis, ForwardAnalysis):
        raise UsageError(f"check_analysis checks a ForwardAnalysis, found {type(analysis).__name__}")
    at = None if sizes is None else [dict(binding) for binding in sizes]
    meaning = cast("Callable[[T, object], bool]", allows)
    checks = [_Check(analysis, model, meaning, at, feeds, seeds, tries) for model in models]
    if not checks:
        raise AnalysisError(f"{analysis.label}: no model, so nothing is checked")
    return sum(check.run() for check in checks)


class _Check(Generic[T]):
    def __init__(
        self,
        analysis: ForwardAnalysis[T],
        model: Model,
        allows: Callable[[T, object], bool],
        sizes: Sequence[Mapping[str, int]] | None,
        feeds: Feeds | None,
        seeds: int,
        tries: int,
    ) -> None:
        self._analysis, self._model, self._allows = analysis, model, allows
        self._sizes, self._feeds, self._seeds, self._tries = sizes, feeds, seeds, tries

    def run(self) -> int:
        """Check it; the number of runs."""
        result = analyze(self._model, with_=[self._analysis])
        self._where = f"{self._analysis.label} on {_name(self._model, result)}"
        self._nodes = result.nodes
        found, domain = result.found_by(self._analysis), self._analysis.domain
        values: list[object] = []
        runs = 0
        for ran in self._runs(result):
            runs += 1
            for name, value in ran.values:
                if name in found and not domain.leq(domain.top, found[name]):  # top says nothing
                    self._hold(result, name, found[name], value, ran.where)
                    values += self._parts(value)[:1]
        self._try([*found.values()])
        self._check_laws([*found.values()], values)
        return runs

    def _runs(self, result: Result) -> Iterator[_Run]:
        sizes = self._sizes if self._sizes is not None else result.samples(SAMPLES).sizes or [{}]
        failures = []
        succeeded = False
        for runtime, record in recorders(result):
            for binding in sizes:
                for data, feeds in self._data(result, binding):
                    listed = ", ".join([*(f"{name}={size}" for name, size in binding.items()), data])
                    try:
                        yield _Run(f"at {listed} in {runtime}", record(feeds))
                        succeeded = True
                    except RunFailedError as error:
                        failures.append(f"at {listed} in {runtime}: {error}")
        if not succeeded:
            last = f"the last failure: {failures[-1]}" if failures else "there is none"
            raise AnalysisError(f"{self._where}: no run succeeds, so nothing is checked ({last})")

    def _data(self, result: Result, binding: Mapping[str, int]) -> Iterator[tuple[str, Mapping[str, object]]]:
        for seed in range(self._seeds):
            make = self._feeds
            yield f"seed {seed}", feeds_for(result, binding, seed=seed) if make is None else make(result, binding, seed)
        if self._feeds is None:
            yield "zeros", feeds_for(result, binding, values="zeros")
            yield "ones", feeds_for(result, binding, values="ones")
            if any(_is_signed(result.values[name]) for name in result.inputs):
                yield "signed", feeds_for(result, binding, seed=0, values="signed")

    def _hold(self, result: Result, name: str, element: T, value: object, where: str) -> None:
        for part in self._parts(value):
            if not self._allows(element, part):
                node = self._node_of(result, name)
                raise AnalysisError(
                    f"{self._where}: value {name!r}{node} is claimed to be {self._text(element)}, "
                    f"but {where} it is {_shown(part)}"
                )

    def _node_of(self, result: Result, name: str) -> str:
        for where, scope in result.scopes.items():
            prefix = f"{where}/" if where else ""
            if name.startswith(prefix) and (operand := scope.names.get(name.removeprefix(prefix))) is not None:
                return f" of {self._nodes[operand[0]]}" if operand[0] >= 0 else ""
        return ""

    def _parts(self, value: object) -> list[object]:
        """A value as `allows` takes it: each different element if the analysis is elementwise, else the whole."""
        if not self._analysis.elementwise:
            return [value]
        if value is None:
            return []
        if isinstance(value, list):
            return [part for item in value for part in self._parts(item)]
        array = np.asarray(value)
        if array.dtype.kind not in "biufcOSU":  # types of ml_dtypes
            array = array.astype(np.float64)
        return cast("list[object]", (array if array.dtype.kind in "OSU" else np.unique(array)).ravel().tolist())

    def _try(self, pool: Sequence[T]) -> None:
        domain = self._analysis.domain
        everything = [*pool, domain.bottom, domain.top]
        try:
            with tried(self._analysis, everything, self._text, self._tries, seed=0):
                analyze(self._model, with_=[self._analysis]).found_by(self._analysis)
        except MonotonyError as error:
            raise AnalysisError(f"{self._where}: {error}") from None

    def _check_laws(self, elements: Sequence[T], values: Sequence[object]) -> None:
        domain = self._analysis.domain
        met: list[T] = []
        for element in elements:
            if len(met) < LAW_ELEMENTS and element not in met:
                met.append(element)
        universe = values[:: max(1, len(values) // LAW_VALUES)][:LAW_VALUES]
        try:
            check_laws(domain, met, universe=universe, allows=self._allows)
        except LawError as error:
            raise AnalysisError(f"{self._where}: the domain {type(domain).__name__} has a {error}") from None

    def _text(self, element: T) -> str:
        own: Callable[[T], str] | None = getattr(self._analysis.domain, "text", None)
        return repr(element) if own is None else own(element)


def _name(model: Model, result: Result) -> str:
    if isinstance(model, (str, PathLike)):
        return str(model)
    return f"model {result.model.graph.name!r}"


def _is_signed(value: Value) -> bool:
    return isinstance(value, Tensor) and INTEGER_RANGES.get(value.dtype, (0, 0))[0] < 0


def _shown(value: object) -> str:
    return " ".join(np.array2string(value, threshold=8).split()) if isinstance(value, np.ndarray) else repr(value)
