"""The one gate of all copies: types that a runtime would hold against a model are left out.

A runtime infers types again as it loads a model, and finds more where types are declared. That may wake a check that
refuses what kernels run, give a scan output after no trip other sizes, or make it allocate an output that has other
sizes in a run. onnx's inference is asked, and onnxruntime loads the copy: branches see the constants around them there.
Where onnxruntime is not asked, the rules of absint say what a load refuses (`solution/loading.py`). Types that change
what these find are searched for, and removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from onnx.onnx_pb import GraphProto, ModelProto, TypeProto, ValueInfoProto

from absint.jobs.copies.loading import Loading, is_load_needed
from absint.model import inference
from absint.model.inference import MAX_INFERRED, Refusals, refusals
from absint.model.load import outlined_copy
from absint.model.protos import copied, graphs, graphs_in, remove
from absint.program.graph import Scope
from absint.runs.loading import Sizes, begin as begin_loading, place
from absint.solution.analysed import Analysed
from absint.solution.loader_view import busy_loops, sized_by
from absint.solution.loading import load_errors

MAX_LEFT_OUT: Final = 64
"""Most types that are searched for one at a time; if more are in the way, all that was written is removed."""


_NO_LOAD: Final = "the copy does not load"


class LeftOut(NamedTuple):
    """A type that was not written, and the check that it triggers."""

    value: str
    path: str
    reason: str
    effect: str = _NO_LOAD
    """The consequence of writing the type."""

    def __str__(self) -> str:
        where = f"{self.path}/{self.value}" if self.path else self.value
        return f"the type of {where!r} is left out: with it {self.effect} ({self.reason})"


class Body(NamedTuple):
    """A graph of the original model, and its copy, with the names that the analysis knows in it."""

    original: GraphProto
    graph: GraphProto
    scope: Scope
    path: str


class Checked(NamedTuple):
    """The outcome of the gate."""

    left_out: Sequence[LeftOut] = ()
    unchecked: str = ""
    """One line on why nobody knows whether the copy loads; empty if it does wherever the model does."""
    complaint: str = ""
    """One line on what is wrong with the copy, whatever its types."""


class Written(NamedTuple):
    """One type that was written into a graph; it can be removed, and written again."""

    value: str
    path: str
    place: str
    """The graph, as the answers of onnxruntime name it."""
    sizes: Sizes
    """The sizes in the type; None for an unknown rank and for what is no tensor."""
    undo: Callable[[], None]
    redo: Callable[[], None]


class Complaint(NamedTuple):
    """Something that the copy does and the model does not."""

    reason: str
    effect: str = _NO_LOAD
    culprit: Written | None = None
    """The type behind it, if that is known."""

    def __str__(self) -> str:
        return f"{self.effect}: {self.reason}"

    def without(self, item: Written) -> LeftOut:
        return LeftOut(item.value, item.path, self.reason, self.effect)


Judge = Callable[[], "Complaint | None"]
"""Looks at the copy as it is."""


def begin(analysed: Analysed, *, load: bool) -> None:
    """Start the processes of the gate, which load while a copy is made."""
    if len(analysed.nodes) <= MAX_INFERRED:
        inference.begin()
        if load and is_load_needed(analysed.loaded.model):
            begin_loading()


class Gate:
    """Lets the copies of the analysed model pass.

    With `load`, onnxruntime loads them if it is installed and may see more than onnx's inference; else the rules of
    absint judge.
    """

    def __init__(self, analysed: Analysed, original: ModelProto, *, load: bool) -> None:
        self._analysed, self._original, self._is_loaded = analysed, original, load
        self._is_open = len(analysed.nodes) > MAX_INFERRED

    @cached_property
    def _known(self) -> Refusals:
        return refusals(self._original)

    @cached_property
    def _loading(self) -> Loading:
        busy, has_refusals = busy_loops(self._analysed), bool(self._known.found)
        return Loading(self._original, busy, has_refusals=has_refusals, load=self._is_loaded)

    @property
    def tells_shapes(self) -> bool:
        """onnxruntime says which shapes it finds in the bodies of the model."""
        return not self._is_open and self._loading.tells_shapes

    @property
    def unchecked(self) -> str:
        """One line on why nobody knows whether a copy loads where the model does."""
        return "" if self._is_open else self._known.lost or self._loading.lost

    def checked(self, copy: ModelProto, bodies: Sequence[Body]) -> Checked:
        """Remove the types of a copy with the same nodes that a runtime would hold against it."""
        written = list(_written(copy, bodies))
        if not written or self._is_open:
            return Checked()
        found, _ = self._passing(copy, written, self)
        if not self._loading.tells_shapes:
            found += self._without_idle(written, bodies)
        for before, after, *_ in bodies:
            _prune(after, {info.name for info in before.value_info})
        return Checked(found, self.unchecked)

    def rewritten(self, copy: ModelProto, base: ModelProto, typed: Gate) -> Checked:
        """As `checked`, for a copy of `base` with other nodes and more types; `typed` is the gate of `base`."""
        if self._is_open:
            return Checked()
        old = {info.name: info.type for graph in graphs(base.graph) for info in (*graph.value_info, *graph.output)}
        placed = list(_placed(copy.graph))
        written = [
            _change(info, old.get(info.name, TypeProto()), where, where)
            for graph, where in placed
            for info in (*graph.value_info, *graph.output)
            if info.type != old.get(info.name)
        ]
        found, left = self._passing(copy, written, typed)
        for graph, _ in placed:
            _prune(graph, old)
        return Checked(found, self.unchecked, left)

    def _passing(self, copy: ModelProto, written: list[Written], typed: Gate) -> tuple[list[LeftOut], str]:
        """Remove types until the copy passes; these types, and a complaint that no type is behind."""
        found: list[LeftOut] = []
        left: Complaint | None = None
        if not self._known.lost:
            found, left = _taken_back(written, lambda: _about(refusals(copy).new(self._known)))
        if self._loading.is_possible and left is None:
            more, left = _taken_back(written, lambda: _changed(copy, self._loading, typed._loading, written))
            found += more
        elif self._loading.lost and left is None:
            before = self._rules(self._original)
            more, left = _taken_back(written, lambda: _about(min(self._rules(copy) - before, default="")))
            found += more
        return found, "" if left is None else str(left)

    def _rules(self, model: ModelProto) -> frozenset[str]:
        """The reasons why a model does not load, by the rules of absint."""
        if self._analysed.analyze is None:
            return frozenset()
        copy = self._analysed.again(outlined_copy(model, self._analysed.loaded), {})
        return frozenset(error.where or f"{copy.nodes[error.node]}: {error.reason}" for error in load_errors(copy))

    def _without_idle(self, written: list[Written], bodies: Sequence[Body]) -> Iterator[LeftOut]:
        """Remove the types that a loop without a trip may take sizes from: nobody has seen whether it does."""
        sizing = sized_by(self._analysed)
        named = ((body.path, name, node) for body in bodies for name, (node, _) in body.scope.names.items())
        idle = {(path, name) for path, name, node in named if node in sizing}
        for item in [item for item in written if (item.path, item.value) in idle]:
            item.undo()
            written.remove(item)
            reason = "onnxruntime was not asked whether it does"
            yield LeftOut(item.value, item.path, reason, "a loop without a trip may get other sizes")


def _prune(graph: GraphProto, known: Container[str]) -> None:
    """Remove what was added about values whose types were removed again."""
    remove(graph.value_info, lambda info: not info.HasField("type") and info.name not in known)


def _about(reason: str | None) -> Complaint | None:
    return Complaint(reason) if reason else None


def _changed(copy: ModelProto, loading: Loading, typed: Loading, written: Sequence[Written]) -> Complaint | None:
    """Something that onnxruntime makes of the copy only; `typed` is of the model with the sizes of the copy."""
    refused = loading.refusal(copy)
    if refused:
        return Complaint(refused)
    for item in written:
        found = typed.wrong_sizes(loading.latest, item.place, item.value, item.sizes)
        if found is not None:
            what = f"onnxruntime takes {item.value!r} for {list(found)}"
            return Complaint("it has other sizes in some runs", what, item)
    changed = typed.other_stacked(loading.latest)
    if changed:
        return Complaint(f"sizes of {changed!r} in its body", "onnxruntime gives a loop without a trip other sizes")
    return None


def _taken_back(written: list[Written], judge: Judge) -> tuple[list[LeftOut], Complaint | None]:
    """Remove types until there is no complaint that one of them is behind; these types, and the complaint left."""
    found: list[LeftOut] = []
    while (complaint := judge()) is not None:
        if len(found) == MAX_LEFT_OUT:
            for item in written:
                item.undo()
            found += map(complaint.without, written)
            written.clear()
            return found, judge()
        culprit = complaint.culprit or _culprit(written, judge)
        if culprit is None:
            return found, complaint
        culprit.undo()
        written.remove(culprit)
        found.append(complaint.without(culprit))
    return found, None


def _culprit(written: Sequence[Written], judge: Judge) -> Written | None:
    """The last type of the shortest prefix that triggers a complaint; all types are in place before and after."""
    for item in written:
        item.undo()
    complaint = judge()
    there, low, high = 0, 0, len(written)  # the first `low` types trigger nothing, the first `high` do
    while complaint is None and high - low > 1:
        middle = (low + high) // 2
        for item in written[there:middle]:
            item.redo()
        for item in reversed(written[middle:there]):
            item.undo()
        there = middle
        low, high = (low, middle) if judge() is not None else (middle, high)
    for item in written:
        item.redo()
    return written[high - 1] if complaint is None else None


def _written(copy: ModelProto, bodies: Iterable[Body]) -> Iterator[Written]:
    """The types of the annotated graphs that the original ones lack."""
    places = {id(graph): where for graph, where in _placed(copy.graph)}  # protobuf keeps one object for each graph
    for before, after, _, path in bodies:
        for infos, olds in ((after.value_info, before.value_info), (after.output, before.output)):
            for at, info in enumerate(infos):
                old = olds[at].type if at < len(olds) else TypeProto()
                if old != info.type:
                    yield _change(info, old, path, places[id(after)])


def _placed(main: GraphProto) -> Iterator[tuple[GraphProto, str]]:
    """Every graph, with its name in the answers of onnxruntime."""
    pending = [(main, "")]
    while pending:
        graph, path = pending.pop()
        yield graph, path
        for node in graph.node:
            output = next(filter(None, node.output), "")
            for attribute in node.attribute:
                pending.extend((body, place(path, output, attribute.name)) for body in graphs_in(attribute))


def _change(info: ValueInfoProto, old: TypeProto, path: str, where: str) -> Written:
    new = copied(info.type)

    def undo() -> None:
        info.ClearField("type")
        if old.WhichOneof("value") is not None:
            info.type.CopyFrom(old)

    return Written(info.name, path, where, _sizes(new), undo, lambda: info.type.CopyFrom(new))


def _sizes(proto: TypeProto) -> Sizes:
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    return tuple(d.dim_value if d.HasField("dim_value") else None for d in proto.tensor_type.shape.dim)
