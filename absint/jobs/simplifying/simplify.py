"""The job: a smaller copy of a model whose sizes stay symbolic, proved equal, in a file or in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from time import monotonic
from typing import Final

from onnx import ModelProto, NodeProto

from absint.errors import UsageError
from absint.jobs.copies.annotate import ASSUMING_KEY, gate_of
from absint.jobs.copies.saving import STANDARD_OUTPUT, pieces_of
from absint.jobs.diffing import diff
from absint.jobs.freezing.freeze import joined
from absint.jobs.freezing.rewriting import defined, rewrite
from absint.jobs.simplifying.graphs import Walk
from absint.jobs.simplifying.knowledge import Known
from absint.jobs.simplifying.shape_nodes import shape_nodes
from absint.lattices.limits import LONG
from absint.model.inference import Outline
from absint.model.load import Loaded, outlined_copy, with_outline
from absint.model.protos import domain_of, graphs
from absint.model.wire.splicing import size_of
from absint.model.writing import check_target, check_weights, write_copy
from absint.result import Result
from absint.solution.analysed import Analysed

PASSES: Final[Mapping[str, str]] = {
    "sizes": "numbers that nodes take as sizes, computed in the fewest nodes",
    "noops": "nodes that give back what they take",
    "pairs": "pairs of which one node does the work",
    "equal": "equal nodes, computed once",
    "constants": "nodes that compute the same in every run, and decided Ifs",
}
"""All passes, with what each of them simplifies. Nodes that nothing needs and that cannot fail go in any case."""

_MOST_ROUNDS: Final = 8
_LEAST: Final = 1e-3
"""Seconds for a proof that starts when the time is over."""


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
    """Those of the copy, each with the reason why it is there."""
    undone: Sequence[str]
    """Passes that were left out, since nothing proves that the copy with them is equal; each with the open point."""
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
    seconds: float = LONG,
) -> Simplified:
    """See `Result.simplify`."""
    chosen = tuple(PASSES) if passes is None else tuple(dict.fromkeys(passes))
    for name in chosen:
        if name not in PASSES:
            raise UsageError(f"unknown pass {name!r}: it is one of {', '.join(PASSES)}")
    analysed.require_sound("simplify")
    if analysed.limits_reached:
        raise UsageError("a limit cut the analysis short, so it is not known what is equal: allow more")
    if target and target != STANDARD_OUTPUT:
        check_target("", target)
    with analysed.loaded.opened() as opened:
        with analysed.loaded.reading():
            outline = Outline(opened.data)
        if target and target != STANDARD_OUTPUT:
            check_weights(outline.model, analysed.folder, target)
        job = _Job(analysed, outline.model, load=load, assume_legal=assume_legal, seconds=seconds)
        made, undone = job.proved(chosen)
        pieces = pieces_of(made, outline, opened)
        model, weights = None, []
        if target:
            weights = list(write_copy(opened, pieces, made, analysed.folder, target, copy_weights=copy_weights))
        else:
            model = joined(opened, pieces)
        return Simplified(
            model,
            target,
            operators(outline.model),
            operators(made),
            len(shape_nodes(outline.model)),
            shape_nodes(made),
            undone,
            len(opened.data),
            size_of(pieces),
            tuple(weights),
            job.dropped(made),
            job.unchecked,
        )


class _Job:
    """The copies of one model."""

    def __init__(
        self, analysed: Analysed, original: ModelProto, *, load: bool, assume_legal: bool, seconds: float
    ) -> None:
        self._analysed, self._original, self._load = copy(analysed), original, load
        self._analysed.loaded = with_outline(analysed.loaded, original)
        self._end = monotonic() + seconds
        self._opset = analysed.loaded.imports().get("", 0)
        self._is_legal = assume_legal
        self._dropped: dict[str, str] = {}
        self._unchecked = ""
        self.unchecked = ""
        """Of the copy that is proved: why it is not known whether it loads."""

    def dropped(self, copy: ModelProto) -> tuple[str, ...]:
        """The nodes that may fail and that the copy lacks."""
        left = {name for node in copy.graph.node for name in node.output}
        return tuple(text for name, text in self._dropped.items() if name not in left)

    def proved(self, passes: Sequence[str]) -> tuple[ModelProto, list[str]]:
        """The copy after as many of the passes as are proved, and those that are not, each with the open point."""
        copy = self._after(passes)
        reason = self._open(copy)
        if not reason:
            self.unchecked = self._unchecked
            return copy, []
        best, kept, undone = self._after([]), list[str](), list[str]()
        for name in passes:
            if monotonic() >= self._end:
                reason = "the time is over: allow more seconds"
            elif len(passes) > 1:
                copy = self._after([*kept, name])
                reason = self._open(copy)
            if reason:
                undone.append(f"{name}: {reason}")
            else:
                best, self.unchecked = copy, self._unchecked
                kept.append(name)
        return best, undone

    def _after(self, passes: Collection[str]) -> ModelProto:
        """A copy of the model after passes, repeated until nothing changes."""
        copy = ModelProto()
        copy.CopyFrom(self._original)
        main, *inner = graphs(copy.graph)
        names = {*defined(main)}
        is_hidden = any(not names.isdisjoint(defined(body)) for body in inner)  # renaming would take a body's own
        if not self._opset or copy.training_info or not passes or is_hidden:
            return copy
        analysed = self._analysed
        for _ in range(_MOST_ROUNDS):
            before = copy.SerializeToString(deterministic=True)
            if "constants" in passes:
                rewrite(analysed, copy, Known(analysed))
                if copy.SerializeToString(deterministic=True) != before:
                    analysed = self._again(copy)
            self._walked(copy, analysed, passes)
            if copy.SerializeToString(deterministic=True) == before or monotonic() >= self._end:
                break
            analysed = self._again(copy)
        if self._analysed.assumptions and copy != self._original:
            _state(copy, " and ".join(map(str, self._analysed.assumptions)))
        return copy

    def _walked(self, copy: ModelProto, analysed: Analysed, passes: Collection[str]) -> None:
        """Walk over the main graph, with the pass `sizes` if there are fewer nodes with it than without."""
        known, scope = Known(analysed), analysed.program.main
        best = None
        for chosen in (set(passes) - {"sizes"}, set(passes)):
            walk = Walk(copy, known, chosen, self._opset, scope)
            walked = walk.run(is_legal=self._is_legal)
            if best is None or len(walked.nodes) < len(best[1].nodes):
                best = walk, walked
        if best is not None:
            walk, walked = best
            walk.write(walked)
            self._dropped |= {next(filter(None, node.output), ""): _named(node) for node in walked.dropped}

    def _again(self, copy: ModelProto) -> Result:
        found = self._analysed.again(self._outlined(copy), {})
        assert isinstance(found, Result)
        return found

    def _outlined(self, copy: ModelProto) -> Loaded:
        return outlined_copy(copy, self._analysed.loaded)

    def _open(self, copy: ModelProto) -> str:
        """What keeps the copy from being proved equal; empty if it is."""
        self._unchecked = ""
        if copy == self._original:
            return ""
        gate = gate_of(self._analysed, self._original, load=self._load)
        checked = gate.rewritten(copy, self._original, gate)
        self._unchecked = checked.unchecked
        if checked.complaint:
            return checked.complaint
        assert isinstance(self._analysed, Result)
        found = diff(self._analysed, self._again(copy), evidence="none", seconds=max(self._end - monotonic(), _LEAST))
        if found.verdict == "same" or (self._is_legal and found.verdict == "compatible"):
            return ""
        widened = [str(unmet.relation) for unmet in (*found.contract.widened, *found.contract.widening_undecided)]
        wide = f"legal sizes widen ({widened[0]})" if widened else "it is another model"
        return "; ".join((*found.broken, *found.undecided)) or wide


def operators(model: ModelProto) -> Mapping[str, int]:
    """How many nodes of each operator there are, in all graphs, without constants."""
    found = Counter(
        f"{node.domain}::{node.op_type}" if domain_of(node.domain) else node.op_type
        for graph in graphs(model.graph)
        for node in graph.node
        if node.op_type != "Constant"
    )
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _named(node: NodeProto) -> str:
    return f"{node.op_type} {node.name}" if node.name else f"{node.op_type} that gives {', '.join(node.output)}"


def _state(model: ModelProto, text: str) -> None:
    """Write into the metadata where the copy is equal."""
    for entry in [item for item in model.metadata_props if item.key == ASSUMING_KEY]:
        model.metadata_props.remove(entry)
    model.metadata_props.add(key=ASSUMING_KEY, value=text)
