"""The results of every run at given sizes: elements of small tensors, branches that are taken, nodes that cannot fail.

The analysis behind it rests on the sizes alone. It uses no requirement, no assumption of the caller, no numeric premise
and no declaration that runtimes do not enforce: that two inputs have a dim of one name, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from operator import itemgetter
from typing import ClassVar, Final

from onnx import NodeProto

from absint.jobs.rewriting.differing import differs
from absint.lattices.contents import Element, element_symbols
from absint.lattices.dtype import DType
from absint.lattices.logic.facts import NO_FACTS, Facts
from absint.lattices.logic.relation import TRUE, YES, Relation, le
from absint.lattices.records import changed
from absint.lattices.shape import Shape
from absint.lattices.terms.expr import Atom, Dim, Expr, Symbol, const, product, symbol
from absint.lattices.terms.normal import substitute
from absint.lattices.value import BOTTOM, Tensor, Value, map_tensors
from absint.model.weights import Array, array_of
from absint.program import graph, limits, steps
from absint.program.nodes import Nodes, Path
from absint.shapes import analysis, refinement, rounds, summaries
from absint.shapes.sizes import facts_of
from absint.solution.analysed import Analysed
from absint.transfer.traits import RANDOM


class Fitting:
    """Numeric premises that hold since tensors fit into memory: of a run that has computed them, each has at most as
    many bytes as a processor has addresses.

    So a number of elements overflows nowhere behind a tensor that has as many.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Atom, ...], tuple[int, Relation]] = {}
        """By a product of sizes, a relation that bounds it, and how often the product is in it."""
        self._seen: set[tuple[Shape, int]] = set()

    def see(self, nodes: Nodes, node: int, state: summaries.State) -> None:
        """What a node gives is computed in each run that gets further: a node of the main graph, at the first visit."""
        if nodes[node].gate >= 0 or str(nodes[node].path):
            return
        for value in state:
            if isinstance(value, Tensor) and value.shape.rank and (value.shape, value.dtype.bits) not in self._seen:
                self._seen.add((value.shape, value.dtype.bits))
                count = product(value.shape.dims)
                if isinstance(count, Expr) and value.dtype.bits:
                    bounded = le(count * value.dtype.bits, _BITS)
                    for mono, coef in count.terms:
                        self._known[mono] = max(
                            (coef * value.dtype.bits, bounded), self._known.get(mono, (0, bounded)), key=itemgetter(0)
                        )

    def __call__(self, premise: Relation) -> bool:
        """The premise holds behind the tensors so far."""
        monos = {mono for part in premise.comparisons() for mono, _ in part.expr.terms if mono in self._known}
        return bool(monos) and NO_FACTS.assume(*(self._known[mono][1] for mono in monos)).decide(premise) is YES


_BITS: Final = 8 << 57
"""The largest address space of a 64-bit processor, in bits (x86 with five-level paging)."""


class Exact:
    """Everything that the sizes decide. `sizes` need not have all symbols."""

    agreed: ClassVar[frozenset[str]] = frozenset()
    """Operators on which runtimes count as agreed, since claims follow onnxruntime where it differs from others."""

    def __init__(
        self,
        analysed: Analysed,
        sizes: Mapping[str, int] | None,
        facts: Facts = NO_FACTS,
        fitting: Fitting | None = None,
    ) -> None:
        """Without `sizes` inputs are as they are declared. `facts` hold of them. Numeric premises are assumed that
        `fitting` shows.
        """
        program = copy(analysed.program)
        program.premises = fitting or False
        self._nodes = program.nodes
        given = {} if sizes is None else _inputs(analysed, sizes)
        see = partial(fitting.see, program.nodes) if fitting is not None else None
        self._analysis = analysis.ShapeAnalysis(program, facts, inputs=given, trace=see)
        self._states = refinement.solved(changed(analysed.lowered, program=program), self._analysis, limits.CHECK) or []
        self._doubtful = self._reached(
            node
            for node, item in enumerate(self._nodes)
            if item.operator not in self.agreed and differs(self._analysis, item, node, self._states)
        )
        self._restored: dict[Tensor, Tensor] = {}
        """Tensors over the symbols of the declarations."""
        self._given = [*analysed.input_nodes.values(), *analysed.lowered.signature.overridable.values()]

    @cached_property
    def _fed(self) -> bytearray:
        """A flag for each node that depends on what a caller feeds."""
        return self._reached(self._given)

    def array(self, operand: steps.Operand) -> Array | None:
        """The elements of a value that is made of the inputs, if they are the same in every run; None for a large one
        too.
        """
        node, index = operand
        if node < 0 or self._doubtful[node] or not self._fed[node] or index >= len(self._states[node]):
            return None
        value = self._states[node][index]
        return array_of(value, has_sign=self._has_sign(node))

    def taken(self, join: int) -> bool | None:
        """The branch that an If takes in every run that reaches it, by the node that joins the branches."""
        step = self._nodes[join].step
        if not isinstance(step, steps.IfJoin):
            return None
        gates = step.then_gate, step.else_gate
        if any(self._doubtful[gate] for gate in gates):
            return None
        reached = [self._states[gate][0] is not BOTTOM for gate in gates]
        return reached[0] if reached[0] is not reached[1] else None

    def trips(self, _end: int) -> int | None:
        """The number of trips of a Loop that need not stay. A frozen copy keeps all: to freeze again would change it,
        since more is constant in a body that was inlined.
        """
        return None

    def never_refuses(self, node: int) -> bool:
        """Nothing that the node states or doubts keeps it from running."""
        return self.requires_nothing(node) and all(f.unless is TRUE for f in self._analysis.possible_failures(node))

    def is_certain(self, node: int) -> bool:
        """The node cannot fail, has no other effect than its outputs, and gives the same ones in every run."""
        operation = self._nodes[node].operation
        return operation is not None and operation.op_type not in RANDOM and self.cannot_fail(node)

    def cannot_fail(self, node: int) -> bool:
        """The node runs wherever those before it do."""
        operation, summary = self._nodes[node].operation, self._analysis.applied.get(node)
        if operation is None or summary is None or operation.rule is None:
            return False
        if not operation.is_standard or not operation.is_complete or summary.rejected or summary.refusal:
            return False
        return self.never_refuses(node)

    def requires_nothing(self, node: int) -> bool:
        """All that the node states is true; it may have doubts, though."""
        return all(s.relation is TRUE for s in self._analysis.statements(node) if s.role != "defined")

    def at(self, node: int) -> Exact:
        """What is known where a node stands."""
        return self

    def never_fails(self, node: int) -> bool:
        """The node runs on all legal inputs, whatever the nodes before it require."""
        return self.cannot_fail(node)

    def is_positive(self, dims: Iterable[Dim]) -> bool:
        """None of the dims is 0."""
        return all((dim.bounds.lo or 0) >= 1 for dim in dims)

    def tensor(self, operand: steps.Operand | None) -> Tensor | None:
        """A tensor on which all runtimes agree."""
        if operand is None or operand[0] < 0 or self._doubtful[operand[0]]:
            return None
        state = self._states[operand[0]]
        value = state[operand[1]] if operand[1] < len(state) else None
        originals = self._analysis.facts.originals
        if not isinstance(value, Tensor) or not originals:
            return value if isinstance(value, Tensor) else None
        found = self._restored.get(value)
        return self._restored.setdefault(value, value.replace(originals)) if found is None else found

    def is_sure(self, node: NodeProto, place: int, scope: graph.Scope, path: str) -> bool:
        """The node cannot fail, has no other effect than its outputs, and gives the same ones in every run.

        So it is of a Dropout, which draws numbers in training alone: `noops` asks whether that is off.
        """
        operand = next((scope.names[name] for name in node.output if name in scope.names), None)
        if operand is None or operand[0] < 0:
            return False
        known = self._nodes[operand[0]]
        if str(known.path) == path and known.outputs == tuple(node.output):
            return (self.cannot_fail if node.op_type == "Dropout" else self.is_certain)(operand[0])
        numbers = self._nodes_of_call(operand, node.name or f"{node.op_type}#{place}", path)
        return bool(numbers) and all(map(self.is_certain, numbers))

    def _nodes_of_call(self, output: steps.Operand, label: str, around: str) -> list[int]:
        """The nodes of a call of a function, by one of its outputs, its label and the path of the graph that it stands
        in; none where the call gives back what another node computes.
        """
        path: Path | None = self._nodes[output[0]].path
        while path is not None and (path.parent is None or str(path.parent) != around):
            path = path.parent
        is_of_call = path is not None and (path.label == label or path.label.startswith(f"{label}@"))
        return self._below.get(path, []) if path is not None and is_of_call else []

    @cached_property
    def _below(self) -> Mapping[Path, list[int]]:
        """The nodes of each body, those of inner ones included."""
        found: dict[Path, list[int]] = {}
        for number, node in enumerate(self._nodes):
            path: Path | None = node.path
            while path is not None:
                found.setdefault(path, []).append(number)
                path = path.parent
        return found

    def _has_sign(self, node: int) -> bool:
        """A zero among the floats of the node may be a negative one, which the analysis does not tell apart."""
        item = self._nodes[node]
        if item.operation is None or item.operation.op_type != "Cast":
            return True
        source, index = item.operands[0]
        value = self._states[source][index] if source >= 0 else None
        return not (isinstance(value, Tensor) and (value.dtype.is_integer or value.dtype is DType.BOOL))

    def _reached(self, starts: Iterable[int]) -> bytearray:
        """A flag for each of these nodes, and for each node that depends on one."""
        found = bytearray(len(self._nodes))
        for number in starts:
            found[number] = True
        operands, places, has_steps = self._nodes.operands, self._nodes.places, self._nodes.has_steps
        grows = any(found)
        while grows:
            grows = False
            for number, (own, (_, gate)) in enumerate(zip(operands, places, strict=True)):
                if found[number]:
                    continue
                is_reached = gate >= 0 and bool(found[gate])
                for producer, _ in own:
                    is_reached |= producer >= 0 and bool(found[producer])
                if is_reached or (has_steps and any(found[before] for before in self._after(number))):
                    found[number] = True
                    grows = has_steps  # an edge leads back at a loop alone
        return found

    def _after(self, number: int) -> list[int]:
        """The nodes that lead to a step besides its operands."""
        step = self._nodes[number].step
        if step is None:
            return []
        back = [producer for producer, _ in step.back] if isinstance(step, steps.LoopBody) else []
        return [producer for producer in (*step.after, *back) if producer >= 0]


def _inputs(analysed: Analysed, sizes: Mapping[str, int]) -> dict[int, Value]:
    """The inputs at these sizes. Every other dim has a symbol of its own: no runtime compares the dims of two inputs.

    The types of optionals and of elements of sequences are not compared with what is fed.
    """
    found: dict[int, Value] = {}
    for node, value in analysed.declared_inputs.values.items():
        if not isinstance(value, Tensor):
            found[node] = map_tensors(value, lambda tensor: Tensor(tensor.dtype))
        elif value.shape.rank is None:
            found[node] = Tensor(value.dtype)
        else:
            known = [size_at(dim, sizes) for dim in value.shape.dims]
            dims = [symbol(f"frozen {node}[{at}]") if n is None else const(n) for at, n in enumerate(known)]
            contents = value.contents and value.contents.map(lambda element: _given(element, sizes))
            found[node] = Tensor(value.dtype, Shape(dims), contents)
    return found


def _given(element: Element, sizes: Mapping[str, int]) -> Element:
    """The element of an input, as it is given."""
    known: dict[Symbol, Dim] = {s: const(sizes[s.name]) for s in element_symbols(element) if s.name in sizes}
    if isinstance(element, Relation):
        return element.substitute(known) if known else element
    return substitute(element, known) if known and isinstance(element, Expr) else element


def size_at(dim: Dim, sizes: Mapping[str, int]) -> int | None:
    """The number that a dim is at these sizes, if they decide it."""
    if not isinstance(dim, Expr):
        return None
    at = substitute(dim, {s: const(sizes[s.name]) for s in dim.symbols if s.name in sizes})
    return at.const if isinstance(at, Expr) else None


_NEAR: Final = 8
"""The part of a model, one of so many, in which requirements are near the first one."""


class Known(Exact):
    """What runs of the model have in common, at all legal sizes and whatever its data, and which nodes cannot fail.

    The analysis behind it rests on the declared inputs, on what the caller assumes, and on requirements of nodes that
    stand before the one in question and that may fail: they stay. It uses no numeric premise, so that a value is what
    it says wherever the nodes before it run.
    """

    agreed: ClassVar[frozenset[str]] = frozenset(
        {"MaxPool", "AveragePool", "LpPool", "Resize", "Upsample", "Range", "Loop", "Scan"}
    )

    def __init__(self, analysed: Analysed, required: Sequence[rounds.Learned] = ()) -> None:
        """`required` are requirements that hold too: what is known then, is known of the nodes behind them."""
        inputs = analysed.declared_inputs
        stated = [item.relation for item in required]
        facts = facts_of([*analysed.assumptions, *stated], inputs.premises)
        super().__init__(analysed, None, facts, Fitting())
        self._facts = analysed.last.analysis.facts
        self._later: list[tuple[int, Known]] = []
        if not required and analysed.last.learned:
            for known in _stages(list(self._held(analysed)), len(self._nodes)):
                self._later.insert(0, (max(item.node for item in known), Known(analysed, known)))

    def _held(self, analysed: Analysed) -> Iterator[rounds.Learned]:
        """The requirements that became facts of the analysis, and that nodes state without numeric premises."""
        facts = self._analysis.facts
        for item in sorted(analysed.last.learned, key=lambda item: item.node):
            statements = self._analysis.statements(item.node) if item.node >= 0 else ()
            stated = [s.relation for s in statements if s.role == "required"]
            if facts.assume(*stated).decide(item.relation) is YES:
                facts = facts.assume(item.relation)
                yield item

    def at(self, node: int) -> Known:
        """The same with what the nodes before this one require."""
        return next((known for since, known in self._later if node > since), self)

    def cannot_fail(self, node: int) -> bool:
        """The node runs wherever those before it do."""
        known = self.at(node)
        return super().cannot_fail(node) if known is self else known.cannot_fail(node)

    def never_fails(self, node: int) -> bool:
        """The node runs on all legal inputs, whatever the nodes before it require."""
        return super().cannot_fail(node)

    def trips(self, end: int) -> int | None:
        """The number of trips of a Loop in every run that reaches it, if the loop itself cannot fail."""
        step = self._nodes[end].step
        if not isinstance(step, steps.LoopExit):
            return None
        parts = step.parts(self._nodes[end].operands)
        before = (step.head, *(node for node, _ in (parts.limit, parts.condition, parts.goes_on) if node >= 0))
        if any(self._doubtful[node] for node in before) or not all(map(self.never_refuses, (step.head, end))):
            return None
        if not all(map(self._is_scalar, (parts.limit, parts.condition))):  # runtimes refuse to load some vectors of one
            return None
        found = self._analysis.trips.get(step.head)
        return found.const if isinstance(found, Expr) else None

    def _is_scalar(self, operand: steps.Operand) -> bool:
        """The value is a scalar, or absent."""
        value = self._states[operand[0]][operand[1]] if operand[0] >= 0 else None
        return operand[0] < 0 or (isinstance(value, Tensor) and value.shape.rank == 0)

    def is_positive(self, dims: Iterable[Dim]) -> bool:
        """None of the dims is 0 in a run of the whole model: its nodes that may fail stay, so they may be used."""
        return all((dim.bounds.lo or 0) >= 1 or (self._facts.simplify(dim).bounds.lo or 0) >= 1 for dim in dims)


def _stages(learned: Sequence[rounds.Learned], nodes: int) -> Iterator[Sequence[rounds.Learned]]:
    """The requirements of nodes near the first one, and all."""
    near = min((item.node for item in learned), default=0) + nodes // _NEAR
    first = [item for item in learned if item.node <= near]
    if len(first) < len(learned):
        yield first
    if learned:
        yield learned
