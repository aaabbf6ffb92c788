"""The summary of one application of a rule, with holes for the symbols that it invents, and the filling of holes.

A summary is memoised, and serves many nodes. Each fills its holes with symbols of its own: sharing them would assert an
equality that need not hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from absint.lattices.contents import Contents, Element, element_symbols
from absint.lattices.dtype import INTEGER_RANGES, DType
from absint.lattices.logic.relation import FALSE, Relation, eq, truth_of
from absint.lattices.records import NamedTuple
from absint.lattices.shape import Shape, shape_of
from absint.lattices.shape_choice import ShapeChoice
from absint.lattices.terms.atoms import SymbolKind
from absint.lattices.terms.expr import MAX_DIM, Dim, Expr, Symbol, Unknown, expr_of
from absint.lattices.terms.interval import ANY, Interval
from absint.lattices.value import BOTTOM, TOP, OptionalOf, SequenceOf, Tensor, Value
from absint.program.steps import Operand
from absint.transfer.stated import PossibleFailure, Statement

State = tuple[Value, ...]

Inputs = tuple[Value | None, ...]
"""The inputs of a node; None for one that is left out."""


def value_in(states: Sequence[State], operand: Operand) -> Value:
    """A value among the states of all nodes; bottom for one that is never computed."""
    state = states[operand[0]] if operand[0] >= 0 else ()
    return state[operand[1]] if operand[1] < len(state) else BOTTOM


MAX_NAMED_ELEMENTS: Final = 8
"""Unknown elements of integer vectors up to this length are named, so that two uses of one vector agree."""

_NATURAL: Final = Interval(0, MAX_DIM)


class RuleSummary(NamedTuple):
    """The result of one rule application, with holes for the symbols that it invents."""

    outputs: State
    holes: tuple[Symbol, ...] = ()
    statements: tuple[Statement, ...] = ()
    possible_failures: tuple[PossibleFailure, ...] = ()
    notes: tuple[str, ...] = ()
    rejected: str | None = None
    refusal: str = ""
    """The reason why no runtime loads the node, as the code of a diagnostic; empty if one may."""
    conditional: bool = False
    """It rests on facts: under others, the rule may say something else of the same inputs."""


def own_symbols(node: int, summary: RuleSummary, kind: SymbolKind = SymbolKind.FRESH) -> Mapping[Symbol, Dim]:
    """A node's own symbol, of this kind, for each hole of a summary."""
    return {hole: expr_of(hole.filled(node, kind)) for hole in summary.holes}


def is_named(value: Value) -> bool:
    """No unknown of a result is left without a name."""
    if not isinstance(value, Tensor):
        return value is TOP or value is BOTTOM
    shape, contents = value.shape, value.contents
    if not has_names(shape):
        return False
    if contents is None:
        return shape.rank is None or shape.rank > 1 or value.dtype not in _NAMED_TYPES
    return not contents.open or contents.is_fill or not contents.has_unknown


def has_names(shape: Shape) -> bool:
    """No size is left without a name, nor an unknown rank without a variable."""
    if shape.rank is not None:
        return not shape.has_unknown
    if isinstance(shape, ShapeChoice):
        return shape.has_names
    return not shape.is_top or (shape.variable is not None and not any(d.is_unknown for d in shape.known))


_NAMED_TYPES: Final = frozenset({DType.INT64, DType.INT32, DType.BOOL})


class _Namer:
    """Collects a hole for every unknown of one summary."""

    def __init__(self) -> None:
        self.holes: dict[Symbol, None] = {}
        self.statements: list[Statement] = []

    def hole(self, tag: str, bounds: Interval) -> Expr:
        symbol = Symbol.hole(tag, *bounds)
        self.holes[symbol] = None
        return expr_of(symbol)

    def dim(self, tag: str, dim: Dim, bounds: Interval) -> Dim:
        if not isinstance(dim, Unknown):
            self._keep(dim.symbols if isinstance(dim, Expr) else ())
            return dim
        # No size fits: no run gets here, and nothing wants a name.
        bounds = dim.bounds.meet(bounds)
        if bounds.is_empty:
            return dim
        named = self.hole(tag, bounds)
        # The hole keeps its bounds; what is known of its rest becomes a statement.
        if dim.congruence != ANY and dim.congruence.modulus > 1:
            relation = eq(named % dim.congruence.modulus, dim.congruence.remainder)
            self.statements.append(Statement(relation, "every value it may take", "defined"))
        return named

    def _keep(self, symbols: Sequence[Symbol] | frozenset[Symbol]) -> None:
        for symbol in sorted(symbols, key=lambda s: s.name) if len(symbols) > 1 else symbols:
            if symbol.kind is SymbolKind.HOLE:
                self.holes[symbol] = None

    def value(self, tag: str, value: Value) -> Value:
        if isinstance(value, Tensor):
            return self._tensor(tag, value)
        if isinstance(value, OptionalOf):
            return OptionalOf(self.value(f"{tag}?", value.element), value.present)
        if isinstance(value, SequenceOf) and value.items is not None:
            items = enumerate(value.items)
            return SequenceOf.of((self.value(f"{tag}@{at}", item) for at, item in items), value.element)
        if isinstance(value, SequenceOf):
            for number in () if value.cut is None else (value.cut.extent, value.cut.size):
                self._keep(number.symbols)
            return SequenceOf(value.element, self.dim(f"{tag}#", value.length, _NATURAL), None, value.cut)
        return value

    def _tensor(self, tag: str, value: Tensor) -> Tensor:
        shape, contents = value.shape, value.contents
        if shape.rank:
            dims = tuple([self.dim(f"{tag}.{axis}", d, _NATURAL) for axis, d in enumerate(shape.dims)])
            if dims != shape.dims:
                shape = shape_of(dims)
        elif isinstance(shape, ShapeChoice):
            shape = self._chosen(tag, shape)
        elif shape.is_top:
            shape = self._starred(tag, shape)
        if contents is not None:
            contents = self._contents(tag, contents, value.dtype)
        elif shape.rank is not None and shape.rank <= 1:
            contents = self._invented(tag, shape, value.dtype)
        unchanged = shape is value.shape and contents is value.contents
        return value if unchanged else Tensor(value.dtype, shape, contents, value.ramps)

    def _chosen(self, tag: str, shape: ShapeChoice) -> Shape:
        """The choice; of unknown rank if a size in a case has no name."""
        if not shape.has_names:
            return self._starred(tag, Shape(None))
        for dim in shape.open:
            self._keep(dim.symbols)
        return shape

    def _starred(self, tag: str, shape: Shape) -> Shape:
        """A shape of unknown rank with a variable, and with names for its known axes."""
        if shape.variable is None:
            shape = Shape.hole(f"{tag}*")
        variable = shape.variable
        assert variable is not None
        self._keep((variable,))
        head = [self.dim(f"{tag}.{axis}", d, _NATURAL) for axis, d in enumerate(shape.head)]
        last = len(shape.tail)
        tail = [self.dim(f"{tag}.-{last - at}", d, _NATURAL) for at, d in enumerate(shape.tail)]
        return shape.around((*head, *tail))

    def _contents(self, tag: str, contents: Contents, dtype: DType) -> Contents | None:
        if not contents.open:
            return contents
        bounds = Interval(*INTEGER_RANGES.get(dtype, (None, None)))
        elements: list[Element] = []
        for at, element in enumerate(contents.elements):
            if isinstance(element, Dim) and not contents.is_fill:
                elements.append(self.dim(f"{tag}[{at}]", element, bounds))
            else:
                self._keep(element_symbols(element))
                elements.append(element)
        if contents.is_fill or all(a is b for a, b in zip(elements, contents.elements, strict=True)):
            return contents
        return Contents.of(contents.shape or (), elements)

    def _invented(self, tag: str, shape: Shape, dtype: DType) -> Contents | None:
        """Names for the unknown elements of a small integer vector or a single boolean."""
        sizes = shape.concrete
        if sizes is None:
            return None
        count = sizes[0] if sizes else 1
        if dtype is DType.BOOL and count == 1:
            return Contents.of(sizes, [self._condition(tag)])
        if dtype not in (DType.INT64, DType.INT32) or not 1 <= count <= MAX_NAMED_ELEMENTS:
            return None
        bounds = Interval(*INTEGER_RANGES[dtype])
        return Contents.of(sizes, [self.hole(f"{tag}[{at}]", bounds) for at in range(count)])

    def _condition(self, tag: str) -> Relation:
        symbol = Symbol.hole(f"{tag}[0]", 0, 1)
        self.holes[symbol] = None
        return truth_of(symbol)


def name_unknowns(summary: RuleSummary) -> RuleSummary:
    """The summary, with a hole for every unknown dim of known rank and every unknown element of a small vector."""
    namer = _Namer()
    outputs = tuple([namer.value(str(index), value) for index, value in enumerate(summary.outputs)])
    relations = (*(s.relation for s in summary.statements), *(f.unless for f in summary.possible_failures))
    for relation in relations:
        namer._keep(relation.symbols)
    statements = (*summary.statements, *namer.statements)
    return summary._replace(outputs=outputs, holes=tuple(namer.holes), statements=statements)


def refused(outputs: State, reason: str, refusal: str = "", *, conditional: bool = False) -> RuleSummary:
    """The summary of a node that cannot run. `refusal` says why no runtime loads it, if none does."""
    statements = (Statement(FALSE, reason, "required"),)
    return name_unknowns(
        RuleSummary(outputs, (), statements, rejected=reason, refusal=refusal, conditional=conditional)
    )
