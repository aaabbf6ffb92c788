"""`absint.diff` and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from absint.api import analyze
from absint.jobs.diffing import answers, figures, legality, outputs, report, witness
from absint.jobs.diffing.correspondence import Pair, correspondence, form_of, paired
from absint.lattices.limits import LONG, MEMORY, RLIMIT, DeadlineError, Limits
from absint.lattices.logic.relation import TRUE, Relation
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import NUMERAL, SIZES, Key, Object, by_name, keys_of, kind_of, many, maybe, one_of
from absint.lattices.text.sheets import written
from absint.model.load import Loaded, ModelLike
from absint.program.limits import checked
from absint.questions.proofs.evidence import Evidence, chosen
from absint.questions.sizes.contracts import contract
from absint.result import Result
from absint.shapes.sizes import Assumption, Sizes, facts_of, given as given_sizes, read_assumptions
from absint.solution.analysed import Analysed
from absint.solver.contracts.contract import Contract

# A comparison as JSON.

_APART: Final = maybe(
    Object[answers.Apart](
        Key("sizes", SIZES),
        Key("of", one_of("A", "B"), "the model whose symbols these are"),
        Key("A", str, "what A does there", lambda apart: apart.first),
        Key("B", str, "what B does there", lambda apart: apart.second),
        Key("evidence", kind_of(answers.Evidence), "a run of both, the rules of their operators, or what they declare"),
        Key("only_empty", bool, "proved: only where a size is 0", lambda apart: apart.is_only_empty),
        name="apart",
        says="Sizes that tell the models apart.",
    )
)
_UNMET: Final = many(
    Object[answers.Unmet](
        Key("relation", str, "over symbols of the model that requires it"),
        Key("over_other", str, "the same over symbols of the other model", lambda unmet: unmet.over),
        Key("because", many(str), "the nodes that state it, or the input that declares it"),
        Key("apart", _APART, "null if no such sizes are known"),
        Key("reason", str, "why it is not decided, or empty"),
        name="requirement",
    )
)
_CONTRACT: Final = Object[answers.Contracts](
    Key("agreement", kind_of(answers.Agreement)),
    Key("narrowed", _UNMET, "requirements of B that sizes legal in A break"),
    Key("widened", _UNMET, "requirements of A that sizes legal in B break"),
    Key("undecided", _UNMET, "requirements of B of which this is not known"),
    Key("widening_undecided", _UNMET, "requirements of A of which this is not known"),
    Key("clauses", many(int), "how many, of A and of B"),
    Key("possible", many(maybe(bool)), "some size is legal in A, and in B; null if undecided"),
    Key("assuming", many(str), "what the comparison rests on, over symbols of A", lambda found: found.premises),
    Key("proviso", many(str), "what clauses leave out"),
)
_STATUS: Final = "`resized`: declared sizes differ; `widened`: B leaves more open; `optional`: B has a default"
_PORT: Final = Object[answers.Port](
    Key("A", maybe(str), "its name in A", lambda port: port.first),
    Key("B", maybe(str), "its name in B", lambda port: port.second),
    Key("before", str, "type and shape in A"),
    Key("after", str, "type and shape in B"),
    Key("status", kind_of(answers.PortStatus), _STATUS),
    Key("details", many(str), "differences and open points"),
    Key("apart", _APART, "null if no such sizes are known"),
)
_PORTS: Final = Object[answers.Ports](
    Key("reordered", bool, "the order differs"), Key("items", many(_PORT)), name="ports"
)
_AMOUNT: Final = Object[answers.Amount](
    Key("name", str, "as `macs`, `parameter bytes`, `peak memory`"),
    Key("A", NUMERAL, "over symbols of A; `?` if there is no expression", lambda amount: amount.first),
    Key("B", NUMERAL, "over symbols of A too", lambda amount: amount.second),
    Key("difference", NUMERAL, "B less A; `?` if there is no expression"),
    Key("numbers", maybe(many(int)), "of A and of B at `sizes`; null if these do not give them"),
    Key("ratio", maybe(float), "B over A at `sizes`"),
)
_SHARE: Final = Object[answers.Share](
    *keys_of(answers.Share, exact="those with a number or an expression over the inputs", dims="of computed values")
)
_SHARES: Final = Object[tuple[answers.Share, answers.Share]](
    Key("A", _SHARE, of=lambda pair: pair[0]), Key("B", _SHARE, of=lambda pair: pair[1])
)
_FIGURES: Final = Object[answers.Figures](
    Key("sizes", SIZES, "of symbols of A"),
    Key("amounts", many(_AMOUNT)),
    Key("coverage", _SHARES, "how much is known of the shapes"),
    Key("uncounted", many(str), "what no total counts"),
)
_MEANING: Final = Object[answers.Meaning](
    *keys_of(
        answers.Meaning,
        first="the opset that defines it in A",
        second="the opset that defines it in B",
        nodes="how many nodes of B have it",
    )
)
_TEXTS: Final = Object[tuple[Sequence[str], Sequence[str]]](
    Key("new", many(str), "of B alone", lambda pair: pair[0]),
    Key("gone", many(str), "of A alone", lambda pair: pair[1]),
)
_INNER: Final = Object[answers.Inner](
    Key("name", str),
    Key("A", str, of=lambda inner: inner.before),
    Key("B", str, of=lambda inner: inner.after),
    Key("at", maybe(SIZES), "legal sizes where they differ; null if types or ranks do, or it is not known"),
    Key("decided", bool, of=lambda inner: inner.is_decided),
)
_LOST: Final = Object[answers.Lost](
    *keys_of(
        answers.Lost,
        name="as A names it",
        symbol="the size of A that counts the rows",
        verdict="`mixes` if a run of B shows it",
        why="the first node of B where rows meet, and the run",
    )
)

DIFF: Final = Document[answers.Findings](
    "diff",
    1,
    "two models side by side (absint diff)",
    Key("other", str, "the path of B", lambda diff: diff.second),
    Key("verdict", kind_of(answers.Headline), "`compatible`: all that works with A works with B, which differs"),
    Key("broken", many(str), "why it is `changed`, in words"),
    Key("undecided", many(str), "what is undecided, in words"),
    Key("symbols", by_name(str), "symbols of B over those of A"),
    Key("assuming", many(str), "the caller's assumptions, over symbols of A"),
    Key("contract", _CONTRACT),
    Key("inputs", _PORTS),
    Key("outputs", _PORTS),
    Key("cost", maybe(_FIGURES), "null if there was no time", lambda diff: diff.figures),
    Key("nodes", many(int), "how many, of A and of B", lambda diff: diff.surroundings.nodes),
    Key(
        "opsets", by_name(many(maybe(int))), "versions of domains, in A and in B", lambda diff: diff.surroundings.opsets
    ),
    Key("operators_defined_anew", many(_MEANING), of=lambda diff: diff.surroundings.meanings),
    Key(
        "operators_without_rule",
        by_name(many(int)),
        "how many nodes, of A and of B",
        lambda diff: {name: counts for name, *counts in diff.surroundings.without_rule},
    ),
    Key("diagnostics", _TEXTS, of=lambda diff: (diff.surroundings.new_diagnostics, diff.surroundings.gone_diagnostics)),
    Key(
        "failures_on_data",
        _TEXTS,
        "nodes that may fail",
        lambda diff: (diff.surroundings.new_failures, diff.surroundings.gone_failures),
    ),
    Key("values", maybe(many(_INNER)), "with `--values`: computed values of one name that differ"),
    Key("rows", many(_LOST), "outputs whose rows stay apart in A, and are not proved to in B"),
    Key("reason", str, "the limit that was reached, or empty"),
    head=("model",),
    head_of=lambda diff: Head(diff.first),
    defines=False,
)


T = TypeVar("T")


@dataclass(frozen=True)
class Diff(answers.Findings):
    """A model A beside a model B that is to take its place."""

    def __str__(self) -> str:
        return written(report.lines(self))

    def __repr__(self) -> str:
        return f"<Diff of {self.first} and {self.second}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return report.notebook(self)

    def to_html(self) -> str:
        """As a page: one HTML file without scripts, in the style of `Result.report`."""
        return report.page(self)

    def to_json(self) -> str:
        """As a JSON object, schema `absint.diff/1`."""
        return DIFF.text(self)


def diff(
    first: ModelLike | Loaded | Result,
    second: ModelLike | Loaded | Result,
    *,
    values: bool = False,
    assume: Sequence[Assumption] = (),
    sizes: Sizes | None = None,
    evidence: Evidence | None = None,
    seconds: float = LONG,
    rlimit: int = RLIMIT,
    memory: int = MEMORY,
) -> Diff:
    """Compare two models, or their results: may the second one take the place of the first?

    Inputs and outputs are compared by name, those left over by position. Symbols are matched by the axes of inputs at
    which they stand, so `batch` in one may be `N` in the other. Legal sizes are compared by entailment in both
    directions; `assume` and `sizes` narrow them, over symbols of the first model. Sizes that tell the models apart are
    the smallest that were found. Both are run there in a process of their own if onnxruntime is installed;
    `evidence="none"` never does, and then rules alone say where a model runs.

    With `values`, computed values of one name are compared too. Limits are as for `Result.prove`, for the whole
    comparison; what is not decided in time is said to be undecided.

    Raises ModelError if a model cannot be read, UsageError for assumptions that make no sense.
    """
    runs = chosen(evidence) == "run"
    limits = checked(Limits(seconds, rlimit, memory))
    a, b = (model if isinstance(model, Result) else analyze(model) for model in (first, second))
    a.require_sound("a comparison")
    b.require_sound("a comparison")
    given = given_sizes(sizes or {}, a.declared_inputs)
    assumed = [*read_assumptions(assume, a.declared_inputs), *given.relations(a.declared_inputs)]
    facts_of([*a.assumptions, *assumed], a.declared_inputs.premises)  # refuses contradictions
    at = {name: low for name, (low, high, _) in given.ends.items() if low is not None and low == high}
    return _Comparison(a, b, runs, limits, at).answer([r for r in assumed if r is not TRUE], values)


def proof(first: Analysed, second: Analysed, seconds: float) -> answers.Replacement:
    """The findings behind the verdict, by proofs alone."""
    return _Comparison(first, second, False, Limits(seconds, RLIMIT, MEMORY), {}).proof([])[0]


class _Comparison:
    def __init__(self, first: Analysed, second: Analysed, runs: bool, limits: Limits, at: Mapping[str, int]) -> None:
        self._at, self._is_run, self._clock = at, runs, legality.Clock(limits)
        pairs = paired(first.inputs, second.inputs)
        self._over = correspondence(first, second, pairs)
        self._back = correspondence(second, first, [Pair(b, a) for a, b in pairs])
        self._runs = witness.Both(self._over, allowed=runs)
        self._numbers: dict[bool, witness.Numbers] = {}
        self._reason = ""

    def answer(self, assumed: Sequence[Relation], values: bool) -> Diff:
        over = self._over
        a, b = over.source, over.target
        found, common, clauses = self.proof(assumed)
        costs = self._in_time(lambda: figures.figures(over, self._at))
        inner = self._in_time(lambda: tuple(figures.differing(over, common))) if values else None
        rows = self._in_time(lambda: tuple(outputs.lost(over, paired(a.outputs, b.outputs), run=self._is_run)))
        return Diff(
            found.inputs,
            found.outputs,
            found.contract,
            a.origin,
            b.origin,
            {name: str(expr) for name, expr in over.symbols.items() if name in b.symbols},
            figures.surroundings(a, b, clauses),
            tuple(map(str, dict.fromkeys([*assumed, *a.assumptions, *map(over.relation, b.assumptions)]))),
            costs,
            inner,
            self._reason,
            rows or (),
        )

    def proof(
        self, assumed: Sequence[Relation]
    ) -> tuple[answers.Replacement, legality.Grounds, tuple[Contract, Contract]]:
        """The findings behind the verdict, facts about sizes that are legal in both models, and the contracts."""
        over, back, clock = self._over, self._back, self._clock
        a, b = over.source, over.target
        first, second = legality.Model("A", a, contract(a, clock.left)), legality.Model("B", b, contract(b, clock.left))
        there = legality.Direction(first, second, over, self._runs, clock, assumed, self._numbered).run()
        carried = [back.relation(r) for r in assumed if back.covers(r)]
        again = legality.Direction(second, first, back, self._runs, clock, carried, self._numbered).run()
        common = there.both()
        after = outputs.Compared(over, common, self._runs, self._numbered).outputs(paired(a.outputs, b.outputs))
        agreed = legality.contracts(there, again, first, second, self._numbered)
        return answers.Replacement(outputs.inputs(over), after, agreed), common, (first.contract, second.contract)

    def _numbered(self, of_values: bool) -> witness.Numbers:
        """Both models under common numbers, made when data-dependent sizes need it: it reads weights."""
        if of_values not in self._numbers:
            alike = [pair for pair in self._over.pairs if self._of_one_type(pair)]
            self._numbers[of_values] = witness.Numbers(self._over, alike, of_values=of_values)
        return self._numbers[of_values]

    def _of_one_type(self, pair: Pair) -> bool:
        if pair.first is None or pair.second is None:
            return False
        before, after = form_of(self._over.source[pair.first]), form_of(self._over.target[pair.second])
        return bool(before.kind) and (before.kind, before.dtype, before.rank) == (after.kind, after.dtype, after.rank)

    def _in_time(self, make: Callable[[], T]) -> T | None:
        try:
            with self._clock.limited():
                return make()
        except DeadlineError:
            self._reason = self._clock.over
            return None
