"""The open points and non-goals of the proposals: answered where, or left out and why."""

from __future__ import annotations

from typing import Final, NamedTuple


class Point(NamedTuple):
    """One point; `where` are files of the repository."""

    point: str
    source: str
    answer: str
    where: tuple[str, ...] = ()


POINTS: Final = (
    Point(
        "expression grammar",
        "0008",
        "one published grammar that reads the field's dialects and prints one of them; what is "
        "printed reads back as the same object",
        ("docs/grammar.md", "lattices/text/__init__.py"),
    ),
    Point(
        "simplification helper",
        "0008",
        "every expression is in one canonical form when it is made; rewrites that need a fact "
        "are asked for by `simplify`",
        ("lattices/terms/normal.py", "lattices/logic/facts.py"),
    ),
    Point(
        "consumer API to parse and evaluate",
        "0008",
        "`absint.parse(text).evaluate({...})`, `Shape.evaluate`, and a "
        "stand-alone Python function of the shapes without any import",
        ("docs/exports.md",),
    ),
    Point(
        "validation of `dim_param` by the checker",
        "0008",
        "a text that is not in the grammar stays an opaque name; one with "
        "operators that does not parse is a diagnostic that points at the column",
        ("docs/grammar.md",),
    ),
    Point(
        "`ceil` against `floor` division",
        "0008",
        "see the questions above: `ceil(N/k)` is `(N + k - 1)//k` for all integers, "
        "so one division is enough; only `//` may be used for it, not `/`",
        ("docs/grammar.md",),
    ),
    Point(
        "M = 0 and M < 0 of a Loop",
        "0008",
        "both are legal runs without a trip: scan outputs have `max(M, 0)` rows, carried values stay as they are",
        ("docs/control-flow.md",),
    ),
    Point(
        "a structured `dim_expr`",
        "4064",
        "left out of the model file, since the format has no field for it; the JSON export "
        "carries each dim as text and as a tree",
        ("docs/exports.md",),
    ),
    Point(
        "constraint propagation from user assertions",
        "0008",
        '`analyze(model, assume=["seq % 8 == 0"])`: an assumption is a '
        "premise, listed in `because` wherever it is used",
        ("docs/proofs.md",),
    ),
    Point(
        "bidirectional inference",
        "0008",
        "by constraints, not by assignment: what a run requires is recorded with its node, and "
        "requirements that solve or bound a symbol become facts of the next round",
        ("docs/decisions.md",),
    ),
    Point(
        "fallback to the inference of `onnx`",
        "tools",
        "only for the type and rank of an operator without a rule; its dims are "
        "not taken, since some of them are wrong",
        ("absint/program/rules/schema_rules.py", "docs/custom-operators.md"),
    ),
    Point(
        "serialising expressions",
        "0008b",
        "`annotate` writes texts into `dim_param` (equal strings mean equal sizes in every "
        "run); SMT-LIB, JSON and metadata read back to the same set",
        ("docs/exports.md",),
    ),
    Point(
        "integration with simplifiers and runtimes",
        "0008",
        "through the annotated model and the exports; nothing is patched into other tools",
        ("docs/exports.md",),
    ),
    Point(
        "equalities that must hold for a run",
        "0009",
        "recorded as requirements with node and reason, never used as a renaming; a proof says which it rests on",
        ("docs/proofs.md",),
    ),
    Point(
        "bounds of data-dependent sizes",
        "0009",
        "an invented symbol with bounds (`0 <= _d0 <= N*M` for NonZero)",
        ("docs/operators.md",),
    ),
    Point("a log of the decisions", "0009", "`explain` walks back from a dim node by node", ("docs/proofs.md",)),
    Point(
        "function symbols of the initial set (0010, unresolved)",
        "0010",
        "`floordiv`, `truncdiv`, `%`, `max`, `min`, `broadcast` and "
        "`ite` are enough for every rule here; each is needed by an executed model",
        ("docs/grammar.md",),
    ),
    Point(
        "legacy expression-like `dim_param` (0010, unresolved)",
        "0010",
        "read as an expression where each of its names also stands "
        "alone on an input, or operators stand apart; else a name",
        ("docs/grammar.md",),
    ),
    Point(
        "injectable reasoning service (Q4)",
        "0010",
        "left out: Z3 answers questions and feeds no dim; policies are values, and a user's rules extend the table",
        ("docs/decisions.md", "docs/custom-operators.md"),
    ),
    Point(
        "unknown against contradiction (Q5)",
        "0010",
        "two verdicts of their own, with the requirements that clash",
        ("docs/proofs.md",),
    ),
    Point(
        "opt-in or always on",
        "0008b",
        "a tool of its own: nothing of a model changes unless `annotate` is asked for",
        ("docs/architecture.md",),
    ),
    Point(
        "relaxing equality to a merge of names",
        "0008b",
        "never by default; the policies above show what that costs",
        ("lattices/unify.py",),
    ),
)

NON_GOALS: Final = (
    Point("symbolic expressions in the standard", "0005", "not needed: expressions are written into `dim_param` texts"),
    Point(
        "data propagation for old operator sets",
        "0005",
        "taken up: each version of an operator has its rule",
        ("docs/operators.md",),
    ),
    Point(
        "data propagation for a few operators only",
        "0005",
        "taken up: elements are followed through every operator that computes shapes",
        ("docs/operators.md",),
    ),
    Point(
        "a solver for equality of expressions",
        "0008",
        "taken up: equality is asked of Z3, outside of the inference",
        ("docs/proofs.md",),
    ),
    Point("fractions", "0008", "exact rationals inside `floor`, `ceil`, `trunc`; nowhere else", ("docs/grammar.md",)),
    Point(
        "`floor`, `ceil`, `max`, `min`, inequalities",
        "0008b",
        "taken up: without them pools, slices and caches stay open",
        ("docs/grammar.md", "docs/proofs.md"),
    ),
    Point(
        "expressions in If, Loop and Scan",
        "0008b",
        "taken up: branches join under their condition, loops run to a fixpoint",
        ("docs/control-flow.md",),
    ),
    Point(
        "facts learnt late change inner scopes that were left",
        "0010",
        "taken up: rounds repeat until nothing changes",
        ("docs/decisions.md",),
    ),
    Point(
        "one fixed solver in the standard; algebra in every backend",
        "0010",
        "agreed: exports need no solver and no parser",
        ("docs/exports.md",),
    ),
)
