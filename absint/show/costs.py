"""Cost and peak memory as text, as JSON, and as a picture over a size, which needs matplotlib."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from absint.diagnostics import Severity
from absint.errors import UsageError
from absint.lattices.logic.relation import NO, Relation
from absint.lattices.terms.expr import Dim, Expr
from absint.lattices.text.documents import Document
from absint.lattices.text.escapes import excerpt, format_sizes, plain
from absint.lattices.text.forms import AMOUNT, SECONDS, SIZES, Key, Kind, Object, by_name, keys_of, many, maybe, one_of
from absint.lattices.text.naming import Names
from absint.lattices.text.nearest import did_you_mean
from absint.lattices.text.sheets import Line, Part, Sheet, defined
from absint.questions.costs.amounts import SHOWN, tried
from absint.questions.costs.cost import Cost, Parameters, Quantity, Ranked
from absint.questions.costs.memory import Live, Memory, Peak
from absint.questions.costs.totals import Totals
from absint.questions.sizes.start import Starts
from absint.result import Result
from absint.show.summary import nodes_in_words
from absint.show.text import assumed
from absint.solution.constraints import constraints
from absint.solution.naming import about, names_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


FORMS: Final = ("svg", "png", "pdf")

_POINTS: Final = 160
"""Sizes in a curve, at most."""

_WIDE: Final = 64
"""From this ratio of the greatest size to the least, both axes are logarithmic."""

_AROUND: Final = 64
"""A size that is illegal gives way to the nearest legal one, if one is so near."""


class Curves(NamedTuple):
    """Amounts at sizes of one symbol, the others fixed."""

    symbol: str
    sizes: tuple[int, ...]
    """In ascending order; legal ones, as far as requirements over sizes of the inputs say."""
    flops: tuple[int, ...]
    peaks: tuple[int, ...]
    """Bytes."""
    others: Mapping[str, int]
    is_wide: bool


def check_form(path: str) -> str:
    """The form that the suffix of a path names. Raises UsageError for another one, and without matplotlib."""
    form = Path(path).suffix.removeprefix(".").lower()
    if form not in FORMS:
        raise UsageError(f"--plot {path}: the suffix says the form: expected {', '.join('.' + form for form in FORMS)}")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UsageError("--plot: matplotlib is not installed: pip install 'absint[plots]'") from None
    return form


def check_symbol(result: Result, symbol: str) -> None:
    """Raises UsageError for a name that is no size of the inputs."""
    if symbol not in result.symbols:
        known = ", ".join(map(plain, result.symbols)) or "none"
        hint = did_you_mean(symbol, result.symbols) or f"the symbols are: {known}"
        raise UsageError(f"--over {excerpt(symbol)}: no input has this symbol; {hint}")


def curves(result: Result, cost: Cost, memory: Memory, symbol: str, ends: tuple[int, int]) -> Curves:
    """The amounts between two sizes of a symbol; others have the sizes that `absint cost` shows numbers at.

    Raises UsageError if less than two sizes between are legal.
    """
    others = {**memory.default_sizes, **cost.default_sizes}
    others.pop(symbol, None)
    is_legal = _legality(result, symbol, others)
    low, high = ends
    is_wide = high >= _WIDE * max(low, 1)
    found: dict[int, tuple[int, int]] = {}
    for wanted in _spread(low, high, is_wide):
        size = next((near for near in _near(wanted, low, high) if near in found or is_legal(near)), None)
        if size is not None and size not in found:
            at = {**others, symbol: size}
            found[size] = (cost.evaluate(at).flops, memory.evaluate(at))
    if len(found) < 2:
        some = f"only {next(iter(found))} is legal" if found else "no size that was tried is legal"
        with_others = f" with {format_sizes(others)}" if others else ""
        raise UsageError(f"--over {excerpt(symbol)}={low}..{high}: {some}{with_others}")
    at_all = sorted(found)
    flops, peaks = zip(*(found[size] for size in at_all), strict=True)
    return Curves(symbol, tuple(at_all), flops, peaks, others, is_wide)


def _legality(result: Result, symbol: str, others: Mapping[str, int]) -> Callable[[int], bool]:
    """Tells if a size breaks no requirement over sizes of the inputs, and no assumption."""
    known = {symbol, *others} & set(result.symbols)
    relations: list[Relation] = [*result.assumptions]
    relations += dict.fromkeys(c.formula for c in constraints(result) if c.role == "required")
    relevant = [r for r in relations if symbol in r.free_symbols and r.free_symbols <= known]

    def is_legal(size: int) -> bool:
        return all(relation.at({**others, symbol: size}) is not NO for relation in relevant)

    return is_legal


def _spread(low: int, high: int, is_wide: bool) -> Iterator[int]:
    """Sizes from end to end; at equal ratios over a wide range."""
    steps = min(high - low, _POINTS - 1)
    if not steps:
        yield low
        return
    first = max(low, 1)
    if is_wide and low < first:
        yield low
    for at in range(steps + 1):
        part = at / steps
        yield round(first * (high / first) ** part) if is_wide else low + round((high - low) * part)


def _near(size: int, low: int, high: int) -> Iterator[int]:
    yield size
    for step in range(1, _AROUND):
        yield from (near for near in (size + step, size - step) if low <= near <= high)


def write_plot(found: Curves, title: str, target: str | os.PathLike[str], form: str) -> None:
    """Write a picture of the curves, all of it or nothing."""
    from matplotlib import rc_context

    from absint.model.writing import write_bytes

    content = BytesIO()
    metadata = {"Date": None} if form == "svg" else {"CreationDate": None} if form == "pdf" else {}
    with rc_context({"svg.hashsalt": "absint"}):  # the same picture, the same file
        _figure(found, title).savefig(content, format=form, metadata=metadata)
    write_bytes(content.getvalue(), target)


def _figure(found: Curves, title: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, ScalarFormatter

    figure = Figure(figsize=(7, 6), layout="constrained", dpi=150)
    upper, lower = figure.subplots(2, sharex=True)
    mark = "." if len(found.sizes) < 40 else ""
    for axes, amounts, label, unit in (
        (upper, found.flops, "FLOPs of a run", ""),
        (lower, found.peaks, "peak of activations", "B"),
    ):
        axes.plot(found.sizes, amounts, marker=mark, color="#3d6fb6")
        axes.set_ylabel(label)
        if found.is_wide:
            axes.set_xscale("log" if found.sizes[0] > 0 else "symlog", base=2)
            axes.set_yscale("log" if min(amounts) > 0 else "symlog")
        axes.yaxis.set_major_formatter(EngFormatter(unit))
        axes.grid(visible=True, alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    lower.xaxis.set_major_formatter(ScalarFormatter())
    lower.set_xlabel(excerpt(found.symbol), parse_math=False)
    at = f"\nat {excerpt(format_sizes(found.others), 100)}" if found.others else ""
    figure.suptitle(excerpt(title) + at, fontsize="medium", parse_math=False)
    return figure
