"""Runs of a model, and the shapes that its values have in them.

onnxruntime runs the model with every value of the main graph as an output. Where it has no kernel for a node, onnx's
reference implementation takes its place, for a model that is small; it also shows the values of bodies, which count
where it agrees with onnxruntime on all others. Either is a process of its own.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import inf
from time import perf_counter
from typing import Final, NamedTuple, cast

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

from absint.errors import AbsintError, UsageError
from absint.jobs.auditing.run_process import MARK
from absint.lattices.terms.expr import Expr, Symbol
from absint.lattices.terms.normal import sole_atom
from absint.lattices.value import Tensor
from absint.model.protos import copied, domain_of, graphs_in, overload_of
from absint.packages import is_installed
from absint.program.steps import LOWERED
from absint.questions.claims.claims import Observed
from absint.runs import allowance, process, session
from absint.runs.pool import kept, one_line
from absint.runs.run import KINDS, RunError, beside, feeds_for, in_one_line, with_outputs
from absint.solution.analysed import Analysed
from absint.solver.constraints import meets

# The graphs of a model with the paths that the analysis gives them: the main graph, bodies, calls of functions.

MAX_NODES: Final = 1_000_000
"""Most nodes to visit; function calls that multiply them further are left out."""


class Body(NamedTuple):
    """A graph of the model."""

    path: str
    graph: GraphProto | FunctionProto
    """The body itself; that of a function once for each call."""
    node: NodeProto | None = None
    """The node whose body it is; None for the main graph."""

    def key(self, name: str) -> str:
        """The name of a value of it among all values of the model."""
        return f"{self.path}/{name}" if self.path else name

    @property
    def declared(self) -> Iterator[ValueInfoProto]:
        """The declarations of its values; in the main graph, of those that are computed."""
        if isinstance(self.graph, FunctionProto):
            yield from getattr(self.graph, "value_info", ())
            return
        if self.path:
            yield from self.graph.input
        yield from self.graph.value_info
        yield from self.graph.output


def bodies(model: ModelProto) -> list[Body]:
    """Every graph whose path is its own, the main graph first."""
    found = list(walked(model))
    uses = Counter(body.path for body in found)
    return [body for body in found if uses[body.path] == 1]


def walked(model: ModelProto, *, copies: bool = False) -> Iterator[Body]:
    """Every graph, outer ones first; with `copies` each call of a function has one of its own."""
    functions = {(domain_of(f.domain), f.name, overload_of(f)): f for f in model.functions}
    pending: list[tuple[Body, tuple[FunctionProto, ...]]] = [(Body("", model.graph), ())]
    visited = 0
    while pending and visited <= MAX_NODES:
        body, calls = pending.pop()
        yield body
        visited += len(body.graph.node)
        inner: list[tuple[Body, tuple[FunctionProto, ...]]] = []
        for number, node in zip(count(), body.graph.node):
            label = body.key(node.name or f"{node.op_type}#{number}")
            function = functions.get((domain_of(node.domain), node.op_type, getattr(node, "overload", "")))
            if function is not None:
                if all(function is not caller for caller in calls):
                    own = FunctionProto.FromString(function.SerializeToString()) if copies else function
                    inner.append((Body(label, own, node), (*calls, function)))
            elif not domain_of(node.domain) and node.op_type in LOWERED:
                held = ((a.name, graph) for a in node.attribute for graph in graphs_in(a))
                inner += [(Body(f"{label}/{name}", graph, node), calls) for name, graph in held]
        pending.extend(reversed(inner))


Feeds = Mapping[str, object]
Reply = dict[str, list[tuple[int, ...]]] | str
"""The shapes of the values of a run, or one line on why there is none."""

SECONDS: Final = 60.0
MAX_BYTES_BY_REFERENCE: Final = 4 << 20
NOT_INSTALLED: Final = "onnxruntime is not installed: pip install 'absint[run]'"
_RUN: Final = "absint.jobs.auditing.run_process:run"
_FROM_ONNXRUNTIME: Final = "[ONNXRuntimeError]"
_TRUE: Final = "absint.true"
_BOOL: Final = 9


class Runs:
    """The runs of one model, in the order in which they were made."""

    def __init__(self, result: Analysed, seconds: float = SECONDS) -> None:
        self._result, self._seconds = result, seconds
        self._every = True
        self._tried: dict[tuple[tuple[str, int], ...], str] = {}
        self._failure = ""
        self._by_reference = result.loaded.size <= MAX_BYTES_BY_REFERENCE
        self.missing = ""
        """One line if onnxruntime is not installed."""
        self.deadline = inf
        """The time, on the clock of `perf_counter`, after which there are no more runs."""
        self.inner = False
        """Bodies are observed too."""
        self.observed: list[Observed] = []

    @property
    def failure(self) -> str:
        """The reason of the last failure."""
        return self._told(self._failure)

    def failure_at(self, sizes: Mapping[str, int]) -> str:
        """The reason why a run at these sizes failed, or else that of the last failure."""
        return self._told(self._tried.get(_key(sizes)) or self._failure)

    def _told(self, failure: str) -> str:
        if self.missing and failure != self.missing:
            return f"{self.missing}; onnx.reference: {failure}"
        return allowance.explained(in_one_line(failure) if _FROM_ONNXRUNTIME in failure else failure)

    @property
    def refused(self) -> bool:
        """The last failure was in onnxruntime, for a reason that says something about the model."""
        return _FROM_ONNXRUNTIME in self._failure and not self._is_without_kernel()

    def tried(self, sizes: Mapping[str, int]) -> bool:
        """There was a run at these sizes."""
        return _key(sizes) in self._tried

    def given(self, sizes: Sequence[Mapping[str, int]], feeds: Sequence[Feeds]) -> None:
        """Run on feeds, and at sizes, that are known to be good, unless the declarations rule them out."""
        found = [(self._sizes_in(one), one) for one in feeds]
        self.run([(at, one) for at, one in found if at is not None])
        self.at([at for at in sizes if self._is_legal(at)])

    def _is_legal(self, sizes: Mapping[str, int]) -> bool:
        """Sizes are given for all input symbols, and meet the declarations and assumptions."""
        result = self._result
        assumed = (relation for relation in result.assumptions if relation.free_symbols <= sizes.keys())
        return sizes.keys() == set(result.symbols) and meets([*result.declared_premises, *assumed], sizes)

    def _sizes_in(self, feeds: Feeds) -> Mapping[str, int] | None:
        """The sizes of the symbols that feeds show; None if they do not show all, or are not as declared."""
        found: dict[str, int] = {}
        shown = [(dim, size) for dim, size in self._shown(feeds) if isinstance(dim, Expr)]
        for dim, size in shown:
            if isinstance(atom := sole_atom(dim), Symbol):
                found.setdefault(atom.name, size)
        if not self._is_legal(found) or any(dim.evaluate(found) != size for dim, size in shown):
            return None
        return found

    def _shown(self, feeds: Feeds) -> Iterator[tuple[object, int]]:
        for name, array in feeds.items():
            value = self._result.values.get(name)
            shape: Sequence[int] = getattr(array, "shape", ())
            if isinstance(value, Tensor) and value.shape.rank == len(shape):
                yield from zip(value.shape.dims, shape, strict=True)

    def at(self, bindings: Sequence[Mapping[str, int]]) -> list[Observed]:
        """Run at those of these sizes that are new, on random data, zeros and ones; what the runs showed."""
        attempts: list[tuple[Mapping[str, int], Feeds]] = []
        for sizes in bindings:
            if not self.tried(sizes):
                self._tried[_key(sizes)] = ""
                attempts += [(sizes, feeds) for feeds in self._feeds(sizes)]
        return self.run(attempts)

    def run(self, attempts: Sequence[tuple[Mapping[str, int], Feeds]]) -> list[Observed]:
        """Run on these feeds; what successful runs showed."""
        if not attempts:
            return []
        found = self._observed(attempts, reference=False)
        alone = not any(found) and self._is_without_kernel()
        if (self.inner or alone) and self._by_reference:
            more = self._observed(attempts, reference=True)
            if alone:
                found += [run for run in more if run is not None and self._is_known(run)]
            else:
                pairs = zip(found, more, strict=True)
                found += [o for run, o in pairs if run is not None and o is not None and o.agrees(run)]
        kept = [run for run in found if run is not None]
        self.observed += kept
        return kept

    def _is_without_kernel(self) -> bool:
        """onnxruntime did not run the model, for a reason that says nothing about the model."""
        return bool(self.missing) or "NOT_IMPLEMENTED" in self._failure

    def _is_known(self, run: Observed) -> bool:
        """The reference implementation, where nothing else runs the model, shows what the analysis says."""
        symbols = set(self._result.symbols)
        for name, shapes in run.shapes.items():
            known = self._result.shapes.get(name)
            if known is None or known.rank is None or len(shapes) != 1:
                continue
            if known.rank != len(shapes[0]):
                return False
            for dim, size in zip(known.dims, shapes[0], strict=True):
                stated = dim.at(run.sizes) if isinstance(dim, Expr) and dim.free_symbols <= symbols else None
                if stated not in (None, size):
                    return False
        return True

    def _feeds(self, sizes: Mapping[str, int]) -> Iterator[Feeds]:
        try:
            if reason := allowance.unmade(self._result, sizes):
                raise UsageError(reason)
            for kind in KINDS:
                yield feeds_for(self._result, sizes, seed=0, values=kind)
        except AbsintError as error:
            self._failure = str(error)

    def _observed(
        self, attempts: Sequence[tuple[Mapping[str, int], Feeds]], *, reference: bool
    ) -> list[Observed | None]:
        """For each attempt what it showed, if it succeeded."""
        feeds = [feeds for _, feeds in attempts]
        replies: list[Reply] = []
        try:
            replies = self._replies(feeds, reference)
        except process.ProcessError as error:
            self._failure = str(error)
            if error.outcome in ("died", "timed out"):  # some of them may run
                replies = self._one_by_one(attempts, reference) if len(feeds) > 1 else []
            elif reference:
                self._by_reference = False  # the next attempt would fail too
            elif self._every and not self.missing:
                self._every = False  # some value may have a type that outputs may not have
                return self._observed(attempts, reference=False)
        self._failure = next((reply for reply in replies if isinstance(reply, str)), self._failure)
        if not replies:
            return [None] * len(attempts)
        pairs = list(zip(attempts, replies, strict=True))
        self._tried |= {_key(sizes): reply for (sizes, _), reply in pairs if isinstance(reply, str)}
        return [None if isinstance(reply, str) else Observed(sizes, reply) for (sizes, _), reply in pairs]

    def _one_by_one(self, attempts: Sequence[tuple[Mapping[str, int], Feeds]], reference: bool) -> list[Reply]:
        """A reply for each attempt; one line for sizes at which the process died or met its limit before."""
        replies: list[Reply] = []
        lost: dict[tuple[tuple[str, int], ...], str] = {}
        for sizes, feeds in attempts:
            known = lost.get(_key(sizes))
            try:
                replies += [known] if known else self._replies([feeds], reference)
            except process.ProcessError as error:
                replies.append(lost.setdefault(_key(sizes), str(error)))
        return replies

    def _replies(self, feeds: Sequence[Feeds], reference: bool) -> list[Reply]:
        if not reference and not is_installed("onnxruntime"):
            self.missing = NOT_INSTALLED
        if not reference and self.missing:
            raise process.ProcessError(self.missing, "not started")
        model, names = self._by_paths() if reference else self._with_all_values()
        request = (model, names, self._called_once() if reference else {}, feeds, reference)
        left = self.deadline - perf_counter()
        if left <= 0:
            raise process.ProcessError("the time for runs is used up; seconds= (--seconds) allows more", "timed out")
        try:
            # at most half of the time that is left: another run may end
            return cast("list[Reply]", kept(_RUN).ask(request, min(self._seconds, left / 2)))
        except process.ProcessError as error:
            if not reference and error.failure is not None and error.failure.is_a("ImportError"):
                self.missing = f"onnxruntime cannot be imported: {one_line(error.failure.text)}"
                raise process.ProcessError(self.missing, "not started") from None
            raise

    def _with_all_values(self) -> tuple[session.Handed, list[str]]:
        """The model with every value that a node of the main graph computes as an output, if it loads like that."""
        nodes = self._result.nodes
        inner = self._result.operands.items()
        computed = [n for n, (node, _) in inner if self._every and node >= 0 and nodes[node].value is None]
        outputs = self._result.outputs
        try:
            names = list(dict.fromkeys([*outputs, *computed]))
            return with_outputs(self._result, [n for n in computed if n not in outputs]), names
        except RunError as error:
            raise process.ProcessError(str(error), "not started") from None

    def _by_paths(self) -> tuple[session.Handed, list[str]]:
        """The model with the graph of each body named by its path."""
        copy = copied(self._result.model)
        calls = tuple(f"{body.path}/" for body in bodies(copy) if isinstance(body.graph, FunctionProto))
        for body in bodies(copy):
            if isinstance(body.graph, FunctionProto) or body.path.startswith(calls):
                continue
            if body.path:
                body.graph.name = f"{MARK}{body.path}"
            for node in body.graph.node:
                if node.op_type == "Loop" and len(node.input) > 1 and not node.input[1]:
                    node.input[1] = _TRUE  # the reference implementation takes an absent condition for false
        copy.graph.initializer.add(name=_TRUE, data_type=_BOOL, raw_data=b"\1")
        return session.Handed(None, copy.SerializeToString(), beside(self._result)), []

    def _called_once(self) -> dict[tuple[str, str], str]:
        calls: dict[tuple[str, str], list[str]] = {}
        for body in bodies(self._result.loaded.outline()):
            if isinstance(body.graph, FunctionProto):
                calls.setdefault((body.graph.domain, body.graph.name), []).append(body.path)
        return {function: paths[0] for function, paths in calls.items() if len(paths) == 1}


def _key(sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(sizes.items()))
