"""The job: a smaller copy of a model whose sizes stay symbolic, proved equal, in a file or in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Final, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto
from onnx.inliner import inline_local_functions

from absint.api import analyze
from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.jobs.copies import annotate, gate, saving
from absint.jobs.diffing.comparison import proof
from absint.jobs.rewriting import exact, folding, noops, rounds
from absint.lattices.limits import LONG, DeadlineError, Limits
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.sheets import plural
from absint.model.declared_types import write_entry
from absint.model.load import outlined_copy, with_outline
from absint.model.protos import bodies, copied, domain_of, graphs
from absint.program.graph import Scope
from absint.program.limits import checked
from absint.questions.proofs.proof import drawn
from absint.result import Result
from absint.runs.run import RunError, feeds_for, run
from absint.solution.analysed import Analysed
from absint.solution.loader_view import sized_by
from absint.transfer.traits import SHAPE_ALONE

_OVER: Final = "the time is over: allow more seconds"


@dataclass(frozen=True)
class Simplified:
    """A smaller model."""

    model: ModelProto | None
    """The copy, unless it was written to a file."""
    path: str
    """The file that it was written to; empty if it is in memory."""
    operators_before: Mapping[str, int]
    """How many nodes of each operator the original has, those of subgraphs included, constants not."""
    operators: Mapping[str, int]
    """The same of the copy."""
    shape_nodes_before: int
    """Nodes of the original that compute sizes of sizes alone."""
    shape_nodes: Sequence[str]
    """Those of the copy, each with the numbers that it computes, or why they are not known, and with its reader."""
    undone: Sequence[str]
    """Nodes that stay as they are, since nothing proves that the copy is equal otherwise; each with the open point."""
    bytes_before: int
    """Bytes of the original, external data not counted."""
    bytes: int
    """Bytes of the copy, counted in the same way."""
    weights_elsewhere: tuple[str, ...] = ()
    """Files of weights that runtimes look for beside the copy and that are beside the original."""
    dropped: tuple[str, ...] = ()
    """Nodes that may fail and that no output needs: they go where inputs count as legal."""
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads where the model does; empty if it does."""

    @property
    def nodes_before(self) -> int:
        """Nodes of the original without constants."""
        return sum(self.operators_before.values())

    @property
    def nodes(self) -> int:
        """Nodes of the copy without constants."""
        return sum(self.operators.values())

    def __str__(self) -> str:
        return f"simplified: {self.nodes:,} of {self.nodes_before:,} nodes"

    def __repr__(self) -> str:
        return f"<Simplified: {self}>"


def simplify(
    analysed: Analysed,
    passes: Collection[str] | None = None,
    target: str = "",
    *,
    copy_weights: bool = False,
    load: bool = True,
    assume_legal: bool = False,
    inline: bool = False,
    seconds: float = LONG,
) -> Simplified:
    """See `Result.simplify`."""
    checked(Limits(seconds))
    chosen = tuple(rounds.PASSES) if passes is None else tuple(dict.fromkeys(passes))
    for name in chosen:
        if name not in rounds.PASSES:
            raise UsageError(f"unknown pass {name!r}: it is one of {', '.join(rounds.PASSES)}")
    analysed.require_sound("simplify")
    if broken := next((error for error in analysed.lowered.diagnostics if error.severity is Severity.ERROR), None):
        raise UsageError(f"{broken.where}: {broken.message}, so no runtime loads the model: mend it first")
    if analysed.limits_reached:
        raise UsageError("a limit cut the analysis short, so it is not known what is equal: allow more")
    with saving.rewriting(analysed, target) as source:
        end = monotonic() + seconds
        given, original = rounds.in_order(analysed, source.outline.model)
        if inline:
            given, original = _inlined(given, original, end)
        found, undone = _Job(given, original, chosen, load=load, is_legal=assume_legal, end=end).proved()
        made, passed = source.made(found.model, copy_weights=copy_weights), found.passed
        computed = {name for node in found.model.graph.node for name in node.output}
        return Simplified(
            made.model,
            target,
            operators(original),
            operators(found.model),
            len(shape_nodes(original)),
            shape_nodes(found.model, passed.known, passed.found.program.main if passed.found else None),
            undone,
            len(source.opened.data),
            made.bytes,
            made.weights_elsewhere,
            tuple(named(node) for node in passed.nodes if computed.isdisjoint(filter(None, node.output))),
            found.unchecked,
        )


def _inlined(analysed: Analysed, model: ModelProto, end: float) -> tuple[Analysed, ModelProto]:
    """The model with the nodes of its functions in place of their calls. Raises UsageError if it may be another one."""
    if not model.functions:
        return analysed, model
    try:
        copy = inline_local_functions(model)
    except Exception as error:  # of any type that pybind11 makes of one of onnx
        raise UsageError(f"onnx cannot inline the functions: {' '.join(str(error).split())}") from None
    if copy.functions:
        left = ", ".join(sorted(function.name for function in copy.functions))
        raise UsageError(f"onnx does not inline {left}: simplify without inlining")
    found = analysed.again(outlined_copy(copy, analysed.loaded), {})
    try:
        verdict = proof(analysed, found, end - monotonic()).verdict
    except DeadlineError:
        raise UsageError(_OVER) from None
    if verdict != "same":
        raise UsageError("it is not proved that the functions do the same inlined: simplify without inlining")
    return found, copy


@dataclass(frozen=True)
class _Copy:
    """A copy that may be equal."""

    model: ModelProto
    passed: folding.Passed = field(default_factory=folding.Passed)
    unchecked: str = ""
    """Why it is not known whether it loads."""


class _Job:
    """The copies of one model."""

    def __init__(
        self, analysed: Analysed, original: ModelProto, passes: Sequence[str], *, load: bool, is_legal: bool, end: float
    ) -> None:
        self._analysed, self._original, self._passes, self._end = copy(analysed), original, passes, end
        self._analysed.loaded = with_outline(analysed.loaded, original)
        self._is_legal = is_legal
        self._gate = gate.Gate(self._analysed, original, load=load)
        self._known = exact.Known(self._analysed)

    def proved(self) -> tuple[_Copy, list[str]]:
        """The copy with as many changes as are proved, and the nodes whose change is not proved, with the open
        point.

        Where the whole is not proved, halves of the nodes are tried, and halves of those that are not.
        """
        best, reason = self._tried(self._after(()))
        if not reason:
            return best, [f"what more rounds of passes change: {_OVER}"] if best.passed.is_cut else []
        every = changed(self._original, best.model)
        best, free = _Copy(self._original), set[str]()
        pending, undone = [list(every)] if every else [], list[str]()
        is_first = True
        while pending:
            part = pending.pop()
            if monotonic() >= self._end:
                left = sum(map(len, pending)) + len(part)
                undone.append(f"{left:,} {plural('node', left)}: {_OVER}")
                break
            if not is_first:
                found, reason = self._tried(self._after({*every} - free - {*part}))
                if not reason:
                    best, free = found, free | {*part}
                    continue
            is_first = False
            if len(part) == 1:
                undone.append(f"{every[part[0]]}: {reason}")
            else:
                middle = len(part) // 2
                pending += [part[middle:], part[:middle]]
        return best, undone

    def _after(self, kept: Collection[str]) -> _Copy:
        """A copy of the model after the passes, repeated until nothing changes, but for nodes with these outputs."""
        model = copied(self._original)
        keeps_sizes = bool(sized_by(self._analysed)) and not self._gate.tells_shapes
        end = monotonic() + (self._end - monotonic()) * 2 / 3
        every = rounds.Rounds(self._passes, self._again, exact.Known, keeps_sizes, end, self._is_legal)
        return _Copy(model, every.run(model, self._analysed, self._known, kept))

    def _again(self, model: ModelProto) -> Analysed:
        return self._analysed.again(outlined_copy(model, self._analysed.loaded), {})

    def _tried(self, made: _Copy) -> tuple[_Copy, str]:
        """The copy, and what keeps it from being proved equal; empty if it is."""
        model = made.model
        if model == self._original:
            return made, ""
        if self._analysed.assumptions:
            write_entry(model, annotate.ASSUMING_KEY, " and ".join(map(str, self._analysed.assumptions)))
        checked = self._gate.rewritten(model, self._original, self._gate)
        made = replace(made, unchecked=checked.unchecked)
        if checked.complaint:
            return made, checked.complaint
        copy = self._again(model) if made.passed.found is None else made.passed.found
        left = (self._end - monotonic()) / 2  # where that is too short, there is time for halves of the changes
        if left <= 0:
            return made, _OVER
        try:
            found = proof(self._analysed, copy, left)
        except DeadlineError:
            return made, _OVER
        if found.verdict == "same" or (self._is_legal and found.verdict == "compatible"):
            return made, ""
        widened = [str(unmet.relation) for unmet in (*found.contract.widened, *found.contract.widening_undecided)]
        wide = f"legal sizes widen ({widened[0]})" if widened else "it is another model"
        return made, "; ".join((*found.broken, *found.undecided)) or wide


def changed(before: ModelProto, after: ModelProto) -> Mapping[str, str]:
    """The nodes that a copy lacks or has otherwise, by their first outputs, bodies not counted."""

    def alone(model: ModelProto) -> Mapping[str, list[NodeProto]]:
        found: dict[str, list[NodeProto]] = {}
        for node in (copied(node) for graph in graphs(model.graph) for node in graph.node):
            for attribute in node.attribute:
                attribute.ClearField("g")
            found.setdefault(next(filter(None, node.output), ""), []).append(node)
        return found

    left = alone(after)
    return {name: named(nodes[0]) for name, nodes in alone(before).items() if name and nodes != left.get(name)}


def operators(model: ModelProto) -> Mapping[str, int]:
    """How many nodes of each operator there are, in all graphs, without constants."""
    found = Counter(
        f"{node.domain}::{node.op_type}" if domain_of(node.domain) else node.op_type
        for graph in graphs(model.graph)
        for node in graph.node
        if node.op_type != "Constant"
    )
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


# Nodes that compute with sizes alone: Shape and Size, and small nodes whose operands are such nodes and constants.

_WORDS: Final = """
    Abs Add And Cast Ceil Clip Concat Div Equal Exp Floor Gather GatherElements Greater GreaterOrEqual Identity Less
    LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round
    Sign Slice Split Sqrt Squeeze Sub Transpose Unsqueeze Where Xor
"""
_SMALL: Final = frozenset(_WORDS.split())
"""Operators that shapes are computed with. Those that make a tensor of a given shape (Expand, Range) use sizes."""


def shape_nodes(model: ModelProto, known: exact.Exact | None = None, scope: Scope | None = None) -> Sequence[str]:
    """The shape nodes of the main graph, each with what it is there for: the node that reads it and, if what is known
    of the model is given, the numbers that the node computes, or why it stays without them.
    """
    graph = model.graph
    constants = {tensor.name for tensor in graph.initializer} | {""}
    sizes: dict[str, tuple[int, NodeProto]] = {}
    for place, node in enumerate(graph.node):
        if node.op_type == "Constant":
            constants.update(node.output)
        elif node.op_type in SHAPE_ALONE and not node.domain:
            sizes.update(dict.fromkeys(node.output, (place, node)))
        elif node.op_type in _SMALL and not node.domain and not bodies(node):
            computed = [name for name in node.input if name not in constants]
            if computed and all(name in sizes for name in computed):
                sizes.update(dict.fromkeys(node.output, (place, node)))
    readers = {name: node for node in graph.node for name in folding.reads(node)}
    found = {}
    for name, (place, node) in sizes.items():
        reader = readers.get(name)
        why = "an output" if reader is None else f"read by {named(reader)}"
        if known is not None and scope is not None:
            numbers = noops.numbers_of(known.tensor(scope.find(name)))
            given = "may fail" if not known.is_sure(node, place, scope, "") else "elements are not known"
            if numbers is not None and given != "may fail":
                given = f"gives {', '.join(map(str, numbers))}"
            why = f"{given}, {why}"
        found[id(node)] = f"{named(node)}: {why}"
    return list(found.values())


def named(node: NodeProto) -> str:
    """The operator and the name of a node, or what it gives."""
    return f"{node.op_type} {node.name}" if node.name else f"{node.op_type} that gives {', '.join(node.output)}"


# Runs of a model and of its copy on the same inputs, compared bit by bit.


_SAMPLES: Final = 3


class Runs(NamedTuple):
    """The outcome of running a model and its copy."""

    differences: Sequence[str]
    both: int
    """How many there were of both in which some output was compared."""
    random: Sequence[str]
    """The outputs that were not compared, since they are of random numbers."""


def runs_of_both(result: Result, path: str) -> Runs:
    """Run a model and the copy at this path at three legal sizes, without optimisations. Outputs that differ are
    compared once more where no weights are packed.

    Raises MissingRuntimeError without onnxruntime, UsageError for inputs that nobody can make up.
    """
    copy, random = analyze(path), drawn(result)
    samples: Iterable[Mapping[str, int]] = result.samples(_SAMPLES).sizes if result.parameters else ({},)
    tried = [(format_sizes(at, "the only sizes"), *compared(result, copy, at, random)) for at in samples]
    both = sum(ran for *_, ran in tried) if random < set(result.outputs) else 0
    return Runs([f"at {at} {text}" for at, text, _ in tried if text], both, sorted(random))


def compared(
    result: Result,
    copy: Result,
    sizes: Mapping[str, int],
    random: Container[str] = (),
    *,
    isolated: bool = True,
    seconds: float = LONG,
) -> tuple[str, bool]:
    """How a model and its copy differ at these sizes, random outputs apart, and whether both run.

    Only an isolated run has a limit of time: a copy that is slower than that differs.
    """
    feeds = feeds_for(result, sizes, seed=1)
    before, after = (_outputs(each, feeds, isolated, seconds) for each in (result, copy))
    if isinstance(before, str) or isinstance(after, str):
        if isinstance(before, str) and isinstance(after, str):
            return "", False
        fails = "the model" if isinstance(before, str) else "the copy"
        return f"{fails} alone fails: {before if isinstance(before, str) else after}", False
    differing = next(_differing(before, after, random), None)
    if differing is not None:  # a weight may be a constant in the copy alone, which kernels pack, and round otherwise
        before, after = (_outputs(each, feeds, isolated, seconds, packed=False) for each in (result, copy))
        if not isinstance(before, str) and not isinstance(after, str):
            differing = next(_differing(before, after, random), None)
    return "" if differing is None else f"output {differing!r} differs", True


def _outputs(
    result: Result, feeds: Mapping[str, object], isolated: bool, seconds: float, *, packed: bool = True
) -> Mapping[str, object] | str:
    try:
        return run(result, feeds, isolated=isolated, seconds=seconds, packed=packed)
    except RunError as error:
        return " ".join(str(error).split())[:200]


def _differing(before: Mapping[str, object], after: Mapping[str, object], random: Container[str]) -> Iterator[str]:
    for name, value in before.items():
        if name not in after or not (name in random or _same(value, after[name])):
            yield name


def _same(a: object, b: object) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return bool(a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return repr(a) == repr(b)
