"""Peak memory of activations: at each step of the schedule the bytes of the values that are live, and the most of them.

`absint.analyses.liveness` says what the steps are and when a value is live. The peak is the largest of sums of
polynomials; dominated sums are dropped. For a data-dependent If, the larger branch
counts. A data-dependent size stays in the expression as its symbol; if it differs from trip to trip, the symbol
is its size in the trip that is counted.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from absint.analyses.liveness import START, InputPolicy, Lifetime, Regions, ViewPolicy, lifetimes
from absint.errors import UsageError
from absint.lattices.logic.relation import TRUE, Relation, ite, negation
from absint.lattices.terms.expr import UNKNOWN_DIM, ZERO_EXPR, Dim, Expr, Symbol
from absint.lattices.terms.normal import maximum
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import Line, Part, Sheet, Table, defined
from absint.questions.costs.bindings import Environment, shown, shown_names, symbols_of
from absint.questions.costs.dominance import Dominance, Sum
from absint.questions.costs.schedule import Schedule, Top
from absint.questions.costs.totals import amount, first, scaled, short, tried
from absint.questions.sizes.start import default_sizes
from absint.shapes.memo.gc_pause import uncollected
from absint.solution.analysed import Analysed

MAX_SUMS: Final = 64
"""Most sums in the expression of a peak; beyond it, the peak is only evaluated."""

SHORT: Final = 3
"""Most sums in `bound`."""


class Step(NamedTuple):
    """A step and the bytes that are live at it. `node` is a node of the lowered graph, -1 before the first."""

    node: int
    label: str
    bytes: Dim


class Live(NamedTuple):
    """A value and its bytes."""

    name: str
    bytes: int


class Peak(NamedTuple):
    """The most bytes that are live, the first step at which they are, and the values that are live there."""

    bytes: int
    step: str
    live: tuple[Live, ...]
    """The largest first."""
    sum: Dim
    """The bytes at this step as an expression; unknown if they differ from trip to trip."""


class Memory:
    """Memory of the activations of a model, with nodes in the order of the file."""

    @uncollected
    def __init__(self, analysed: Analysed, inputs: InputPolicy = "freed", views: ViewPolicy = "copied") -> None:
        analysed.require_sound("the memory")
        self._analysed = analysed
        self._regions = Regions(analysed)
        self.lifetimes: tuple[Lifetime, ...] = tuple(lifetimes(analysed, self._regions, inputs, views))
        """The values that take memory: first and last step, and the size over internal symbols."""
        self.uncounted = tuple(value.name for value in self.lifetimes if value.size is None)
        """Values that are in no sum: strings, maps, and values of unknown rank or size."""
        self._schedule = Schedule(analysed, self._regions, self.lifetimes)

    def __repr__(self) -> str:
        return f"<Memory of {excerpt(self._analysed.origin)}: {len(self.lifetimes):,} values>"

    def _repr_html_(self) -> str:
        texts = Names(Naming())
        at = format_sizes(self.default_sizes)
        sizes: list[Part] = [Line(f"numbers at {at}")] if at else []
        left_out = Table("in no sum", [(name,) for name in self.uncounted])
        parts = [*sizes, self.table(texts), left_out, defined(texts)]
        return Sheet(Line(f"memory of {self._analysed.origin}"), parts).html()

    def table(self, texts: Names) -> Table:
        """The peak, its number at the default sizes, and what is live there."""
        several = len(self.bounds) > 1
        peak, why = tried(lambda: self.at(self.default_sizes))
        rows: list[tuple[str, str]] = []
        if self.sums is not None and self.sums > SHORT:
            rows.append(("peak", f"the largest of {self.sums:,} sums"))
            rows.append(("at most", amount(self.bound, texts, why) if not several else "the largest of"))
        else:
            rows.append(("peak", amount(self.peak, texts, why) if not several else "the largest of"))
        if several:
            rows += [("", short(part, texts)) for part in self.bounds]
        if peak is not None:
            if self.default_sizes:
                rows.append(("number", scaled(peak.bytes)))
            rows.append(("reached", f"at {peak.step}"))
            if isinstance(peak.sum, Expr) and peak.sum.const is None and peak.sum is not self.peak:
                rows.append(("there", short(peak.sum, texts)))
            rows.append(("live there", first(f"{item.name} {item.bytes:,}" for item in peak.live) or "nothing"))
        return Table("peak memory of activations, in bytes", rows)

    @cached_property
    def peak(self) -> Dim:
        """The most bytes that are live at any step; unknown where that takes too many sums (`evaluate` gives it)."""
        groups = self._sums
        if groups is None or (self.sums or 0) > MAX_SUMS:
            return UNKNOWN_DIM
        parts = {guard: maximum(*(s.expr for s in sums)) for guard, sums in groups.items() if sums}
        always = parts.pop(TRUE, ZERO_EXPR)
        found: list[Dim] = []
        while parts:
            guard, part = parts.popitem()
            found.append(ite(guard, part, parts.pop(negation(guard), ZERO_EXPR)))
        return shown(maximum(always, *found), self._names)

    @cached_property
    def bound(self) -> Dim:
        """A short expression that is never below the peak; the peak itself if that is short."""
        return self.peak if self._few is None else shown(maximum(*(s.expr for s in self._few)), self._names)

    @cached_property
    def bounds(self) -> tuple[Dim, ...]:
        """The few sums that `bound` is the largest of; `bound` alone where conditions choose between sums."""
        always = self._sums[TRUE] if self._sums else []
        few = self._few or (always if self.sums == len(always) <= SHORT else [])
        return tuple(shown(s.expr, self._names) for s in few) or (self.bound,)

    @cached_property
    def _few(self) -> list[Sum] | None:
        """At most SHORT sums that are never all below the peak; None if the peak has no more, or none are known."""
        sums = [s for group in (self._sums or {}).values() for s in group]
        return self._dominance.bound(sums, SHORT) if len(sums) > SHORT else None

    @property
    def sums(self) -> int | None:
        """The number of sums that the peak is the largest of; None where a largest trip is not known."""
        return None if self._sums is None else sum(map(len, self._sums.values()))

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """All steps in execution order, those of bodies included; what is live around a body is in the sums."""
        return tuple(Step(n, self.label(n), shown(total, self._names)) for n, total in self._schedule.totals())

    @property
    def names(self) -> Mapping[Symbol, Dim]:
        """Printed names of the symbols in sizes."""
        return self._names

    @property
    def varies(self) -> bool:
        """The live values depend on conditions, or differ from trip to trip of a loop."""
        return self._schedule.varies

    def label(self, step: int) -> str:
        """A step in words of the model."""
        nodes = self._analysed.nodes
        return "the start" if step == START else str(nodes[step]) if step < len(nodes) else "the end"

    def last_use(self, name: str) -> str:
        """The last step at which a value is live: a node, the start, or the end.

        Raises UsageError for an unknown name, and for a value without memory of its own.
        """
        found = next((value for value in self.lifetimes if value.name == name), None)
        if found is None:
            raise UsageError(f"no value {name!r} takes memory of its own")
        return self.label(found.last)

    def evaluate(self, binding: Mapping[str, int]) -> int:
        """The peak in bytes at these sizes: exact also where it has no expression.

        Invented symbols that matter (`_d0`) need a size too. Raises UsageError for one that is missing or makes no
        sense.
        """
        return self._top(binding)[0].bytes

    def at(self, binding: Mapping[str, int]) -> Peak:
        """The peak at these sizes, with the values that make it up; raises as `evaluate`."""
        top, environment = self._top(binding)
        for region, iteration in top.trips:
            environment.turn(region, iteration)
        live = [
            Live(value.name, environment.value(value.size, f"the size of {value.name!r}"))
            for value in self.lifetimes
            if value.size is not None
            and value.first <= top.step <= value.last
            # Values of another branch, or after the loop, are not live.
            and environment.runs(self._regions.home(value.node), "the peak")
        ]
        live.sort(key=lambda item: -item.bytes)
        return Peak(top.bytes, self.label(top.step), tuple(live), self._sum_at(top.step))

    def _sum_at(self, step: int) -> Dim:
        total = next(total for number, total in self._schedule.totals() if number == step)
        varies = isinstance(total, Expr) and not self._regions.numbers.isdisjoint(total.symbols)
        return UNKNOWN_DIM if varies else shown(total, self._names)

    def _top(self, binding: Mapping[str, int]) -> tuple[Top, Environment]:
        environment = Environment(self._analysed, binding, self._names)
        return self._schedule.top(environment), environment

    @cached_property
    def default_sizes(self) -> Mapping[str, int]:
        """Sizes for `evaluate`: every symbol at 64, or as near to it as the model allows."""
        symbols = sorted(self._used - self._regions.numbers, key=lambda symbol: symbol.key)
        return default_sizes(self._analysed, symbols, self._names, self._regions.facts, self.evaluate)

    @cached_property
    def _terms(self) -> list[Dim | Relation | None]:
        return [*(value.size for value in self.lifetimes if value.size is not None), *self._regions.terms]

    @cached_property
    def _used(self) -> set[Symbol]:
        return symbols_of(self._terms)

    @cached_property
    def _names(self) -> Mapping[Symbol, Dim]:
        return shown_names(self._analysed, self._terms)

    @cached_property
    def _dominance(self) -> Dominance:
        return Dominance(self._regions.facts.mapping, self._used, self._schedule.base)

    @cached_property
    def _sums(self) -> dict[Relation, list[Sum]] | None:
        return self._schedule.sums(self._dominance)
