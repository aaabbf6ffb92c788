"""Invariants of carried values: a claim for each number, which gets weaker in finitely many steps.

The claim about a carried dim or element says what it is at the start of iteration i:

    START ── the body changes it ──> PROBE ── forms fit ──> FORM ── all refuted, no search left ──> SYMBOL
    its start                        any number   ^          │ one refuted: the next form           bounds alone
                                        │         └──────────┘ all refuted: another search            ^
                                        ├── of several numbers together ──> NEXT, LAST ──> FORM       │
                                        └── no form ──────────────────────────────────────────────────┘

Forms (see `closed_forms`) are guessed from the first trip, from a run of the body on the symbol of a probe, and from
numbers that become each other. A form is proved by induction: it is the start at i = 0, and the body, run on the claims
of all numbers, gives it back at i + 1. A symbol has bounds that contain the start and that the body does not leave.
So a head is stable after finitely many visits without widening by the engine: lists of forms only get shorter, searches
and restarts are counted, and bounds change once, to the full range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from absint.lattices.contents import OPAQUE, Contents, Element
from absint.lattices.dtype import INTEGER_RANGES
from absint.lattices.shape import Shape, shape_of
from absint.lattices.terms.expr import MAX_DIM, UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, Symbol, const, expr_of, sub
from absint.lattices.terms.interval import FULL, Interval
from absint.lattices.terms.normal import substitute
from absint.lattices.value import BOTTOM, SequenceOf, Tensor, Value
from absint.lattices.value_lattice import VALUES
from absint.shapes.loops.body import BodySymbols
from absint.shapes.loops.closed_forms import MAX_PERIOD, candidates, going_round, interleaved, trips_of
from absint.shapes.loops.forms import Form, Sum
from absint.shapes.loops.linear import with_room

Place = tuple[object, ...]

_DIM_RANGE: Final = Interval(0, MAX_DIM)
_MAX_RESTARTS: Final = 8
"""Most restarts of a claim because an outer loop gives another start."""

_SECOND: Final = 2
_MAX_PROBES: Final = 3
"""Most searches for forms: the result of the body rests on claims of other numbers, which may still change."""


class Kind(Enum):
    """What a claim says."""

    START = "the start"
    PROBE = "a symbol of the head, which may get forms"
    FORM = "the first of the forms"
    NEXT = "the first of the forms, proved only after the next visit: the last of several numbers has just got one too"
    LAST = "the first of the forms, as the last of several numbers that become forms together"
    SYMBOL = "a symbol of the head, within bounds"


_FORMS: Final = frozenset({Kind.FORM, Kind.NEXT, Kind.LAST})


@dataclass
class Invariant:
    """The claim about one carried dim or element in iteration i."""

    start: Dim
    kind: Kind = Kind.START
    forms: list[Form] = field(default_factory=list)
    """Forms that are still to be tried."""
    probes: int = 0
    """The number of searches for forms."""
    bounds: Interval | None = None
    """Bounds of the symbol; None until the body has run on it."""
    growth: Interval | None = None
    """What a trip adds to the symbol, where the bounds leave room for that in every trip."""
    refuted: set[type[Form]] = field(default_factory=set)
    """Kinds of forms that some visit refuted, perhaps since those of other numbers were wrong."""
    others: tuple[Place, ...] = ()
    """Of the last of several numbers: those before it."""
    restarts: int = 0
    followed: bool = False
    """The result of a trip depended on the symbol of a probe."""

    def try_forms(self, number: Symbol, forms: Iterable[Form]) -> bool:
        """Claim the first of these forms that begins with the start; False if there is none.

        The second search leaves out the kinds that the first one found in vain, so that others have their turn.
        """
        begun = [form for form in forms if form.at(self.start, ZERO_EXPR) is self.start]
        claims = [(form, form.at(self.start, expr_of(number))) for form in begun]
        left_out = self.refuted if self.probes == _SECOND else ()
        self.forms = [form for form, claim in claims if isinstance(claim, Expr) and type(form) not in left_out]
        self.kind = Kind.FORM if self.forms else self.kind
        return bool(self.forms)

    def drop_form(self, number: Symbol) -> None:
        """Advance to a form with another claim: a refuted claim must not count as stable."""
        refuted = self.forms[0].at(self.start, expr_of(number))
        if self.probes:
            self.refuted.add(type(self.forms[0]))
        rest = [form for form in self.forms[1:] if form.at(self.start, expr_of(number)) is not refuted]
        if not self.try_forms(number, rest):
            self.kind = Kind.PROBE if self.probes < _MAX_PROBES else Kind.SYMBOL


@dataclass
class Invariants:
    """The claims about the carried values of one loop."""

    claims: dict[Place, Invariant] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    """Claims of the head's symbols, by name."""
    sources: dict[Place, tuple[Place, Dim]] = field(default_factory=dict)
    """A number, the one that it becomes in a trip, and what is added to that."""
    backs: dict[Place, Expr] = field(default_factory=dict)
    """The step of a trip on numbers that are probed, over the symbols of all of them."""
    lost: set[Place] = field(default_factory=set)
    joined: dict[int, Value] = field(default_factory=dict)
    growth: Callable[[Symbol, Dim], Interval] = lambda *_: FULL
    """What the trip that gave something back added to a symbol of the head."""
    doubted: bool = False
    """A form was refuted in this visit: what the body gave back may rest on it, so no number learns from that."""

    def to_prove(self) -> Invariants:
        """An independent copy, in which a visit proves the claims or gives them up, and looks for no better ones."""
        claims = {
            place: replace(
                claim,
                kind=Kind.SYMBOL if claim.kind is Kind.PROBE and claim.bounds is not None else claim.kind,
                forms=list(claim.forms),
                refuted=set(claim.refuted),
            )
            for place, claim in self.claims.items()
        }
        places, sources, backs = dict(self.places), dict(self.sources), dict(self.backs)
        return Invariants(claims, places, sources, backs, set(self.lost), dict(self.joined), self.growth)

    def value(self, body: BodySymbols, k: int, start: Value, back: Value | None) -> Value:
        """Carried value k at the head: its start joined with what the body gives back."""
        if back is None or back is BOTTOM or start is BOTTOM:
            return start
        if isinstance(start, Tensor) and isinstance(back, Tensor):
            return self._tensor(body, k, start, back)
        if isinstance(start, SequenceOf) and isinstance(back, SequenceOf):
            if start is back and k not in self.joined and not body.vary(start):
                return start
            element = self._widened(body, k, start.element, back.element)
            return SequenceOf(element, self._number(body, (k, "length"), start.length, back.length, _DIM_RANGE))
        return self._widened(body, k, start, back)

    def _widened(self, body: BodySymbols, k: int, start: Value, back: Value) -> Value:
        """The widened value of what is not a tensor: without symbols of the body, since it stems from several trips."""
        old = self.joined.get(k, start)
        found = VALUES.widen(old, VALUES.join(start, body.leave(back)))
        if isinstance(found, Tensor) and isinstance(start, Tensor):
            found = Tensor(start.dtype, found.shape, found.contents)
        self.joined[k] = found
        return found

    def _tensor(self, body: BodySymbols, k: int, start: Tensor, back: Tensor) -> Tensor:
        dtype = start.dtype  # carried values keep their types: `absint.shapes.branches` checks those of the body
        if start.shape.is_top or back.shape.is_top or len(start.shape) != len(back.shape):
            return Tensor(dtype, self._of_any_rank(body, k, start.shape, back.shape))
        if (k, "shape") in self.lost:
            return Tensor(dtype, body.any_shape(k))
        pairs = enumerate(zip(start.shape, back.shape, strict=True))
        dims = [self._number(body, (k, "dim", axis), a, b, _DIM_RANGE) for axis, (a, b) in pairs]
        return Tensor(dtype, shape_of(tuple(dims)), self._contents(body, k, start, back))

    def _of_any_rank(self, body: BodySymbols, k: int, start: Shape, back: Shape) -> Shape:
        """A shape with a variable that the body gives back, with claims about its known dims; else any."""
        if start.variable is None or start.form != back.form:
            self.lost.add((k, "shape"))
        if (k, "shape") in self.lost:
            return body.any_shape(k)
        pairs = enumerate(zip(start.known, back.known, strict=True))
        return start.around(tuple([self._number(body, (k, "dim", at), a, b, _DIM_RANGE) for at, (a, b) in pairs]))

    def _contents(self, body: BodySymbols, k: int, start: Tensor, back: Tensor) -> Contents | None:
        x, y = start.contents, back.contents
        if x is None or y is None or x.shape != y.shape or (x.is_fill and x is not y):
            self.lost.add((k, "contents"))
        if (k, "contents") in self.lost or x is None or y is None:
            return None
        if x.is_fill:
            return x
        elements: list[Element] = []
        for at, (a, b) in enumerate(zip(x.elements, y.elements, strict=True)):
            place = (k, "element", at)
            if isinstance(a, Dim) and isinstance(b, Dim) and start.dtype in INTEGER_RANGES:
                elements.append(self._number(body, place, a, b, Interval(*INTEGER_RANGES[start.dtype])))
                continue
            if a != b:
                self.lost.add(place)
            elements.append(OPAQUE if place in self.lost else a)
        return Contents.of(x.shape or (), elements)

    def _number(self, body: BodySymbols, place: Place, start: Dim, back: Dim, full: Interval) -> Dim:
        claim = self.claims.setdefault(place, Invariant(start))
        if claim.start is not start:
            self._restart(claim, start, full)
        elif claim.kind is Kind.START and back is not start:
            step = sub(back, start)
            claim.kind = Kind.PROBE
            if isinstance(step, Expr) and not body.occur_in(step):
                claim.try_forms(body.iteration, [Sum((step,))])
        elif claim.kind is Kind.SYMBOL or (claim.kind is Kind.PROBE and not self.doubted):
            self._learn(body, place, claim, back, full)
        elif claim.kind is Kind.NEXT or (claim.kind is Kind.LAST and self._moved(claim)):
            claim.kind = Kind.FORM
        elif claim.kind in (Kind.FORM, Kind.LAST):
            claim.kind = Kind.FORM
            if not claim.forms[0].proves(start, back, body.iteration):
                claim.drop_form(body.iteration)
                self.doubted = True
        return self._stated(body, place, claim, full)

    def _restart(self, claim: Invariant, start: Dim, full: Interval) -> None:
        """Keep the form for another start, which an outer loop gives; the next visit proves it again."""
        claim.start = start
        if claim.kind in _FORMS:
            claim.kind = Kind.FORM if claim.forms[0].at(start, ZERO_EXPR) is start else Kind.SYMBOL
        if claim.kind is Kind.SYMBOL and claim.restarts < _MAX_RESTARTS:
            claim.kind, claim.bounds, claim.probes, claim.restarts = Kind.START, None, 0, claim.restarts + 1
            claim.growth = None
            claim.refuted = set()
        elif claim.bounds is not None:
            claim.bounds = full

    def _learn(self, body: BodySymbols, place: Place, claim: Invariant, back: Dim, full: Interval) -> None:
        """Learn from the body's result for the symbol: forms to try, or bounds."""
        # A result that depended on the symbol, and no longer does, rests on other claims that changed: probe again.
        (symbol,) = self._symbol(body, place, claim, full).symbols
        depends = isinstance(back, Expr) and symbol in back.symbols
        if claim.kind is Kind.PROBE and claim.bounds is None:
            claim.followed = depends
        elif claim.kind is Kind.PROBE and claim.followed and not depends and claim.probes < _MAX_PROBES:
            claim.bounds = None
            return
        # Forms of this number alone come first, then those of several numbers together.
        if claim.kind is Kind.PROBE and isinstance(claim.start, Expr) and isinstance(back, Expr):
            claim.probes += 1
            if claim.try_forms(body.iteration, candidates(symbol, body.iteration, back, body.has)):
                return
            self.backs[place] = back
            together = claim.probes <= _MAX_PROBES  # another number may be dropped from these before it searches itself
            if together and (self._goes_round(body, place, back) or self._takes_turns(body, place)):
                return
        # No form: bounds that the body does not leave, chosen once; a result beyond them gives all of them up.
        if claim.bounds is None:
            claim.bounds = _invariant(symbol, claim.start, back, full)
            if claim.bounds == full is not _DIM_RANGE:
                claim.growth = self.growth(symbol, back)
                claim.bounds = with_room(claim.start.bounds, claim.growth, full)
        elif claim.growth is not None and self.growth(symbol, back).leq(claim.growth):
            return
        elif not _stays(back, claim.bounds, full):
            claim.bounds = full

    def _stated(self, body: BodySymbols, place: Place, claim: Invariant, full: Interval) -> Dim:
        if claim.kind is Kind.START:
            return claim.start
        if claim.kind in _FORMS:
            return claim.forms[0].at(claim.start, expr_of(body.iteration))
        # The places let `_goes_round` find the number behind a symbol that a trip gives back.
        found = self._symbol(body, place, claim, full)
        self.places.update((symbol.name, place) for symbol in found.symbols)
        return found

    def _symbol(self, body: BodySymbols, place: Place, claim: Invariant, full: Interval) -> Expr:
        return body.carried(place, claim.bounds or full, probe=claim.kind is Kind.PROBE and claim.bounds is None)

    def _goes_round(self, body: BodySymbols, place: Place, back: Expr) -> bool:
        """Numbers that become each other, plus something, in a circle that this one closes.

        All of them change to forms before one is proved. Until then they are symbols, so the head is not stable.
        """
        # The trip gives this number another one plus a step that no trip changes.
        others = [symbol for symbol in back.symbols if symbol.name in self.places]
        step = sub(back, expr_of(others[0])) if len(others) == 1 else UNKNOWN_DIM
        if not isinstance(step, Expr) or body.occur_in(step):
            return False
        self.sources[place] = self.places[others[0].name], step
        # The last number of a circle decides for all, so that each is asked once all of them are probed.
        circle = self._circle(place)
        claims = [self.claims[member] for member in circle]
        is_last = [member for member in self.claims if member in circle][-1:] == [place]
        if not is_last or any(claim.kind is not Kind.PROBE for claim in claims):
            return False
        added = [self.sources[member][1] for member in circle]
        for k, claim in enumerate(claims):
            starts = [other.start for other in (*claims[k:], *claims[:k])]
            if not claim.try_forms(body.iteration, [going_round(starts, (*added[k:], *added[:k]))]):
                return False
        for claim in claims:
            claim.kind = Kind.NEXT
        self._close(place, circle)
        return True

    def _takes_turns(self, body: BodySymbols, place: Place) -> bool:
        """Numbers that are probed together, and what the first trips make of all of them; this is the last one.

        All of them change to forms before one is proved, as in `_goes_round`.
        """
        # As in `_goes_round`, the last number decides, once the trip's term of each is known.
        probed = [member for member, claim in self.claims.items() if claim.kind is Kind.PROBE]
        if probed[-1:] != [place] or not all(member in self.backs for member in probed):
            return False
        names = {name: member for name, member in self.places.items() if member in self.claims}
        starts, backs = {}, {}
        for name, member in names.items():
            start = self.claims[member].start
            if member in probed and isinstance(start, Expr):
                starts[name], backs[name] = start, self.backs[member]
        others = {
            name: self._form_of(member) for name, member in names.items() if self.claims[member].kind is Kind.FORM
        }
        known = {*starts, *others, body.iteration.name}
        # A number is run on its terms only if all that these need is run, has a form, or stays outside of the loop.
        backs = _closed(backs, known, body.has)
        numbers = trips_of({name: starts[name] for name in backs}, backs, others, body.iteration)
        fitting = interleaved(numbers) if numbers else {}
        closed = _closed({name: backs[name] for name in fitting}, {*fitting, *others, body.iteration.name}, body.has)
        for name in closed:
            claim = self.claims[names[name]]
            if claim.try_forms(body.iteration, [fitting[name]]):
                claim.kind = Kind.NEXT
        if self.claims[place].kind is not Kind.NEXT:
            return False
        self._close(place, [names[name] for name in closed])
        return True

    def _close(self, place: Place, members: Sequence[Place]) -> None:
        """This number is stated as a form at once, the others from the next visit on."""
        self.claims[place].kind = Kind.LAST
        self.claims[place].others = tuple(member for member in members if member != place)

    def _moved(self, claim: Invariant) -> bool:
        """One of the others has become a form in this visit: the head changes, and is visited again for the proofs."""
        return any(self.claims[member].kind is Kind.FORM for member in claim.others)

    def _form_of(self, place: Place) -> Callable[[int], Dim]:
        claim = self.claims[place]
        return lambda trip: claim.forms[0].at(claim.start, const(trip))

    def _circle(self, place: Place) -> list[Place]:
        """The numbers on the cycle through this one; empty if there is none."""
        circle, at = [place], self.sources[place][0]
        while at != place:
            if at not in self.sources or len(circle) == MAX_PERIOD:
                return []
            circle.append(at)
            at = self.sources[at][0]
        return circle


def visited(
    claims: dict[int, Invariants], head: int, backs: Sequence[Value | None], growth: Callable[[Symbol, Dim], Interval]
) -> Invariants:
    """The claims of a head that is visited, new ones as long as its body has given nothing back; kept in `claims`."""
    if all(back is BOTTOM for back in backs):
        claims[head] = Invariants()
    found = claims.setdefault(head, Invariants())
    found.growth, found.doubted = growth, False
    return found


def _closed(backs: Mapping[str, Expr], known: Set[str], is_inside: Callable[[Symbol], bool]) -> dict[str, Expr]:
    """The numbers whose next ones depend on each other and on known symbols alone."""
    closed, settled = dict(backs), known - backs.keys()
    while True:
        inside = {
            name: back
            for name, back in closed.items()
            if all(not is_inside(s) or s.name in closed or s.name in settled for s in back.symbols)
        }
        if len(inside) == len(closed):
            return closed
        closed = inside


def _invariant(symbol: Symbol, start: Dim, back: Dim, full: Interval) -> Interval:
    """The narrowest of some intervals that contains the start and that the body does not leave."""
    if not isinstance(start, Expr) or not isinstance(back, Expr):
        return full
    first = start.bounds.meet(full)
    for hi in dict.fromkeys((first.hi, full.hi)):
        for lo in dict.fromkeys((first.lo, *(n for n in (1, 0) if first.lo is not None and first.lo >= n), full.lo)):
            narrower = Interval(lo, hi)
            after = substitute(back, {symbol: expr_of(symbol.within(lo, hi))})
            if not narrower.is_empty and _stays(after, narrower, full):
                return narrower
    return full


def _stays(back: Dim, bounds: Interval, full: Interval) -> bool:
    """No trip leaves the bounds. A dim never exceeds the limit of dims; an integer beyond its limit wraps around."""
    reached = back.bounds.meet(full) if full is _DIM_RANGE else back.bounds
    return reached.leq(bounds)
