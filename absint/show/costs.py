"""Cost and peak memory as text and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.lattices.terms.expr import ONE_EXPR, Dim, Expr
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes, plain
from absint.lattices.text.forms import AMOUNT, SECONDS, SIZES, Key, Kind, Object, by_name, keys_of, many, maybe, one_of
from absint.lattices.text.naming import Where
from absint.questions.costs.cost import Cost, Parameters, Quantity, Ranked
from absint.questions.costs.memory import SHORT, Live, Memory, Peak
from absint.questions.costs.totals import Totals
from absint.questions.sizes.start import Starts
from absint.show.documents import about
from absint.show.relations import plural
from absint.show.text import Line, aligned, assumed, definitions, wrapped
from absint.solution.naming import where

if TYPE_CHECKING:
    from absint.result import Result

Found = TypeVar("Found")

_LONGEST: Final = 600
"""Characters of the longest expression that a text shows."""

_SHOWN: Final = 5
_TITLES: Final[Mapping[Quantity, str]] = {"macs": "MACs", "flops": "FLOPs", "bytes": "bytes moved"}
_SCALES: Final = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"))


def report(result: Result, cost: Cost, memory: Memory, width: int, top: int, by: Quantity) -> Iterator[Line]:
    """The lines of `absint cost`."""
    nodes = len(cost.nodes)
    texts = where(result)
    symbols = ", ".join(result.symbols) or "none"
    yield Line(f"{plain(result.origin)}: {nodes:,} {plural('operator', nodes)}, symbols {plain(symbols)}", "bold")
    yield from assumed(result, width)
    used = {**memory.default_sizes, **cost.default_sizes}
    if used:
        illegal = "; no legal sizes were found near them" if result.once(Starts).without else ""
        yield from map(Line, wrapped(f"numbers at {_sizes(result, used)} (SYMBOL=SIZE for others){illegal}", width, 2))
    error = next((d for d in result.diagnostics if d.severity is Severity.ERROR), None)
    if error is not None:
        yield Line(f"no run succeeds: {plain(error.where)}: {plain(error.message)}", "bold red")
    yield from _section("peak memory of activations, in bytes", list(_memory(memory, texts)), width)
    yield from _section("in a run", list(_run(cost, texts)), width)
    kinds = [(str(p.dtype), _parameters(p.elements, p.bytes)) for p in cost.parameters]
    total = ("all", _parameters(cost.parameter_elements, cost.parameter_bytes))
    yield from _section("parameters", [total, *kinds] if len(kinds) > 1 else kinds, width)
    if top:
        yield from _section(f"heaviest nodes by {_TITLES[by]}", list(_heaviest(cost, texts, top, by)), width)
    notes = list(_notes(result, cost, memory))
    if notes:
        yield from _section("not counted, or not exactly", notes, width)
    yield from definitions(texts, width)


def _sizes(result: Result, used: Mapping[str, int]) -> str:
    """Sizes of inputs one by one; equal ones of many invented symbols together."""
    invented = {name: size for name, size in used.items() if name not in result.parameters}
    if len(invented) <= _SHOWN or len(set(invented.values())) > 1:
        return format_sizes(used)
    own = {name: size for name, size in used.items() if name not in invented}
    size = next(iter(invented.values()))
    return ", ".join(filter(None, (format_sizes(own), f"and {size} for each of {len(invented)} sizes by data")))


def _section(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterator[Line]:
    yield Line("")
    yield Line(title, "bold")
    if not rows:
        yield Line("  none")
    yield from map(Line, aligned(rows, width))


def _memory(memory: Memory, texts: Where) -> Iterator[tuple[str, str]]:
    several = len(memory.bounds) > 1
    peak, why = _tried(lambda: memory.at(memory.default_sizes))
    if memory.sums is not None and memory.sums > SHORT:
        yield "peak", f"the largest of {memory.sums:,} sums"
        yield "at most", _amount(memory.bound, texts, why) if not several else "the largest of"
    else:
        yield "peak", _amount(memory.peak, texts, why) if not several else "the largest of"
    if several:
        yield from (("", _short(part, texts)) for part in memory.bounds)
    if peak is not None:
        if memory.default_sizes:
            yield "number", _number(peak.bytes)
        yield "reached", f"at {peak.step}"
        if isinstance(peak.sum, Expr) and peak.sum.const is None and peak.sum is not memory.peak:
            yield "there", _short(peak.sum, texts)
        live = [f"{item.name} {item.bytes:,}" for item in peak.live[:_SHOWN]]
        more = len(peak.live) - len(live)
        yield "live there", ", ".join(live) + (f", and {more:,} more" if more else "") or "nothing"


def _tried(evaluate: Callable[[], Found]) -> tuple[Found | None, str]:
    """The numbers at default sizes; None and the reason if no run has these, or a trip count is unknown."""
    try:
        return evaluate(), ""
    except UsageError as error:
        return None, str(error)


def _run(cost: Cost, texts: Where) -> Iterator[tuple[str, str]]:
    """The totals, with numbers at the default sizes."""
    numbers, why = _tried(lambda: cost.evaluate(cost.default_sizes))
    for name, title in _TITLES.items():
        total: Dim = getattr(cost, name)
        yield title, _amount(total, texts, why)
        if numbers is not None and not total.is_concrete:
            yield "", _number(getattr(numbers, name))


def _heaviest(cost: Cost, texts: Where, top: int, by: Quantity) -> Iterator[tuple[str, str]]:
    found, why = _tried(lambda: cost.heaviest(top, by))
    if found is None:
        yield "not known", why
    for node, _, share in found or ():
        amount = getattr(node, by)
        runs = "" if node.runs is ONE_EXPR else f" in each of {_short(node.runs, texts)} runs"
        yield node.label, f"{share:6.1%}  {_short(amount, texts)}{runs}"


def _notes(result: Result, cost: Cost, memory: Memory) -> Iterator[tuple[str, str]]:
    if cost.without_rule:
        names = (f"{name} ({count:,})" for name, count in cost.without_rule.most_common())
        yield "no cost rule", _listed(names, len(cost.without_rule))
    by_data = [name for name in {**memory.default_sizes, **cost.default_sizes} if name not in result.parameters]
    for title, items in (
        ("arithmetic", cost.unsized),
        ("bytes moved", cost.unmoved),
        ("memory", memory.uncounted),
        ("larger branch", cost.undecided),
        ("sizes by data", by_data),
    ):
        if items:
            yield title, _listed(items, len(items))


def _listed(items: Iterable[str], count: int) -> str:
    shown = [item for item, _ in zip(items, range(_SHOWN), strict=False)]
    return ", ".join(shown) + (f", and {count - len(shown):,} more" if count > len(shown) else "")


def _parameters(elements: int, size: int | None) -> str:
    return f"{elements:,} {plural('element', elements)}" + (
        "" if size is None else f", {_number(size)} {plural('byte', size)}"
    )


def _amount(amount: Dim, texts: Where, why: str = "") -> str:
    """A number with its scale, or an expression; else the reason why there is no number either."""
    if not isinstance(amount, Expr) and why:
        return f"not known: {why}"
    if not isinstance(amount, Expr) or amount.const is None:
        return _short(amount, texts)
    return _number(amount.const)


def _number(amount: int) -> str:
    scale, letter = next(((scale, letter) for scale, letter in _SCALES if amount >= scale), (1, ""))
    return f"{amount:,}" + (f" ({amount / scale:.3g} {letter})" if letter else "")


def _short(amount: Dim, texts: Where) -> str:
    if not isinstance(amount, Expr):
        return "no expression: too large to write, or different from trip to trip"
    if amount.const is not None:
        return f"{amount.const:,}"
    found = texts.naming.amount(amount)
    if len(found.text) <= _LONGEST:
        return texts.noted(found)
    symbols = ", ".join(sorted(amount.free_symbols)[:4])
    return f"<{len(found.text):,} characters over {symbols}> (whole: --format json)"


@dataclass(frozen=True)
class _Costs:
    """The subject of `COST`."""

    result: Result
    cost: Cost
    memory: Memory
    top: int
    by: Quantity

    @property
    def peak(self) -> Peak | None:
        return _tried(lambda: self.memory.at(self.memory.default_sizes))[0]

    @property
    def run(self) -> Totals | None:
        return _tried(lambda: self.cost.evaluate(self.cost.default_sizes))[0]

    @property
    def heaviest(self) -> list[Ranked]:
        return _tried(lambda: self.cost.heaviest(self.top, self.by))[0] or []


def _written(amount: Dim | None, texts: Where) -> int | str | None:
    if not isinstance(amount, Expr):
        return None
    return texts.amount(amount) if amount.const is None else amount.const


_AMOUNT: Final = Kind[Dim | None](maybe(AMOUNT).schema, _written)
_NO_TEXT: Final = "null without an expression"
_MEMORY: Final = Object[Memory](
    Key("peak", _AMOUNT, _NO_TEXT),
    Key("at_most", _AMOUNT, _NO_TEXT, lambda memory: memory.bound),
    Key("uncounted", many(str)),
)
_PEAK: Final = Object[Peak](
    Key("bytes", int),
    Key("step", str),
    Key("sum", _AMOUNT, _NO_TEXT),
    Key("live", many(Object(*keys_of(Live))), "the largest first"),
)
_TYPICAL: Final = Object[_Costs](
    Key("sizes", SIZES, of=lambda found: {**found.memory.default_sizes, **found.cost.default_sizes}),
    Key("memory", maybe(_PEAK), of=lambda found: found.peak),
    Key("run", maybe(Object(*keys_of(Totals)))),
)
_RANKED: Final = Object[Ranked](
    Key("node", str, of=lambda ranked: ranked.node.label),
    Key("amount", int),
    Key("share", SECONDS),
    Key("macs", _AMOUNT, of=lambda ranked: ranked.node.macs),
    Key("flops", _AMOUNT, of=lambda ranked: ranked.node.flops),
    Key("bytes", _AMOUNT, of=lambda ranked: ranked.node.bytes),
    Key("parameters", int, "elements of those among its inputs", lambda ranked: ranked.node.parameters),
    Key("runs", _AMOUNT, of=lambda ranked: ranked.node.runs),
)
_PARAMETERS: Final = Object[Parameters](
    Key("dtype", str), Key("elements", int), Key("bytes", maybe(int), "null: the type has no fixed size")
)
COST: Final = Document[_Costs](
    "cost",
    2,
    "cost and memory (absint cost)",
    Key("symbols", many(str), of=lambda found: found.result.symbols),
    Key("memory", _MEMORY, "of activations, in bytes"),
    Key("macs", _AMOUNT, "multiply-accumulates in a run", lambda found: found.cost.macs),
    Key("flops", _AMOUNT, "in a run", lambda found: found.cost.flops),
    Key("bytes", _AMOUNT, "moved in a run", lambda found: found.cost.bytes),
    Key("parameters", many(_PARAMETERS), of=lambda found: found.cost.parameters),
    Key("typical", _TYPICAL, "numbers at `typical.sizes`", lambda found: found),
    Key("by", one_of("flops", "macs", "bytes")),
    Key("heaviest", many(_RANKED), "the nodes with the most of it"),
    Key("without_rule", by_name(int), "operators that are not counted", lambda found: found.cost.without_rule),
    Key("unsized", many(str), "nodes whose arithmetic is not counted", lambda found: found.cost.unsized),
    Key("unmoved", many(str), "nodes whose bytes are not counted", lambda found: found.cost.unmoved),
    Key("undecided", many(str), "Ifs of which the larger branch is not known", lambda found: found.cost.undecided),
)


def document(result: Result, cost: Cost, memory: Memory, top: int, by: Quantity) -> str:
    """As a JSON object, schema `absint.cost/2`; amounts are numbers or texts, null where there is no expression."""
    return COST.text(_Costs(result, cost, memory, top, by), where(result), about(result))
