"""What a rule sees of a node, and the argument that most rules make: it works on each slice of an axis by itself.

The shape analysis holds of every run that succeeds: of A and C with n rows, and of B with one. So an expression over
the sizes of inputs is the same number in all of them, but for the number of rows.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from absint.analyses.independence import claims as domain
from absint.analyses.independence.claims import COUNTED, NO_SHIFT, SHARED, Along, Claims, Growth, Shift, closed
from absint.analyses.queries import bounds_of
from absint.lattices.contents import Element, element_symbols
from absint.lattices.logic.relation import FALSE, TRUE, Relation
from absint.lattices.ramp import Ramp, ends
from absint.lattices.shape import TOP_SHAPE, Shape
from absint.lattices.terms.expr import ONE_EXPR, ZERO_EXPR, Dim, Expr, Symbol, expr_of
from absint.lattices.terms.floats import Float
from absint.lattices.terms.normal import Real, substitute
from absint.lattices.terms.polynomials import exact_quotient
from absint.lattices.value import AnyTensor, SequenceOf, Tensor, Value
from absint.program.nodes import Operation

D = TypeVar("D")
Places = Sequence[int | None]
"""For each input the axis whose slices are worked on; None if each slice of an output may depend on all of it."""

Combine = Callable[[Sequence[Shift]], Shift]


class Sizes:
    """The symbol of the rows, and the symbols that are the same in all runs."""

    def __init__(self, rows: Symbol, fixed: Collection[str]) -> None:
        self.rows = rows
        self._fixed = frozenset(fixed) - {rows.name}

    def is_fixed(self, dim: Dim | Element, known: Collection[Symbol] = ()) -> bool:
        """The number is the same in all runs."""
        return isinstance(dim, Expr) and self._are_fixed(dim.symbols, known)

    def is_counted(self, dim: Dim | Element, known: Collection[Symbol] = ()) -> bool:
        """The number is the same in all runs on equally many rows."""
        return isinstance(dim, Expr) and self._are_fixed(dim.symbols - {self.rows}, known)

    def _are_fixed(self, symbols: Iterable[Symbol], known: Collection[Symbol]) -> bool:
        return all(symbol.name in self._fixed or symbol in known for symbol in symbols)

    def per_row(self, dim: Dim | None) -> Expr | None:
        """q of rows * q, if q does not name the rows."""
        if not isinstance(dim, Expr) or self.rows not in dim.symbols:
            return None
        found = quotient(dim, expr_of(self.rows))
        return None if found is None or self.rows in found.symbols else found

    def alone(self, dim: Dim) -> Dim:
        """The number in a run on one row."""
        return substitute(dim, {self.rows: ONE_EXPR}) if isinstance(dim, Expr) else dim

    def of_value(self, value: Value) -> Claims:
        """Elements that the shape analysis knows: equal ones, and those that grow evenly."""
        if not isinstance(value, Tensor):
            return closed(())
        found: list[domain.Claim] = []
        elements = value.contents.elements if value.contents is not None else None
        if elements is not None and value.shape.rank is not None:
            symbols = {symbol for element in elements for symbol in element_symbols(element)}
            symbols |= {symbol for dim in value.shape.open for symbol in dim.symbols}
            if all(map(_is_exact, elements)) and _is_known(value.shape):
                if self._are_fixed(symbols, ()):
                    return closed([SHARED])
                if self._are_fixed(symbols - {self.rows}, ()):
                    found.append(COUNTED)
            is_fill = value.contents is not None and value.contents.is_fill and all(map(_is_exact, elements))
            if is_fill and self._are_fixed(element_symbols(elements[0]), ()):
                found += self._of_growth(value.shape, None)
        if value.ramps and _is_known(value.shape):
            found += self._of_ramps(value.ramps, value.shape)
        return closed(found)

    def _of_ramps(self, ramps: Sequence[Ramp], shape: Shape) -> Iterator[domain.Claim]:
        numbers = [number for ramp in ramps for number in (ramp.base, *ramp.steps)]
        if all(map(self.is_counted, [*numbers, *shape])):
            yield COUNTED
        if all(map(self.is_fixed, numbers)):
            yield from self._of_growth(shape, ramps)

    def _of_growth(self, shape: Shape, ramps: Sequence[Ramp] | None) -> Iterator[Along]:
        for axis, dim in enumerate(shape):
            each = self.per_row(dim)
            rest = [d for at, d in enumerate(shape) if at != axis]
            if each is None or not all(map(self.is_fixed, [each, *rest])):
                continue
            if ramps is not None and axis >= len(ramps[0].steps):
                continue
            inner = [self._growth(ramp, axis, each, shape) for ramp in ramps or ()]
            known = [growth for growth in inner if growth is not None]
            if len(known) == len(inner):
                yield Along(axis, ONE_EXPR, each, domain.united(known) if known else NO_SHIFT)
            if each is not ONE_EXPR and all(ramp.steps[axis] is ZERO_EXPR for ramp in ramps or ()):
                yield Along(axis, each, ONE_EXPR)

    def _growth(self, ramp: Ramp, axis: int, each: Expr, shape: Shape) -> Growth | None:
        step = ramp.steps[axis] * each
        limits = ends(ramp, [self.alone(dim) for dim in shape.dims[: len(ramp.steps)]]) or (None, None)
        least, most = (limit if isinstance(limit, Expr) else None for limit in limits)
        return Growth(step, least, most) if isinstance(step, Expr) else None


def _is_known(shape: Shape) -> bool:
    return shape.rank is not None and all(isinstance(dim, Expr) for dim in shape)


def _is_exact(element: Element) -> bool:
    return isinstance(element, (Expr, Relation, Real, Float))


def quotient(a: Dim, b: Dim) -> Expr | None:
    """q with a = q * b for all sizes."""
    if not isinstance(a, Expr) or not isinstance(b, Expr) or b is ZERO_EXPR:
        return None
    found = exact_quotient(a, b)
    return found if isinstance(found, Expr) else None


class Seen:
    """An operator, what is claimed of its inputs, and what the shape analysis knows."""

    def __init__(
        self,
        operation: Operation,
        sizes: Sizes,
        inputs: Sequence[Claims | None],
        values: Sequence[Value],
        outputs: Sequence[Value],
        node: int,
    ) -> None:
        """`inputs` are None where they are left out; `values` and `outputs` are those of the shape analysis."""
        self.node = node
        self.operation = operation
        self.operator = operation.operator
        self.version = operation.version
        self.sizes = sizes
        self.inputs = inputs
        self.values = values
        self.outputs = outputs

    def has(self, index: int) -> bool:
        """The input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def claims(self, index: int) -> Claims:
        """Those of an input; one that is left out is the same everywhere."""
        found = self.inputs[index] if index < len(self.inputs) else None
        return closed([SHARED]) if found is None else found

    def along(self, index: int, axis: int | None = None) -> Iterator[Along]:
        """The claims that rows of an input lie along an axis."""
        return (claim for claim in domain.strongest(self.claims(index)) if axis in (None, claim.axis))

    def shape(self, index: int) -> Shape:
        return self._shape_of(self.values[index]) if index < len(self.values) else TOP_SHAPE

    def output(self, index: int = 0) -> Shape:
        return self._shape_of(self.outputs[index]) if index < len(self.outputs) else TOP_SHAPE

    def _shape_of(self, value: Value) -> Shape:
        if isinstance(value, SequenceOf):
            value = value.element
        return value.shape if isinstance(value, AnyTensor) else TOP_SHAPE

    def rank(self, index: int) -> int | None:
        return self.shape(index).rank

    def attribute(self, name: str, default: D) -> D:
        found = self.operation.attributes.get(name, default)
        return found if isinstance(found, type(default)) else default

    def listed(self, name: str) -> list[int] | None:
        """An attribute that is a list of integers."""
        found = self.operation.attributes.get(name)
        return [n for n in found if isinstance(n, int)] if isinstance(found, list) else None

    def elements(self, index: int) -> list[Expr] | None:
        """The integers of an input, if all are known."""
        value = self.values[index] if self.has(index) and index < len(self.values) else None
        if not isinstance(value, Tensor) or value.contents is None or value.shape.concrete is None:
            return None
        block = value.contents.block(value.shape.concrete)
        found = [] if block is None else [one for one in block.elements if isinstance(one, Expr)]
        return found if block is not None and len(found) == len(block.elements) else None

    def integers(self, index: int) -> list[int] | None:
        """The integers of an input, if all are constants."""
        found = self.elements(index)
        numbers = [one.const for one in found or () if one.const is not None]
        return numbers if found is not None and len(numbers) == len(found) else None

    def truth(self, index: int) -> bool | None:
        """The one truth of an input, if it is known."""
        value = self.values[index] if index < len(self.values) else None
        elements = value.contents.elements if isinstance(value, Tensor) and value.contents is not None else ()
        return True if elements[:1] == (TRUE,) else False if elements[:1] == (FALSE,) else None

    def axis_of(self, index: int, axis: int) -> int | None:
        """An axis of an input counted from the front."""
        rank = self.rank(index)
        return None if rank is None or not -rank <= axis < rank else axis % rank

    # The argument

    def pointwise(
        self, axis: int, places: Places, combine: Combine | None = None, *, strict: bool = False
    ) -> Iterator[Along]:
        """The claims of an output along an axis, each of whose slices is computed in the same way from the slices at
        these places, and from the whole of the other inputs.

        An input that is the same for all rows has no such axis, or one of size 1, which is broadcast; with `strict` it
        has none.
        """
        layouts = {c[1:3]: None for k, place in enumerate(places) if place is not None for c in self.along(k, place)}
        for outer, inner in layouts:
            shifts: list[Shift] = []
            for k, place in enumerate(places):
                found = self._slices(k, place, outer, inner, strict=strict)
                if found is None:
                    break
                shifts.append(found[0])
            else:
                if combine is not None:
                    shift = combine(shifts)
                else:
                    shift = NO_SHIFT if all(map(domain.is_steady, shifts)) else None
                yield Along(axis, outer, inner, shift)

    def each(self, axes: Collection[int | None], outputs: Iterable[int] = (0,)) -> dict[int, list[Along]]:
        """All outputs have the axes of the first input; slices of all but `axes` are apart, other inputs whole."""
        rank, others = self.rank(0) or 0, [None] * (len(self.inputs) - 1)
        found = [c for axis in range(rank) if axis not in axes for c in self.pointwise(axis, [axis, *others])]
        return dict.fromkeys(outputs, found)

    def led(self, axis: int, places: Places) -> Iterator[Along]:
        """As `pointwise`, where the first input has the rows: the output has its shape, whatever is broadcast to it."""
        layouts = {c[1:3] for c in self.along(0, places[0])}
        return (claim for claim in self.pointwise(axis, places) if claim[1:3] in layouts)

    def _slices(self, index: int, place: int | None, outer: Expr, inner: Expr, *, strict: bool) -> tuple[Shift] | None:
        claims = self.claims(index)
        if place is not None and self.has(index):
            found = [c.shift for c in self.along(index, place) if c[1:3] == (outer, inner)]
            if found:
                return (found[0],)
            rank = self.rank(index)
            if strict or rank is None or place >= rank or self.shape(index)[place] is not ONE_EXPR:
                return None
        return ((self.growth(index),),) if SHARED in claims else (None,) if COUNTED in claims else None

    def growth(self, index: int) -> Growth:
        """The bounds of integers that do not depend on the rows."""
        value = self.values[index] if self.has(index) else None
        if not isinstance(value, Tensor) or not value.dtype.is_integer:
            return Growth()
        found = bounds_of(value)
        is_known = max(map(abs, found.numbers)) < 1 << 31 or found.least is not None
        ends = [end if isinstance(end, Expr) and self.sizes.is_fixed(end) else None for end in found.whole]
        return Growth(ZERO_EXPR, *ends) if is_known else Growth()

    def known(self, index: int, claim: Along) -> frozenset[Symbol]:
        """Symbols that are the same in the runs that a claim is about, as it says of sizes that consist of one."""
        shape = self.shape(index)
        dims = [claim.outer] if claim.is_owned else [claim.outer, claim.inner]
        dims += [d for at, d in enumerate(shape) if at != claim.axis and isinstance(d, Expr)] if shape.rank else []
        lone = (dim.terms[0][0] for dim in dims if len(dim.terms) == 1 and len(dim.terms[0][0]) == 1)
        return frozenset(atoms[0] for atoms in lone if isinstance(atoms[0], Symbol))

    def is_kept(self, dims: Iterable[Dim], claim: Along, index: int = 0) -> bool | None:
        """Sizes are the same in the runs that a claim is about: in those on equally many rows only, if None."""
        known, listed = self.known(index, claim), list(dims)
        if all(self.sizes.is_fixed(dim, known) for dim in listed):
            return True
        return None if all(self.sizes.is_counted(dim, known) for dim in listed) else False


Found = Mapping[int, Iterable[Along]] | Iterable[Along]
"""The claims of each output along an axis; without a number those of the first one."""

Rule = Callable[[Seen], Found]
"""The claims of an operator along axes; what holds of all operators is added."""
