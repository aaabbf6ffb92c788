"""Cost and peak memory as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from absint.diagnostics import Severity
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import format_sizes
from absint.lattices.text.forms import AMOUNT, SECONDS, SIZES, Key, Kind, Object, by_name, keys_of, many, maybe, one_of
from absint.lattices.text.naming import Names
from absint.lattices.text.sheets import Line, Part, Sheet, defined
from absint.questions.costs.amounts import SHOWN, tried
from absint.questions.costs.cost import Cost, Parameters, Quantity, Ranked
from absint.questions.costs.memory import Live, Memory, Peak
from absint.questions.costs.totals import Totals
from absint.questions.sizes.start import Starts
from absint.result import Result
from absint.show.summary import nodes_in_words
from absint.show.text import assumed
from absint.solution.naming import about, names_of


def report(result: Result, cost: Cost, memory: Memory, top: int, by: Quantity) -> Sheet:
    """What `absint cost` prints."""
    texts = names_of(result)
    symbols = ", ".join(result.symbols) or "none"
    parts: list[Part] = list(assumed(result))
    used = {**memory.default_sizes, **cost.default_sizes}
    if used:
        illegal = "; no legal sizes were found near them" if result.once(Starts).without else ""
        parts.append(Line(f"numbers at {_sizes(result, used)} (SYMBOL=SIZE for others){illegal}"))
    if not result.can_run:
        error = next(d for d in result.diagnostics if d.severity is Severity.ERROR)
        parts.append(Line(f"no run succeeds: {error.where}: {error.message}", "bold red"))
    by_data = [name for name in used if name not in result.parameters]
    left_out = cost.left_out(memory.uncounted, by_data)
    parts += [memory.table(texts), *cost.tables(texts, top, by), left_out, defined(texts)]
    return Sheet(Line(f"{result.origin}: {nodes_in_words(result)}, symbols {symbols}", "bold"), parts)


def _sizes(result: Result, used: Mapping[str, int]) -> str:
    """Sizes of inputs one by one; equal ones of many invented symbols together."""
    invented = {name: size for name, size in used.items() if name not in result.parameters}
    if len(invented) <= SHOWN or len(set(invented.values())) > 1:
        return format_sizes(used)
    own = {name: size for name, size in used.items() if name not in invented}
    size = next(iter(invented.values()))
    return ", ".join(filter(None, (format_sizes(own), f"and {size} for each of {len(invented)} sizes by data")))


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
        return tried(lambda: self.memory.at(self.memory.default_sizes))[0]

    @property
    def run(self) -> Totals | None:
        return tried(lambda: self.cost.evaluate(self.cost.default_sizes))[0]

    @property
    def heaviest(self) -> list[Ranked]:
        return tried(lambda: self.cost.heaviest(self.top, self.by))[0] or []


def _written(amount: Dim | None, texts: Names) -> int | str | None:
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
    return COST.text(_Costs(result, cost, memory, top, by), names_of(result), about(result))
