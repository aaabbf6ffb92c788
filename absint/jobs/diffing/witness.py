"""Runs of both models on the same inputs, each in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from absint.errors import AbsintError
from absint.jobs.diffing.correspondence import Pair, both
from absint.lattices.deadline import remaining
from absint.model.schemas import since
from absint.model.walk import bodies, graphs, graphs_in
from absint.model.wire.fields import content_of
from absint.questions.sizes.checking import Judge
from absint.questions.sizes.start import Sizes
from absint.solution.analysed import Analysed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

    from absint.runs.run import Kind


Side = Literal["A", "B"]

Seen = Mapping[str, tuple[int, ...]] | str
"""The shapes of outputs, the length of a sequence as its shape; or the reason why the run failed."""

MOST_RUNS: Final = 16
"""Most sizes at which the models of one comparison are run."""

MOST_ELEMENTS: Final = 1 << 22
"""Most elements of one input of a run."""

SECONDS: Final = 60.0
LEAST_SECONDS: Final = 0.5
"""Seconds that must be left for a run to begin."""

_KINDS: Final[tuple[Kind, ...]] = ("random", "zeros", "ones")


class Shown(NamedTuple):
    """A run of both models on the same inputs."""

    source: Seen
    """The model whose symbols gave the sizes."""
    target: Seen


class Both:
    """Runs of two models; each pair of runs is made once."""

    def __init__(self, first: Analysed, second: Analysed, inputs: Sequence[Pair], *, allowed: bool) -> None:
        """Nothing is run unless it is `allowed`: then the rules alone say at which sizes a model runs."""
        self._models: dict[Side, Analysed] = {"A": first, "B": second}
        self._names = {"A": dict(both(inputs)), "B": {b: a for a, b in both(inputs)}}
        self._seen: dict[tuple[Side, tuple[tuple[str, int], ...]], Shown] = {}
        self._allowed = allowed
        self.why_not = "" if allowed else "no model is run"
        """The reason why the last pair of runs was not made."""

    def promised(self, side: Side, sizes: Sizes) -> bool:
        """The rules promise that the model runs at these sizes of its symbols."""
        return self._models[side].once(Judge).runs(sizes)

    def at(self, side: Side, sizes: Sizes) -> Shown | None:
        """Runs of both at sizes of the symbols of one, on random data, else on zeros or ones; None without a run."""
        key = side, tuple(sizes.items())
        if key not in self._seen:
            if not self._allowed or self._is_late() or self._is_too_large(side, sizes):
                return None
            self._seen[key] = self._run(side, sizes)
        return self._seen[key]

    def _run(self, side: Side, sizes: Sizes) -> Shown:
        source, target = self._models[side], self._models["B" if side == "A" else "A"]
        names = self._names[side]
        first = ""
        for feeds in self._feeds(source, sizes):
            seen = feeds if isinstance(feeds, str) else _shapes(source, feeds)
            if isinstance(feeds, str) or isinstance(seen, str):
                first = first or str(seen)
                continue
            given = {names[name]: array for name, array in feeds.items() if name in names}
            missing = [name for name in target.inputs if name not in given]
            if missing:
                return Shown(seen, f"it needs input {', '.join(map(repr, missing))}")
            return Shown(seen, _shapes(target, given))
        return Shown(first, "")

    def _feeds(self, source: Analysed, sizes: Sizes) -> Iterator[Mapping[str, npt.NDArray[np.generic]] | str]:
        from absint.runs.run import feeds_for

        for kind in _KINDS:
            try:
                yield feeds_for(source, sizes, seed=0, values=kind)
            except AbsintError as error:
                yield str(error)
                return

    def _is_late(self) -> bool:
        if remaining(SECONDS) < LEAST_SECONDS:
            self.why_not = "there is no time left for a run"
        elif len(self._seen) >= MOST_RUNS:
            self.why_not = f"there were {MOST_RUNS} runs already"
        else:
            return False
        return True

    def _is_too_large(self, side: Side, sizes: Sizes) -> bool:
        model = self._models[side]
        shapes = [model.shapes[name] for name in model.inputs if name in model.shapes]
        try:
            large = any(s.rank is not None and prod(s.evaluate(sizes)) > MOST_ELEMENTS for s in shapes)
        except (ValueError, ArithmeticError, KeyError) as error:
            self.why_not = f"no inputs of these sizes are made: {error}"
            return True
        if large:
            self.why_not = "the inputs are too large to be made for a run"
        return large


def _shapes(model: Analysed, feeds: Mapping[str, object]) -> Seen:
    """The shapes of the outputs in a run."""
    from absint.runs.run import run

    try:
        found = run(model, feeds, isolated=True, seconds=remaining(SECONDS))
    except AbsintError as error:
        return str(error)
    return {name: (len(value),) if isinstance(value, list) else tuple(value.shape) for name, value in found.items()}


# Values of two models under common numbers: one number, one computation. Value numbering, across models.
#
# Where data decide sizes, nothing but the same computation on the same inputs shows that they are the same. Names of
# values and nodes, their order, and initialisers written as Constant nodes make no difference; an operator that draws
# random numbers computes something else each time.

MOST_BYTES: Final = 1 << 30
"""A larger model is not numbered: its weights would have to be read."""

RANDOM: Final = frozenset(
    [
        *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"),
        *("Dropout", "BiasDropout", "BitmaskDropout", "BitmaskBiasDropout", "Sampling"),
    ]
)
"""Operators whose outputs may differ between two runs."""

_KNOWN: Final = frozenset(["", "ai.onnx", "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc"])
"""Domains of operators that give the same on the same inputs, but for random ones."""

_EXTERNAL: Final = 1
_NONE: Final = -1


class Numbers:
    """Values and nodes of two models under common numbers."""

    def __init__(self, first: Analysed, second: Analysed, inputs: Sequence[Pair], *, of_values: bool) -> None:
        """With `of_values`, operators that may give something else each time, or that are not known, are never equal;
        else the same operator on the same inputs has the same requirements.
        """
        self._table: dict[Hashable, int] = {}
        fed = {b: a for a, b in both(inputs)}
        self._values: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
        self._nodes: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        if max(first.loaded.size, second.loaded.size) > MOST_BYTES:
            return
        mine = _Numbered(first, self._number, of_values, {name: name for name in first.inputs})
        other = _Numbered(second, self._number, of_values, {name: fed.get(name, f"'{name}") for name in second.inputs})
        self._values = mine.values, other.values
        self._nodes = frozenset(mine.nodes), frozenset(other.nodes)

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def same(self, first: str, second: str) -> bool:
        """Two values of the main graphs are the same computation."""
        mine, other = self._values[0].get(first), self._values[1].get(second)
        return mine is not None and mine == other

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Values of both models that are the same computation: for each of the second model one of the first."""
        mine = {number: name for name, number in self._values[0].items()}
        return ((mine[number], name) for name, number in self._values[1].items() if number in mine)

    def is_covered(self, side: Side) -> bool:
        """Each node of a model is one of the other too: it fails only where that fails."""
        first, second = self._nodes
        mine, other = (first, second) if side == "A" else (second, first)
        return bool(mine) and mine <= other


class _Numbered:
    """The numbers of one model."""

    def __init__(
        self, model: Analysed, number: Callable[[Hashable], int], of_values: bool, inputs: Mapping[str, str]
    ) -> None:
        """`inputs` gives each input that a caller feeds its name in the first model."""
        self._model, self._number, self._of_values = model, number, of_values
        self.values: dict[str, int] = {}
        self.nodes: set[int] = set()
        proto = model.model
        self._versions = {entry.domain: entry.version for entry in proto.opset_import}
        self._functions = tuple(sorted(function.SerializeToString(deterministic=True) for function in proto.functions))
        self._called: set[tuple[str, str]] = set()
        self._functions_vary = any(self._may_vary(node) for function in proto.functions for node in function.node)
        self._called = {(function.domain, function.name) for function in proto.functions}
        graph = proto.graph
        for tensor in graph.initializer:
            self.values[tensor.name] = number(self._tensor(tensor))
        for sparse in graph.sparse_initializer:
            self.values[sparse.values.name] = number(sparse.SerializeToString(deterministic=True))
        for name in model.lowered.signature.overridable:
            self.values[name] = number(("input", name))
        for name, common in inputs.items():
            self.values[name] = number(("input", common))
        for node in graph.node:
            self._add(node)

    def _add(self, node: NodeProto) -> None:
        plain = not node.domain or node.domain == "ai.onnx"
        if plain and node.op_type == "Identity" and len(node.input) == 1 and node.input[0] in self.values:
            self.values[node.output[0]] = self.values[node.input[0]]
            return
        if plain and node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value":
            self.values[node.output[0]] = self._number(self._tensor(node.attribute[0].t))
            return
        found = self._number(self._key(node))
        self.nodes.add(found)
        self.values.update({name: self._number((found, at)) for at, name in enumerate(node.output) if name})

    def _key(self, node: NodeProto) -> Hashable:
        operator = node.domain, node.op_type
        version = since(*operator, self._versions.get(node.domain, 0)) or self._versions.get(node.domain, 0)
        attributes = sorted((attribute.name, self._attribute(attribute)) for attribute in node.attribute)
        inputs = tuple(self.values.get(name, _NONE) if name else _NONE for name in node.input)
        unknown = any(name and name not in self.values for name in node.input)
        own = object() if unknown or (self._of_values and self._may_vary(node)) else None
        called = self._functions if operator in self._called else ()
        return operator, node.overload, version, tuple(attributes), inputs, len(node.output), called, own

    def _may_vary(self, node: NodeProto) -> bool:
        """It may give something else each time: it draws random numbers, or nothing is known of it."""
        if (node.domain, node.op_type) in self._called:
            return self._functions_vary
        return (
            node.op_type in RANDOM
            or node.domain not in _KNOWN
            or any(self._may_vary(inner) for body in bodies(node) for inner in body.node)
        )

    def _attribute(self, attribute: AttributeProto) -> Hashable:
        held = graphs_in(attribute)
        if held:
            outer = sorted({name for body in held for name in _free(body)} & self.values.keys())
            texts = tuple(body.SerializeToString(deterministic=True) for body in held)
            context = *sorted(self._versions.items()), *((name, self.values[name]) for name in outer)
            return "", (*texts, *self._functions), context
        if attribute.HasField("t"):
            return str(self._tensor(attribute.t)), (), ()
        return attribute.SerializeToString(deterministic=True).hex(), (), ()

    def _tensor(self, tensor: TensorProto) -> Hashable:
        """Type, dims and data, without the name."""
        head = tensor.data_type, tuple(tensor.dims)
        if tensor.data_location == _EXTERNAL:
            entries = tuple(sorted((content_of(e.key), content_of(e.value)) for e in tensor.external_data))
            return *head, str(self._model.folder and self._model.folder.resolve()), entries
        digest = sha256(tensor.raw_data)
        for field in (tensor.float_data, tensor.int32_data, tensor.int64_data, tensor.double_data, tensor.uint64_data):
            digest.update(repr(list(field)).encode())
        digest.update(repr(list(tensor.string_data)).encode())
        return *head, digest.hexdigest()


def _free(body: GraphProto) -> Iterator[str]:
    """All names that a body or its bodies read; those of its own are not told apart."""
    for graph in graphs(body):
        yield from (name for node in graph.node for name in node.input)
        yield from (value.name for value in graph.output)
