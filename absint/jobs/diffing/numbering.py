"""Values of two models under common numbers: one number, one computation. Value numbering, across models.

Where data decide sizes, nothing but the same computation on the same inputs shows that they are the same. Names of
values and nodes, their order, and initialisers written as Constant nodes make no difference; an operator that draws
random numbers computes something else each time. Two computations also have one number where the analysis knows their
elements, and where they turn or reshape one value into the same shape. A size that data decide in the second model
then is the one of the value of this number in the first; both models run on the same inputs, so it is one number.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from absint.jobs.diffing.correspondence import Correspondence, Pair, both, form_of, plain
from absint.jobs.diffing.witness import Side
from absint.jobs.rewriting.folding import defined, rename_captured
from absint.jobs.rewriting.noops import MOST_NUMBERS, Operands, dims_of, passed_on, permutation
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.terms.expr import Dim, Expr, Symbol, sole_atom
from absint.lattices.terms.normal import substitute
from absint.lattices.value import BOTTOM, TOP, Tensor, Value
from absint.model.protos import GraphMessage, bodies, domain_of, graphs, graphs_in
from absint.model.schemas import since
from absint.model.wire import kinds
from absint.model.wire.fields import content_of
from absint.model.writing import locations
from absint.program.steps import IfJoin
from absint.solution.analysed import Analysed
from absint.transfer.traits import KNOWN_DOMAINS, RANDOM, RESHAPING

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, NodeProto, TensorProto


MOST_BYTES: Final = 1 << 30
"""A larger model is not numbered: its weights would have to be read."""

_EXTERNAL: Final = 1
_NONE: Final = -1


class Numbers:
    """Values and nodes of two models under common numbers."""

    def __init__(self, over: Correspondence, inputs: Sequence[Pair], *, of_values: bool) -> None:
        """With `of_values`, operators that may give something else each time, or that are not known, are never equal;
        else the same operator on the same inputs has the same requirements. `inputs` are those of one type.
        """
        first, second = over.source, over.target
        fed = {b: a for a, b in both(inputs)}
        defaults = [model.lowered.signature.overridable for model in (first, second)]
        self._first, self._over = first, over
        self._values: tuple[Mapping[str, int], Mapping[str, int]] = ({}, {})
        self._nodes: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())
        self.shared: dict[Symbol, Dim] = {}
        """Sizes and elements that data decide, each as that of the first value with its number."""
        if any(not model.loaded.is_outlined and model.loaded.size > MOST_BYTES for model in (first, second)):
            return
        table: dict[Hashable, int] = {}
        found: dict[int, Value] = {}
        chosen: dict[str, Hashable] = {n: n for n in second.inputs if n in defaults[0] and n not in fed}
        own: dict[str, Hashable] = {n: n for n in first.inputs}
        mine = _Numbered(first, table, of_values, {**own, **chosen}, self._plain, partial(self._meet, found, True))
        names: dict[str, Hashable] = {name: fed.get(name, ("of B", name)) for name in second.inputs}
        names |= chosen | {n: n for n in first.inputs if n in defaults[1] and n not in fed.values()}
        other = _Numbered(second, table, of_values, names, self._known, partial(self._meet, found, False))
        self._values = mine.values, other.values
        self._nodes = frozenset(mine.nodes), frozenset(other.nodes)

    def same(self, first: str, second: str) -> bool:
        """Two values of the main graphs are the same computation."""
        mine, other = self._values[0].get(first), self._values[1].get(second)
        return mine is not None and mine == other

    def is_covered(self, side: Side) -> bool:
        """Each node of a model is one of the other too: it fails only where that fails."""
        first, second = self._nodes
        mine, other = (first, second) if side == "A" else (second, first)
        return bool(mine) and mine <= other

    def mine(self, dim: Dim) -> Dim:
        """A dim of the first model; equal sizes that data decide have one symbol in it."""
        return over_first(plain(self._first, dim), self._first, lambda: self.shared)[0]

    def _plain(self, dim: Dim) -> Expr | None:
        found = self.mine(dim)
        return found if isinstance(found, Expr) else None

    def _known(self, dim: Dim) -> Expr | None:
        found, is_known = over_first(self._over.dim(dim), self._first, lambda: self.shared)
        return found if is_known and isinstance(found, Expr) else None

    def _meet(self, found: dict[int, Value], is_first: bool, number: int, value: Value) -> None:
        """Sizes and elements of a value are those of the first one with its number, which is of the first model."""
        known = found.setdefault(number, value) if is_first else found.get(number, TOP)
        if known is value and is_first:
            return
        for a, b in zip(_dims(known), _dims(value), strict=False):
            only = sole_atom(b) if isinstance(b, Expr) else None
            if not isinstance(only, Symbol) or not isinstance(a, Expr) or (a is b and is_first):
                continue
            if only.name not in (self._first.parameters if is_first else self._over.symbols):
                symbol, same = only if is_first else self._over.apart(only), self.mine(a)
                if isinstance(same, Expr) and symbol not in same.symbols:
                    self.shared.setdefault(symbol, same)


def over_first(dim: Dim, first: Analysed, shared: Callable[[], Mapping[Symbol, Dim]]) -> tuple[Dim, bool]:
    """A dim over symbols of the first model, those `shared` with the second included; False if others are left."""
    own = [s for s in dim.symbols if s.name not in first.parameters] if isinstance(dim, Expr) else []
    if not own or not isinstance(dim, Expr):
        return dim, isinstance(dim, Expr)
    return substitute(dim, shared()), all(symbol in shared() for symbol in own)


def _dims(value: Value) -> Iterator[object]:
    """The sizes of a value, and after them its elements if it is small."""
    yield from (dim for _, dim in form_of(value).sizes)
    shape = value.shape.concrete if isinstance(value, Tensor) else None
    block = value.contents.block(shape) if isinstance(value, Tensor) and value.contents is not None else None
    yield from block.elements if block is not None else ()


class _Numbered:
    """The numbers of one model."""

    def __init__(
        self,
        model: Analysed,
        table: dict[Hashable, int],
        of_values: bool,
        inputs: Mapping[str, Hashable],
        translate: Callable[[Dim], Expr | None],
        meet: Callable[[int, Value], object],
    ) -> None:
        """`inputs` gives what a caller feeds a name in common. `translate` gives an expression over symbols of the
        first model, None if some of its symbols are of the second alone; `meet` hears of every number.
        """
        self._model, self._table, self._of_values = model, table, of_values
        self._translate, self._meet = translate, meet
        self.values: dict[str, int] = {}
        self.nodes: set[int] = set()
        self._forms: dict[int, tuple[str, int, Hashable]] = {}
        proto = model.model
        self._versions = model.loaded.imports()
        self._beside = str(model.folder and model.folder.resolve()) if locations(proto) else ""
        functions = sorted(function.SerializeToString(deterministic=True) for function in proto.functions)
        self._functions = *functions, self._beside
        self._called: set[tuple[str, str]] = set()
        self._functions_vary = any(self._may_vary(node) for function in proto.functions for node in function.node)
        self._called = {(domain_of(function.domain), function.name) for function in proto.functions}
        self._scope = model.program.main
        self._scopes = {id(graph): scope for graph, scope, _ in model.lowered.bodies}
        given = model.lowered.signature.overridable
        defaults = {tensor.name: self._tensor(tensor) for tensor in proto.graph.initializer if tensor.name in given}
        for name in given:
            self.values[name] = self._number(("default", name, defaults.get(name, object())))
        for name, common in inputs.items():
            self.values[name] = self._number(("input", common))
            meet(self.values[name], self._value(name))
        self._walk(proto.graph, model.loaded.model.graph, given)

    def _walk(self, graph: GraphProto, read: GraphMessage, given: Container[str] = ()) -> None:
        """Number what a graph computes; `read` is the graph as it was analysed, `given` what a caller may feed."""
        for tensor in graph.initializer:
            if tensor.name not in given:
                self._give(tensor.name, self._tensor(tensor))
        for sparse in graph.sparse_initializer:
            if sparse.values.name not in given:
                self._give(sparse.values.name, (sparse.SerializeToString(deterministic=True), self._beside))
        for place, node in enumerate(graph.node):
            self._add(node, read, place)

    def _value(self, name: str) -> Value:
        operand = self._scope.find(name) if name else None
        return TOP if operand is None else self._model.value_of(operand)

    def _branches(self, node: NodeProto, read: GraphMessage, place: int) -> list[tuple[int, ...]] | None:
        """The numbers of the outputs of the branches of an If, those it takes in a legal run; None for another node."""
        known = {
            attribute.name: attribute.g for attribute in read.node[place].attribute if attribute.type == kinds.GRAPH
        }
        output = self._scope.find(next(filter(None, node.output), ""))
        if not self._of_values or not all(id(g) in self._scopes for g in known.values()) or output is None:
            return None
        step = self._model.nodes[output[0]].step if output[0] >= 0 else None
        if not isinstance(step, IfJoin):
            return None
        gates = {"then_branch": step.then_gate, "else_branch": step.else_gate}
        around = self.values, self._scope
        found = []
        for attribute in sorted(node.attribute, key=lambda attribute: attribute.name):
            if self._model.states[gates[attribute.name]][0] is not BOTTOM:
                self.values, self._scope = dict(around[0]), self._scopes[id(known[attribute.name])]
                self._walk(attribute.g, known[attribute.name])
                found.append(tuple(self.values.get(info.name, _NONE) for info in attribute.g.output))
                self.values, self._scope = around
        return None if any(_NONE in numbers for numbers in found) else found

    def _number(self, key: Hashable) -> int:
        return self._table.setdefault(key, len(self._table))

    def _add(self, node: NodeProto, read: GraphMessage, place: int) -> None:
        plain = not domain_of(node.domain) and ("", node.op_type) not in self._called
        if plain and node.op_type == "Identity" and len(node.input) == 1 and node.input[0] in self.values:
            self.values[node.output[0]] = self.values[node.input[0]]
            return
        if plain and node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value":
            self._give(node.output[0], self._tensor(node.attribute[0].t))
            return
        branches = self._branches(node, read, place) if plain and node.op_type == "If" else None
        if branches and len(branches) == 1:
            for name, number in zip(node.output, branches[0], strict=True):
                self._give(name, ("same", number), number)
            return
        inputs = tuple(self.values.get(name, _NONE) for name in node.input)
        found = self._number(self._key(node) if not branches else ("If", inputs, *branches))
        self.nodes.add(found)
        source = self._source(node) if self._of_values and plain else None
        for at, name in enumerate(node.output):
            if name:
                self._give(name, (found, at), source if at == 0 else None)

    def _give(self, name: str, key: Hashable, source: int | tuple[str, int, Hashable] | None = None) -> None:
        """Give a value the number of one of its keys that has one, and all of them that number."""
        keys = [key]
        if self._of_values:
            keys += [found for found in [self._elements(name), source] if isinstance(found, tuple)]
        known = source if isinstance(source, int) else next((self._table[k] for k in keys if k in self._table), None)
        number = self._number(key) if known is None else known
        for each in keys:
            self._table.setdefault(each, number)
        if isinstance(source, tuple):
            self._forms.setdefault(number, source)
        self.values[name] = number
        self._meet(number, self._value(name))

    def _elements(self, name: str) -> Hashable:
        """The elements of a small tensor of integers or truth values, if all of them are known."""
        value = self._value(name)
        if not isinstance(value, Tensor) or value.contents is None or value.dtype.is_float:
            return None
        shape = value.shape.concrete
        block = value.contents.block(shape) if shape is not None else None
        if block is None or len(block.elements) > MOST_NUMBERS:
            return None
        found = self._translated(block.elements)
        return None if found is None else ("elements", value.dtype, block.shape, found)

    def _translated(self, items: Sequence[object] | None) -> tuple[object, ...] | None:
        """Expressions over symbols of the first model, and truth values; None if one is something else."""
        found = [self._translate(e) if isinstance(e, Expr) else e for e in items or ()]
        is_known = items is not None and all(isinstance(e, Expr) or e is TRUE or e is FALSE for e in found)
        return tuple(found) if is_known else None

    def _source(self, node: NodeProto) -> int | tuple[str, int, Hashable] | None:
        """The number of the value that a node gives back, or how it turns or reshapes one."""
        values = [self._value(name) if name else None for name in node.input]
        tensors = [value if isinstance(value, Tensor) else None for value in values]
        value = self._value(node.output[0]) if node.output else None
        output = value if isinstance(value, Tensor) else None
        at = passed_on(Operands(node, tensors, output, self._versions[""]))
        if at is not None and node.input[at] in self.values:
            return self.values[node.input[at]]
        if output is None or not node.input or node.input[0] not in self.values:
            return None
        base, dims = self.values[node.input[0]], dims_of(tensors[0])
        if node.op_type in RESHAPING:
            return self._reshaped(base, dims, dims_of(output))
        if node.op_type == "Transpose" and dims is not None:
            return self._turned(base, permutation(node, len(dims)))
        if node.op_type in ("Expand", "Slice"):  # the shape of the output says what the sizes among the operands do
            last, others = self._translated(dims_of(output)), [*node.input[1:2], *node.input[3:]]
            rest = tuple(self.values.get(name, _NONE) for name in others if node.op_type == "Slice")
            return (node.op_type, base, (rest, last)) if last is not None and not node.attribute else None
        return None

    def _reshaped(
        self, base: int, before: Sequence[Expr] | None, after: Sequence[Expr] | None
    ) -> tuple[str, int, Hashable] | None:
        """The elements of one value in order, in this shape."""
        kind, origin, _ = self._forms.get(base, ("", 0, None))
        first, last = self._translated(before), self._translated(after)
        if kind == "reshaped":
            base = origin
        elif first is not None:
            self._table.setdefault(("reshaped", base, first), base)
        return None if last is None else ("reshaped", base, last)

    def _turned(self, base: int, order: Sequence[int]) -> tuple[str, int, Hashable]:
        """The axes of one value in this order."""
        kind, origin, before = self._forms.get(base, ("", 0, None))
        if kind == "turned" and isinstance(before, tuple):
            base, order = origin, [before[axis] for axis in order]
        else:
            self._table.setdefault(("turned", base, tuple(range(len(order)))), base)
        return "turned", base, tuple(order)

    def _key(self, node: NodeProto) -> Hashable:
        operator = domain_of(node.domain), node.op_type
        version = since(*operator, self._versions.get(operator[0], 0)) or self._versions.get(operator[0], 0)
        attributes = sorted((attribute.name, self._attribute(attribute)) for attribute in node.attribute)
        inputs = tuple(self.values.get(name, _NONE) if name else _NONE for name in node.input)
        unknown = any(name and name not in self.values for name in node.input)
        own = object() if unknown or (self._of_values and self._may_vary(node)) else None
        called = self._functions if operator in self._called else ()
        return operator, node.overload, version, tuple(attributes), inputs, len(node.output), called, own

    def _may_vary(self, node: NodeProto) -> bool:
        """It may give something else each time: it draws random numbers, or nothing is known of it."""
        if (domain_of(node.domain), node.op_type) in self._called:
            return self._functions_vary
        return (
            node.op_type in RANDOM
            or node.domain not in KNOWN_DOMAINS
            or any(self._may_vary(inner) for body in bodies(node) for inner in body.node)
        )

    def _attribute(self, attribute: AttributeProto) -> Hashable:
        held = graphs_in(attribute)
        if held:
            names = {name for body in held for name in _names(body)}
            mark = "#" * (1 + max((len(name) for name in names if name.startswith("#")), default=0))  # on none of them
            outer = {name: f"{mark}{self.values[name]}" for name in names if name in self.values}
            texts = tuple(_text(body, outer) for body in held)
            return "", (*texts, *self._functions), tuple(sorted(self._versions.items()))
        if attribute.HasField("t"):
            return str(self._tensor(attribute.t)), (), ()
        return attribute.SerializeToString(deterministic=True).hex(), (self._beside,), ()

    def _tensor(self, tensor: TensorProto) -> Hashable:
        """Type, dims and data, without the name."""
        if tensor.data_location == _EXTERNAL:
            entries = tuple(sorted((content_of(e.key), content_of(e.value)) for e in tensor.external_data))
            return tensor.data_type, tuple(tensor.dims), self._beside, entries
        copy = type(tensor)()
        copy.CopyFrom(tensor)
        copy.ClearField("name")
        copy.ClearField("doc_string")
        return sha256(copy.SerializeToString(deterministic=True)).hexdigest()


def _text(body: GraphProto, outer: Mapping[str, str]) -> bytes:
    """A body without what means nothing to its runs, under these names for what it takes from outside."""
    copy = type(body)()
    copy.CopyFrom(body)
    rename_captured(copy, outer)
    for graph in graphs(copy):
        del graph.value_info[:]
    content: bytes = copy.SerializeToString(deterministic=True)
    return content


def _names(body: GraphProto) -> Iterator[str]:
    """All names that a body or its bodies define or read; those of its own are not told apart."""
    for graph in graphs(body):
        yield from defined(graph)
        yield from (name for node in graph.node for name in node.input)
        yield from (value.name for value in graph.output)
