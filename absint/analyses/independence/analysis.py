"""The analysis: which rules apply, and how claims pass through branches and loops.

Runs that take the same branch, or make equally many trips, go through a body in lockstep, so its values are compared
trip by trip. A condition that is the same in A and C alone leaves claims about these two; any other leaves none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from absint.analyses.forward import ForwardAnalysis
from absint.analyses.independence.claims import CLAIMS, COUNTED, NO_SHIFT, NONE, SAME, SHARED, Along, Claims, closed
from absint.analyses.independence.seen import Seen, Sizes
from absint.analyses.independence.table import is_random, of_empty, rule_of
from absint.analyses.queries import Row
from absint.lattices.shape import TOP_SHAPE
from absint.lattices.terms.expr import MAX_DIM, Expr, Symbol, expr_of, product
from absint.lattices.value import TOP, Tensor, Value, tensors
from absint.program.nodes import Node
from absint.program.steps import IfJoin, LoopExit, LoopHead, MapExit, Operand, ScanExit, ScanHead, Step
from absint.solution.analysed import Analysed

States = Sequence[tuple[Claims, ...]]


class Independence(ForwardAnalysis[Claims]):
    """Where the rows of the inputs are, and whether row i of a value depends on row i of the inputs alone.

    The rows are the axes of the inputs whose size is the symbol. Run it with `fixpoint(result.graph, analysis)`.
    """

    domain = CLAIMS

    def __init__(self, result: Analysed, rows: Symbol, most: int = MAX_DIM) -> None:
        """`most` is the greatest number of rows of a run that succeeds."""
        super().__init__(result)
        fixed = {name for name, number in result.parameters.items() if number.const is None}
        some = Symbol(rows.name, 1, most)
        self.sizes = Sizes(some, fixed)
        self._some = {rows: expr_of(some)}
        self._values: dict[Value, Value] = {}
        self._found: dict[object, list[Claims]] = {}
        self._inputs_by_node = {node: name for name, node in result.input_nodes.items()}

    def value(self, operand: Operand) -> Value:
        """A value as the shape analysis knows it, of one row or more."""
        found = self.frame.value(operand)
        if found not in self._values:
            self._values[found] = found.replace(self._some)
        return self._values[found]

    def source(self, node: int) -> Claims:
        value = self.value((node, 0))
        if self.frame.call is not None or node not in self._inputs_by_node:
            return SAME
        rows = expr_of(self.sizes.rows)
        named = [d for t in tensors(value) for d in t.shape.open if self.sizes.rows in d.symbols]
        if not named:
            return SAME
        if not isinstance(value, Tensor) or value.shape.rank is None or len(named) > 1 or named[0] is not rows:
            return NONE
        return closed([Along(value.shape.dims.index(rows))])

    def operator(self, node: int, inputs: Sequence[Claims | None]) -> list[Claims]:
        item, frame = self.nodes[node], self.frame
        assert item.operation is not None
        width, known = max(1, len(item.outputs)), frame.value
        values = [known(operand) for operand in item.operands]
        if CLAIMS.bottom in inputs or item.operator == "SequenceEmpty":
            of_rule = of_empty(item.operator, inputs, values) if inputs else None
            if of_rule is None:
                return [CLAIMS.bottom] * width
            inputs = of_rule
        values += [known((node, at)) for at in range(width)]
        own = node if item.operator in ("NonZero", "TopK") else None  # what it deals out is its own
        key = (item.operation, own, frame.call is None, *inputs, *values)
        if key not in self._found:
            self._found[key] = self._of_operator(self.seen(node, inputs))
        return self._found[key]

    def _of_operator(self, seen: Seen) -> list[Claims]:
        if is_random(seen):
            return [NONE] * len(seen.outputs)
        given = [one for one in seen.inputs if one is not None]
        if seen.operator == "SequenceLength":
            return [_count_of(given[0])]
        whole = SAME if all(SHARED in one for one in given) else NONE
        if all(COUNTED in one for one in given):
            whole |= {COUNTED}
        if whole == SAME or self.frame.call is not None:
            return [whole] * len(seen.outputs)
        operation = seen.operation
        rule = None if operation.malformed or operation.other is not None else rule_of(operation)
        found = rule(seen) if rule is not None else ()
        found = found if isinstance(found, Mapping) else {0: found}
        return [whole | closed(found.get(at, ())) | self.sizes.of_value(one) for at, one in enumerate(seen.outputs)]

    def seen(self, node: int, inputs: Sequence[Claims | None]) -> Seen:
        """A node for its rule."""
        item = self.nodes[node]
        assert item.operation is not None
        values = [self.value(o) if o[0] >= 0 else TOP for o in item.operands]
        outputs = [self.value((node, at)) for at in range(max(1, len(item.outputs)))]
        return Seen(item.operation, self.sizes, inputs, values, outputs, node)

    def trip_number(self, head: int) -> Claims:
        return SAME

    def arguments(self, node: int, rows: Sequence[Row]) -> Row:
        """Only claims about no row: the body of a folded call has symbols of its own in its shapes."""
        return tuple(c if c == CLAIMS.bottom else cast("Claims", c) & SAME for c in super().arguments(node, rows))

    # Branches and loops

    def _step(self, node: int, step: Step, states: States) -> Iterator[Claims]:
        item, found = self.nodes[node], list(super()._step(node, step, states))
        operands = item.operands
        match step:
            case IfJoin():
                is_open = not any(map(self.frame.is_closed, (step.then_gate, step.else_gate)))
                return self._controlled(found, [self._of(operands[0], states)] if is_open else [])
            case LoopHead():
                found = list(map(self._settled, found))
                if found[1] != CLAIMS.bottom:
                    found[1] = SAME  # where the body runs, the condition is true
            case LoopExit(head=head, count=count):
                start = self.nodes[head]
                assert isinstance(start.step, LoopHead)
                control = [self._of(o, states) for o in (*start.operands[:2], start.step.back[0]) if o[0] >= 0]
                found[count:] = [self._stacked_at(node, at, found[at], 0) for at in range(count, len(found))]
                return self._controlled(found, control)
            case ScanHead(settings=settings, back=back) if not settings.batched and self._is_by_rows(item, states):
                found[: settings.states] = self._unchanged(node, found, back)
                for at, axis in enumerate(settings.input_axes, settings.states):
                    found[at] = _of_trip(found[at], self._rank(operands[at]), axis)
            case ScanExit(head=head, settings=settings) if self._is_by_rows(self.nodes[head], states):
                scan = self.nodes[head].step
                assert isinstance(scan, ScanHead)
                found[: settings.states] = self._unchanged(head, found, scan.back)
                for at, axis in enumerate(settings.output_axes, settings.states):
                    found[at] = self._rows_of_trips(node, at, found[at], axis)
            case ScanHead(settings=settings) if not settings.batched:
                found[: settings.states] = map(self._settled, found[: settings.states])
                for at, axis in enumerate(settings.input_axes, settings.states):
                    found[at] = _sliced(found[at], self._rank(operands[at]), axis)
            case ScanExit(head=head, settings=settings) if not settings.batched:
                for at, axis in enumerate(settings.output_axes, settings.states):
                    found[at] = self._stacked_at(node, at, found[at], axis)
                return self._controlled(found, [self._length_of(self.nodes[head], states)])
            case MapExit(head=head):
                return self._controlled(found, [_count_of(self._of(self.nodes[head].operands[0], states))])
        return iter(found)

    def _parts(self, operands: Sequence[Operand], states: States) -> Iterator[Claims]:
        return (self._of(operand, states) for operand in operands)

    def _stacked(self, head: int, operands: Sequence[Operand], states: States) -> Iterator[Claims]:
        return (NONE if self.frame.is_closed(head) else self._of(operand, states) for operand in operands)

    def _controlled(self, found: Iterable[Claims], control: Sequence[Claims]) -> Iterator[Claims]:
        """The values that a condition or the number of trips decides."""
        is_shared = all(SHARED in one or one == CLAIMS.bottom for one in control)
        is_counted = all(COUNTED in one or one == CLAIMS.bottom for one in control)
        for claims in map(self._settled, found):
            if claims == CLAIMS.bottom or is_shared:
                yield claims
            else:
                # the claims that stay when run B is not compared
                kept = (c for c in claims if c == COUNTED or (isinstance(c, Along) and c.shift is None))
                yield frozenset(kept) if is_counted else NONE

    def _settled(self, claims: Claims) -> Claims:
        """Only claims about sizes that stay the same from trip to trip."""
        if claims == CLAIMS.bottom:
            return claims
        ways = [c for c in claims if isinstance(c, Along) and all(map(self.sizes.is_fixed, _numbers(c)))]
        return (claims & SAME) | {*ways}

    def _length_of(self, head: Node, states: States) -> Claims:
        """The claims about the number of trips of a Scan."""
        assert isinstance(head.step, ScanHead)
        settings = head.step.settings
        found = NONE
        for operand, axis in zip(head.operands[settings.states :], settings.input_axes, strict=True):
            claims, rank = self._of(operand, states), self._rank(operand)
            found |= claims & SAME
            ways = [c for c in claims if isinstance(c, Along) and rank is not None and not c.is_owned]
            others = [c for c in ways if rank is not None and c.axis != axis % rank]
            found |= _count_of(frozenset(others)) | (closed([COUNTED]) if len(others) < len(ways) else NONE)
        return found

    def _is_by_rows(self, head: Node, states: States) -> bool:
        """Trip i of this Scan reads row i: it is compared with the one trip of run B."""
        assert isinstance(head.step, ScanHead)
        settings = head.step.settings
        if settings.batched or not settings.forwards or SHARED in self._length_of(head, states):
            return False
        scanned = zip(head.operands[settings.states :], settings.input_axes, strict=True)
        slices = [_of_trip(self._of(operand, states), self._rank(operand), axis) for operand, axis in scanned]
        return NONE not in slices and any(SHARED in one for one in slices)

    def _unchanged(self, head: int, found: Sequence[Claims], back: Sequence[Operand]) -> list[Claims]:
        """The values that a Scan carries; claimed only where no row changes them."""
        ends = list(back)
        for at, end in enumerate(ends):
            while self.nodes[end[0]].operator == "Identity":
                end = self.nodes[end[0]].operands[0]
            ends[at] = end
        return [
            claims & SAME if end == (head, at) else CLAIMS.bottom if claims == CLAIMS.bottom else NONE
            for at, (claims, end) in enumerate(zip(found, ends, strict=False))
        ]

    def _rows_of_trips(self, node: int, at: int, claims: Claims, axis: int) -> Claims:
        """The stacked results of trips of which each has a row."""
        value = self.value((node, at))
        rank = value.shape.rank if isinstance(value, Tensor) else None
        if claims == CLAIMS.bottom or rank is None or not isinstance(value, Tensor) or not -rank <= axis < rank:
            return claims if claims == CLAIMS.bottom else NONE
        if COUNTED not in claims or value.shape[axis] is not expr_of(self.sizes.rows):
            return NONE
        return closed([Along(axis % rank, shift=NO_SHIFT if SHARED in claims else None)])

    def _rank(self, operand: Operand) -> int | None:
        value = self.value(operand)
        return value.shape.rank if isinstance(value, Tensor) else None

    def _stacked_at(self, node: int, at: int, claims: Claims, axis: int) -> Claims:
        """The stacked results of all trips. After no trip their other axes may have any size."""
        value = self.value((node, at))
        shape = value.shape if isinstance(value, Tensor) else TOP_SHAPE
        if claims == CLAIMS.bottom or shape.rank is None or not -shape.rank <= axis < shape.rank:
            return claims if claims == CLAIMS.bottom else claims & SAME
        ways, rows = [c.uniform for c in claims if isinstance(c, Along)], expr_of(self.sizes.rows)
        moved = [c._replace(axis=c.axis + (c.axis >= axis % shape.rank)) for c in ways]
        fit = [c for c in moved if c.axis < shape.rank and shape[c.axis] is product([c.outer, rows, c.inner])]
        return closed([*fit, *(c for c in claims if not isinstance(c, Along))])


def _numbers(claim: Along) -> Iterator[Expr]:
    yield from (claim.outer, claim.inner)
    for growth in claim.shift or ():
        yield from (number for number in growth if number is not None)


def _count_of(claims: Claims) -> Claims:
    """The claims about sizes of other axes than that of the rows, and about lengths of sequences."""
    is_same = SHARED in claims or any(isinstance(c, Along) and c.shift is not None for c in claims)
    return SAME if is_same else closed([COUNTED]) if claims else NONE


def _of_trip(claims: Claims, rank: int | None, axis: int) -> Claims:
    """The slice of a trip, if trips are rows."""
    if claims == CLAIMS.bottom:
        return claims
    own = [c for c in claims if isinstance(c, Along) and rank is not None and c == Along(axis % rank, shift=c.shift)]
    if any(claim.is_free for claim in own):
        return SAME
    return closed([COUNTED]) if own or COUNTED in claims else NONE


def _sliced(claims: Claims, rank: int | None, axis: int) -> Claims:
    """One slice of a tensor along an axis that is not the rows'."""
    if claims == CLAIMS.bottom or rank is None:
        return claims if claims == CLAIMS.bottom else claims & SAME
    axis %= rank
    ways = [c.uniform for c in claims if isinstance(c, Along) and c.axis != axis]
    others = [c for c in claims if not isinstance(c, Along)]
    return closed([*others, *(c._replace(axis=c.axis - (c.axis > axis)) for c in ways)])
