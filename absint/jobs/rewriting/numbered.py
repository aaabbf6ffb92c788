"""The values of one model under numbers, of which two models may have some in common."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from onnx import NodeProto
from onnx.numpy_helper import from_array

from absint.jobs.rewriting import folding, noops, pairs, targets
from absint.lattices.dtype import DType
from absint.lattices.logic.relation import FALSE, TRUE
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Dim, Expr, const
from absint.lattices.value import BOTTOM, TOP, Tensor, Value, elements_of
from absint.model import schemas, weights, writing
from absint.model.protos import GraphMessage, bodies, copied, domain_of, graphs, graphs_in, remove
from absint.model.wire import kinds
from absint.model.wire.scalars import content_of
from absint.program.steps import IfJoin
from absint.solution.analysed import Analysed
from absint.transfer.traits import KNOWN_DOMAINS, RANDOM, RESHAPING

if TYPE_CHECKING:
    from onnx import AttributeProto, GraphProto, TensorProto

_EXTERNAL: Final = 1
_NONE: Final = -1
_UNKNOWN: Final = "?"
_OUTPUT: Final = "="
_Source = int | tuple[str, int, Hashable] | None


class Numbered:
    """The numbers of one model. What `rewriting/pairs` asks for is known by numbers, which are texts there."""

    def __init__(
        self,
        model: Analysed,
        table: dict[Hashable, int],
        of_values: bool,
        inputs: Mapping[str, Hashable],
        translate: Callable[[Dim], Dim],
        meet: Callable[[int, Value], object],
    ) -> None:
        """`inputs` gives what a caller feeds a name in common. `translate` gives a dim over symbols of both models;
        `meet` hears of every number.
        """
        self._model, self._table, self._of_values = model, table, of_values
        self._translate, self._meet = translate, meet
        self.values: dict[str, int] = {}
        self.nodes: set[int] = set()
        self._forms: dict[int, tuple[str, int, Hashable]] = {}
        self._quiet: set[str] = set()
        self._known: dict[str, Tensor] = {}
        self.producers: dict[str, NodeProto] = {}
        """Nodes of this model whose operands and outputs have their numbers for names, by these."""
        proto = model.model
        self._versions = model.loaded.imports()
        self._beside = str(model.folder and model.folder.resolve()) if writing.locations(proto) else ""
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
            self._name(name, self._number(("input", common)))
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
        around = self.values, self._scope, self._known
        found = []
        for attribute in sorted(node.attribute, key=lambda attribute: attribute.name):
            if self._model.states[gates[attribute.name]][0] is not BOTTOM:
                self.values, self._known = dict(self.values), dict(self._known)
                self._scope = self._scopes[id(known[attribute.name])]
                self._walk(attribute.g, known[attribute.name])
                found.append(tuple(self.values.get(info.name, _NONE) for info in attribute.g.output))
                self.values, self._scope, self._known = around
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
        output = self._common(self._value(node.output[0])) if self._of_values and node.output else None
        made = self._named(node)
        sources: list[_Source] = []
        constant = None
        if plain and node.input and output is not None:
            constant = self._floats(made, output)
            back = pairs.given_back(self, made, output)
            sources += map(int, back if {"", _UNKNOWN}.isdisjoint(back) else ())
            pairs.join(self, made)
            pairs.does_both(self, made, output, is_single=True)
            sources = sources or [self._source(made, output)]
            self._respell(made, output)
        found = self._number(self._key(made) if not branches else ("If", tuple(made.input), *branches))
        self.nodes.add(found)
        for at, (name, source) in enumerate(zip_longest(node.output, sources)):
            if name:
                self._give(name, (found, at), source, None if at else constant)
        if self._of_values and plain:
            made.output[:] = [str(self.values[name]) if name else "" for name in node.output]
            self.producers.update({name: made for name in made.output if name not in self.producers})
            self._quiet.update(made.output[:1] if noops.quiets(made, self._quiet.__contains__) else ())

    def _named(self, node: NodeProto) -> NodeProto:
        """The node with the numbers of its operands in place of their names; its outputs have none yet."""
        numbers = [str(self.values[name]) if name in self.values else name and _UNKNOWN for name in node.input]
        found = NodeProto(op_type=node.op_type, domain=node.domain, overload=node.overload, input=numbers)
        found.attribute.extend(node.attribute)
        found.output.extend(name and _OUTPUT + name for name in node.output)
        return found

    def _respell(self, node: NodeProto, output: Tensor) -> None:
        """Let a number beside others be a scalar, and a Resize have the sizes of all axes."""
        operands = self._operands(node, output)
        for at, value in enumerate(operands.values):
            if targets.is_broadcast(operands, at) and (key := self._elements(value, ())) is not None:
                node.input[at] = str(self._number(key))
                break  # beside a scalar, a vector of one is another number
        sizes = noops.dims_of(output)
        if node.op_type == "Resize" and sizes is not None and targets.takes_sizes_of_axes(operands) and node.input[3]:
            node.input[3] = str(self._number(("elements", DType.INT64, (len(sizes),), sizes)))
            remove(node.attribute, lambda attribute: attribute.name == "axes")

    def _operands(self, node: NodeProto, output: Tensor) -> noops.Operands:
        return noops.Operands(node, list(map(self.value, node.input)), output, self._versions[""])

    # What `rewriting/pairs` asks for

    def value(self, name: str) -> Tensor | None:
        """The tensor known for a number, or for an output without a number yet."""
        if not name.startswith(_OUTPUT):
            return self._known.get(name)
        return self._common(self._value(name.removeprefix(_OUTPUT)))

    def sure_producer(self, name: str) -> NodeProto | None:
        """The node that computes the value of a number: in a run that gets further, it has not failed."""
        return self.producers.get(name)

    def constant(self, array: weights.Array) -> str:
        """The number of a constant of integers."""
        elements = tuple(const(int(number)) for number in array.flat)
        return str(self._number(("elements", DType.INT64, array.shape, elements)))

    def _floats(self, node: NodeProto, output: Tensor) -> Hashable:
        """The tensor of a few floats that a node gives in every run; a zero among them has a known sign."""
        taken = self.value(node.input[0])
        is_integer = taken is not None and (taken.dtype.is_integer or taken.dtype is DType.BOOL)
        has_sign = node.op_type != "Cast" or not is_integer
        array = weights.array_of(output, has_sign=has_sign) if output.dtype.is_float else None
        return None if array is None or array.size > noops.MOST_NUMBERS else self._tensor(from_array(array))

    def _give(self, name: str, key: Hashable, source: _Source = None, constant: Hashable = None) -> None:
        """Give a value the number of one of its keys that has one, and all of them that number."""
        keys = [key] if constant is None else [key, constant]
        if self._of_values:
            keys += [found for found in [self._elements(self._value(name)), source] if isinstance(found, tuple)]
        known = source if isinstance(source, int) else next((self._table[k] for k in keys if k in self._table), None)
        number = self._number(key) if known is None else known
        for each in keys:
            self._table.setdefault(each, number)
        if isinstance(source, tuple):
            self._forms.setdefault(number, source)
        self._name(name, number)

    def _name(self, name: str, number: int) -> None:
        self.values[name], value = number, self._value(name)
        self._meet(number, value)
        if not self._of_values or noops.dims_of(self.value(str(number))) is not None:
            return
        if (common := self._common(value)) is not None:
            self._known[str(number)] = common

    def _common(self, value: Value) -> Tensor | None:
        """A tensor with its sizes over symbols of both models, and its elements as they are."""
        if not isinstance(value, Tensor) or value.shape.rank is None:
            return value if isinstance(value, Tensor) else None
        return Tensor(value.dtype, Shape(map(self._translate, value.shape.dims)), value.contents)

    def _elements(self, value: Value | None, shape: tuple[int, ...] | None = None) -> Hashable:
        """The elements of a small tensor of integers or truth values, if all of them are known, in a shape."""
        elements = elements_of(value) if isinstance(value, Tensor) and not value.dtype.is_float else None
        if not isinstance(value, Tensor) or elements is None or len(elements) > noops.MOST_NUMBERS:
            return None
        found = tuple(self._translate(e) if isinstance(e, Expr) else e for e in elements)
        is_known = all(isinstance(e, Expr) or e is TRUE or e is FALSE for e in found)
        return ("elements", value.dtype, value.shape.concrete if shape is None else shape, found) if is_known else None

    def _source(self, node: NodeProto, output: Tensor) -> _Source:
        """The number of the value that a node gives back, or how it turns or reshapes one."""
        if not {"", _UNKNOWN}.isdisjoint(node.input[:1]):
            return None
        at = noops.passed_on(self._operands(node, output), self._quiet.__contains__)
        if at is not None and node.input[at] not in ("", _UNKNOWN):
            return int(node.input[at])
        base, dims = int(node.input[0]), noops.dims_of(self.value(node.input[0]))
        if node.op_type in RESHAPING:
            return self._reshaped(base, dims, noops.dims_of(output))
        if node.op_type == "Transpose" and dims is not None:
            return self._turned(base, noops.permutation(node, len(dims)))
        if node.op_type in ("Expand", "Slice"):  # the shape of the output says what the sizes among the operands do
            last = noops.dims_of(output)
            rest = (*node.input[1:2], *node.input[3:]) if node.op_type == "Slice" else ()
            return (node.op_type, base, (rest, last)) if last is not None and not node.attribute else None
        return None

    def _reshaped(
        self, base: int, before: tuple[Expr, ...] | None, after: tuple[Expr, ...] | None
    ) -> tuple[str, int, Hashable] | None:
        """The elements of one value in order, in this shape."""
        kind, origin, _ = self._forms.get(base, ("", 0, None))
        if kind == "reshaped":
            base = origin
        elif before is not None:
            self._table.setdefault(("reshaped", base, before), base)
        return None if after is None else ("reshaped", base, after)

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
        version = schemas.since(*operator, self._versions.get(operator[0], 0)) or self._versions.get(operator[0], 0)
        attributes = sorted((attribute.name, self._attribute(attribute)) for attribute in node.attribute)
        inputs = tuple(node.input)
        own = object() if _UNKNOWN in inputs or (self._of_values and self._may_vary(node)) else None
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
            names = {name for body in held for name in folding.names_in(body)}
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
        return sha256(folding.unnamed(tensor)).hexdigest()


def _text(body: GraphProto, outer: Mapping[str, str]) -> bytes:
    """A body without what means nothing to its runs, under these names for what it takes from outside."""
    copy = copied(body)
    folding.rename_captured(copy, outer)
    for graph in graphs(copy):
        del graph.value_info[:]
    content: bytes = copy.SerializeToString(deterministic=True)
    return content
