"""A comparison as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from absint.jobs.diffing import answers
from absint.jobs.diffing.findings import Findings, Headline
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.forms import NUMERAL, SIZES, Key, Object, by_name, keys_of, kind_of, many, maybe, one_of

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

DIFF: Final = Document[Findings](
    "diff",
    1,
    "two models side by side (absint diff)",
    Key("other", str, "the path of B", lambda diff: diff.second),
    Key("verdict", kind_of(Headline), "`compatible`: all that works with A works with B, which differs"),
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
        "opsets",
        by_name(many(maybe(int))),
        "versions of domains, in A and in B",
        lambda diff: diff.surroundings.opsets,
    ),
    Key("operators_defined_anew", many(_MEANING), of=lambda diff: diff.surroundings.meanings),
    Key(
        "operators_without_rule",
        by_name(many(int)),
        "how many nodes, of A and of B",
        lambda diff: {name: counts for name, *counts in diff.surroundings.without_rule},
    ),
    Key(
        "diagnostics",
        _TEXTS,
        of=lambda diff: (diff.surroundings.new_diagnostics, diff.surroundings.gone_diagnostics),
    ),
    Key(
        "failures_on_data",
        _TEXTS,
        "nodes that may fail",
        lambda diff: (diff.surroundings.new_failures, diff.surroundings.gone_failures),
    ),
    Key("values", maybe(many(_INNER)), "with `--values`: computed values of one name that differ"),
    Key("reason", str, "the limit that was reached, or empty"),
    head=("model",),
    head_of=lambda diff: Head(diff.first),
    defines=False,
)
