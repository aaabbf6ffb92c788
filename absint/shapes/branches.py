"""The meaning of If: gates at the entry of branches, and the join of two values as one; and the operands of steps as
relations and integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import DTYPES, INTEGER_RANGES, DType
from absint.lattices.logic.formula import FALSE, NO, TRUE, UNKNOWN_RELATION, Relation, conjunction
from absint.lattices.logic.piecewise import choices, settled
from absint.lattices.logic.relation import disjunction, eq, implies, ite, negation, truth_of
from absint.lattices.shape import TOP_SHAPE, Shape, shape_of
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_DIM, Dim, Expr, Symbol, expr_of
from absint.lattices.value import BOTTOM, TOP, OptionalOf, SequenceOf, Tensor, Value
from absint.lattices.value_lattice import VALUES
from absint.program.nodes import Node
from absint.program.steps import Gate, IfJoin
from absint.shapes.interpretation import Interpretation
from absint.shapes.summaries import State
from absint.transfer.stated import Statement


class Join:
    """Joins two values as one: the first where the condition holds, else the second."""

    def __init__(self, condition: Relation | None, first: int = 0, last: int = -1) -> None:
        """`first` to `last` are nodes whose symbols have no meaning elsewhere."""
        self.condition = truth_of(Symbol.hole("condition", 0, 1)) if condition is None else condition
        self.by_data = any(s.is_by_data for s in self.condition.symbols)
        self.first, self.last = first, last
        self.statements: list[Statement] = []
        self._named: dict[tuple[Dim, Dim], Expr] = {}

    def value(self, tag: str, a: Value, b: Value) -> Value:
        if a is b:
            return a
        if isinstance(a, SequenceOf) and isinstance(b, SequenceOf):
            if a.each and b.each and len(a.each) == len(b.each):
                pairs = enumerate(zip(a.each, b.each, strict=True))
                return SequenceOf.of((self.value(f"{tag}@{at}", x, y) for at, (x, y) in pairs), TOP)
            return SequenceOf(VALUES.join(a.element, b.element), self.dim(f"{tag}#", a.length, b.length))
        if isinstance(a, OptionalOf) and isinstance(b, OptionalOf):
            return OptionalOf(self._held(tag, a, b), a.present if a.present is b.present else None)
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            return VALUES.join(a, b)
        dtype = DTYPES.join(a.dtype, b.dtype)
        if a.shape.is_top or b.shape.is_top or len(a.shape) != len(b.shape):
            return Tensor(dtype, self._of_ranks(tag, a.shape, b.shape))
        dims = [self.dim(f"{tag}.{axis}", x, y) for axis, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))]
        return Tensor(dtype, shape_of(tuple(dims)), self._contents(tag, a, b))

    def _of_ranks(self, tag: str, a: Shape, b: Shape) -> Shape:
        """The shape of two branches of different ranks: a choice if sizes decide which is taken."""
        symbols = (symbol for shape in (a, b) for dim in shape.open for symbol in dim.symbols)
        if a is b or self.by_data or any(map(self._inside, symbols)):
            return self._starred(tag, a, b)
        chosen = ShapeChoice.of(self.condition, a, b)
        return self._starred(tag, a, b) if chosen is TOP_SHAPE else chosen

    def _starred(self, tag: str, a: Shape, b: Shape) -> Shape:
        """The shape of a branch that has a variable and of another one: with the axes that both know."""
        if a is b or a.variable is None or b.variable is None:
            return a if a is b else TOP_SHAPE
        head = [self.dim(f"{tag}.{axis}", x, y) for axis, (x, y) in enumerate(zip(a.head, b.head, strict=False))]
        pairs = zip(reversed(a.tail), reversed(b.tail), strict=False)
        tail = [self.dim(f"{tag}.-{axis + 1}", x, y) for axis, (x, y) in enumerate(pairs)]
        is_same = a.variable is b.variable and len(head) == len(a.head) == len(b.head)
        if is_same and len(tail) == len(a.tail) == len(b.tail):
            return Shape.starred(a.variable, tuple(head), tuple(reversed(tail)))
        return Shape.hole(f"{tag}*", tuple(head), tuple(reversed(tail)))

    def _held(self, tag: str, a: OptionalOf, b: OptionalOf) -> Value:
        """The element that the optional may hold; an absent one does not restrict it."""
        held = [optional.element for optional in (a, b) if optional.present is not False]
        return held[0] if len(held) == 1 else self.value(tag, a.element, b.element)

    def dim(self, tag: str, a: Dim, b: Dim, bounds: tuple[int | None, int | None] = (0, MAX_DIM)) -> Dim:
        if a is b:
            return a
        if not (isinstance(a, Expr) and isinstance(b, Expr)):
            return UNKNOWN_DIM
        if not self.by_data and not any(self._inside(s) for s in (*a.symbols, *b.symbols)):
            whole = ite(self.condition, a, b)
            either = settled(whole)
            return whole if self.condition in choices(either) else either  # `ite(M == 1, N, M*N)` is `M*N`
        named = self._named.get((a, b))
        if named is not None:
            return named
        named = self._named[a, b] = expr_of(Symbol.hole(tag, *bounds))
        for condition, term in ((self.condition, a), (negation(self.condition), b)):
            self.statements.append(
                Statement(implies(condition, eq(named, term)), "the branch that is taken", "defined")
            )
        return named

    def _inside(self, symbol: Symbol) -> bool:
        place = symbol.origin_node
        return place is not None and self.first <= place <= self.last

    def _contents(self, tag: str, a: Tensor, b: Tensor) -> Contents | None:
        x, y = a.contents, b.contents
        if x is None or y is None or x.is_fill or y.is_fill or x.shape != y.shape:
            return x if x is y else None
        pairs = enumerate(zip(x.elements, y.elements, strict=True))
        return Contents.of(x.shape or (), [self._element(f"{tag}[{at}]", p, q, a.dtype) for at, (p, q) in pairs])

    def _element(self, tag: str, a: Element, b: Element, dtype: DType) -> Element:
        if a is b or a == b:
            return a
        if isinstance(a, Dim) and isinstance(b, Dim):
            return self.dim(tag, a, b, INTEGER_RANGES.get(dtype, (None, None)))
        if isinstance(a, Relation) and isinstance(b, Relation) and not self.by_data:
            return disjunction(conjunction(self.condition, a), conjunction(negation(self.condition), b))
        return OPAQUE


def condition_of(value: Value | None) -> Relation | None:
    """A condition tensor as a relation, or None if unknown. A condition that is left out is true."""
    if value is None:
        return TRUE
    if isinstance(value, Tensor) and value.contents is not None:
        elements = value.contents.elements
        if len(elements) == 1 and isinstance(elements[0], Relation):
            return elements[0]
    return None


def integer_of(value: Value | None) -> Dim | None:
    """The element of an integer scalar; None if the operand is left out."""
    if value is None:
        return None
    if isinstance(value, Tensor) and value.contents is not None and len(value.contents.elements) == 1:
        element = value.contents.elements[0]
        if isinstance(element, Dim):
            return element
    return UNKNOWN_DIM


def single(what: str, value: Value | None, dtype: DType) -> tuple[list[Statement], list[str]]:
    """Require that an operand, if given, is one element of this type; the reasons why that may fail."""
    reason = f"the {what} must be one element of type {dtype}"
    if value is None or value is BOTTOM:
        return [], []
    if not isinstance(value, Tensor):
        return [], [reason]
    relation = eq(value.shape.size, 1) if value.dtype in (dtype, DType.UNDEFINED) else FALSE
    if relation in (TRUE, UNKNOWN_RELATION):
        return [], [reason] if relation is UNKNOWN_RELATION else []
    return [Statement(relation, reason, "required")], []


ALLOCATED: Final = "onnxruntime allocates memory from the sizes that a body declares, which may be wrong"


def may_lie(declared: Value, actual: Value | None) -> bool:
    """The declared type states a size, or an element type, that the value is not known to have."""
    if not isinstance(declared, Tensor) or not isinstance(actual, Tensor):
        return False
    if DType.UNDEFINED not in (declared.dtype, actual.dtype) and declared.dtype is not actual.dtype:
        return True
    if declared.shape.is_top or actual.shape.rank != declared.shape.rank:
        return not declared.shape.is_top and any(d.is_concrete for d in declared.shape)
    return any(d.is_concrete and d != e for d, e in zip(declared.shape, actual.shape, strict=True))


def enter_branch(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """A gate: its reachability, and the facts below it."""
    gate = item.step
    assert isinstance(gate, Gate)
    value = run.operand(item.operands[0], states)
    if value is BOTTOM:
        return (BOTTOM,)
    condition = condition_of(value)
    condition = TRUE if condition is None else condition if gate.taken else negation(condition)
    if run.facts_at(item.gate).decide(condition) is NO:
        return (BOTTOM,)
    run.guard(node, condition)
    return (TOP,)


def join_branches(run: Interpretation, node: int, item: Node, states: Sequence[State]) -> State:
    """The outputs of an If from those of its branches."""
    step = item.step
    assert isinstance(step, IfJoin)
    condition, *values = (run.operand(o, states) for o in item.operands)
    then, other = step.branches((condition, *values))
    required, possible_failures = single("condition", condition, DType.BOOL)
    if any(map(may_lie, step.declared, values)):
        possible_failures.append(ALLOCATED)
    then_is_reached, other_is_reached = (states[gate][0] is not BOTTOM for gate in step.after)
    if not (then_is_reached and other_is_reached):
        taken = then if then_is_reached else other if other_is_reached else [BOTTOM] * len(then)
        return run.record(node, tuple(value or TOP for value in taken), required, possible_failures)
    join = Join(condition_of(condition), step.then_gate, node)
    outputs = tuple(join.value(str(k), a or TOP, b or TOP) for k, (a, b) in enumerate(zip(then, other, strict=True)))
    return run.record(node, outputs, [*required, *join.statements], possible_failures)
