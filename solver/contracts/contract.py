"""Contracts: which input sizes are legal, as a short list of clauses without a redundant one.

The clauses are the requirements over input symbols alone, simplified by one another, without those that the rest
entail. Several clauses about one symbol become one where it is proved to say the same (`H % 8 == 0` for a chain of
halvings).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, NamedTuple

from absint.lattices.limits import DeadlineError, Limits
from absint.lattices.logic.facts import Facts
from absint.lattices.logic.formula import Comparison, is_plain, leads_negative
from absint.lattices.logic.relation import FALSE, NO, UNKNOWN_RELATION, YES, Relation, truth
from absint.lattices.terms.evaluation import number_of
from absint.lattices.terms.expr import Dim, postorder
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import RELATION, SIZES, Key, Object, by_name, many, maybe
from absint.lattices.text.naming import Names, Naming
from absint.lattices.text.sheets import Line, Part, Sheet, Table, defined, listed, so_many
from absint.solver.candidates import combined
from absint.solver.constraints import NODE, NODE_DOUBT, Constraint, ConstraintSet, PossibleFailure
from absint.solver.contracts.premises import near
from absint.solver.contracts.shortening import both, needed_premises, shortened
from absint.solver.contracts.simplification import Stated
from absint.solver.prove import Prover

ORDINARY: Final = (64, 65, 97, 224, 1000)
"""Sizes that no window is too large for; none is special."""

_TRIED: Final = 125
_SMALL: Final = 34
"""The sizes of one symbol that are tried."""

_BROKEN: Final = 6
_FORMULAS: Final = 24
"""Most sizes that a clause excludes, and requirements, that are held against each other."""

_EXCLUDING: Final = Limits(0.5, 200_000)
"""What a proof may cost that relations over elements exclude each other."""


def by_cause(relation: Relation, because: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """The constraints in another order: those that state the clause itself, then those that exclude the most of some
    sizes that it excludes, each in execution order."""
    formulas = list(dict.fromkeys(c.formula for c in because))
    if len(formulas) < 2:
        return tuple(because)
    if relation in formulas:
        return tuple(sorted(because, key=lambda c: c.formula is not relation))
    names = sorted(relation.free_symbols)
    alone = ({**dict.fromkeys(names, ORDINARY[0]), name: n} for name in names for n in range(1, _SMALL))
    broken = [sizes for sizes in chain(alone, ordinary(names)) if relation.at(sizes) is NO]
    few = broken[:: max(1, len(broken) // _BROKEN)][:_BROKEN]
    excluded = {formula: sum(_breaks(sizes, formula) for sizes in few) for formula in formulas[-_FORMULAS:]}
    return tuple(sorted(because, key=lambda c: -excluded.get(c.formula, 0)))


def ordinary(names: Iterable[str]) -> Iterator[Mapping[str, int]]:
    """Combinations of sizes that nobody would think special."""
    return islice(combined(dict.fromkeys(sorted(names), ORDINARY)), _TRIED)


def _breaks(sizes: Mapping[str, int], formula: Relation) -> bool:
    """The sizes break a requirement, with an ordinary size for every other symbol."""
    return formula.at({**dict.fromkeys(formula.free_symbols, ORDINARY[0]), **sizes}) is NO


def exclude_each_other(relations: Iterable[Relation]) -> bool:
    """No values of their symbols meet all of these relations over elements of inputs: proved.

    A check and a contract judge them together.
    """
    asked = [relation for relation in dict.fromkeys(relations) if relation is not UNKNOWN_RELATION]
    names = sorted(set[str]().union(*(relation.free_symbols for relation in asked)))
    if FALSE in asked or Facts(asked, tuple(names)).contradiction:
        return True
    if not names or near(asked, names).meet(asked):
        return False
    return Prover(ConstraintSet(), order=tuple(names), limits=_EXCLUDING).entails(asked, FALSE).entailed is True


class Clause(NamedTuple):
    """A relation over input symbols that every run needs, with the constraints that impose it."""

    relation: Relation
    because: tuple[Constraint, ...]
    """The one that states it first, then those that follow from it or state a part."""

    def nodes(self, most: int = 2) -> str:
        """The first few nodes that impose it, and the number of others."""
        nodes = list(dict.fromkeys(str(c.origin) for c in self.because))
        return ", ".join(nodes[:most]) + (f" and {len(nodes) - most:,} more" if len(nodes) > most else "")

    def __str__(self) -> str:
        return f"{self.relation}  ({self.nodes()})"


_NONE: Final = "no size is legal"


@dataclass(frozen=True)
class Contract:
    """Legal sizes of the inputs: clauses that every run needs. `proviso` says if they are sufficient.

    Clauses over elements of small inputs (`M >= k`) stand after those over sizes alone.
    """

    clauses: tuple[Clause, ...]
    """The clauses; none: every size is legal."""
    possible: bool | None = True
    """Some sizes meet the clauses; None if undecided."""
    premises: tuple[Constraint, ...] = ()
    """Assumptions of declarations and of the caller, and numeric premises that the clauses do not entail."""
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Symbols shared by several inputs, with the places: their equality is a premise that no runtime enforces."""
    beyond: tuple[Constraint, ...] = ()
    """Requirements over data-dependent sizes, which no clause over input symbols can express."""
    possible_failures: tuple[PossibleFailure, ...] = ()
    """Nodes that may fail for a reason that is not stated."""
    reason: str = ""
    """The reason why clauses were not simplified, or not shown to be satisfiable; empty if they were."""
    elements: tuple[str, ...] = ()
    """The elements of inputs that clauses mention."""
    samples: tuple[Mapping[str, int], ...] = ()
    """Legal sizes, as many as were asked for, or all that were found."""
    fewer: str = ""
    """The reason why there are fewer samples than were asked for."""
    semantics: str = "either"
    """The runs whose sizes are legal: those of ONNX's documents, of onnxruntime, or of either."""

    def __str__(self) -> str:
        if self.possible is False and all(clause.relation is not FALSE for clause in self.clauses):
            return "\n".join([_NONE, *map(str, self.clauses)])
        return "\n".join(map(str, self.clauses)) or f"every size is legal{self.proviso}"

    def __repr__(self) -> str:
        clauses = _NONE if self.possible is False else " and ".join(str(c.relation) for c in self.clauses)
        return f"<Contract: {excerpt(clauses or str(self))}>"

    def _repr_html_(self) -> str:
        return self.sheet.html()

    @property
    def sheet(self) -> Sheet:
        """The clauses with the nodes behind them, what they rest on, and what they leave out."""
        texts = Names(Naming())
        count = len(self.clauses)
        title = f"legal sizes: {so_many(count, 'clause')}{self.proviso}" if count else str(self)
        clauses = [
            (
                texts.relation(clause.relation),
                clause.nodes(3),
                "; ".join(list(dict.fromkeys(c.reason for c in clause.because))[:2]),
            )
            for clause in self.clauses
        ]

        def rows(constraints: Sequence[Constraint]) -> list[tuple[object, ...]]:
            return [(texts.relation(c.formula), c.origin, c.reason) for c in constraints]

        parts: list[Part] = [
            *([Line(self.reason)] if self.reason else []),
            Table("required", clauses, head=("clause", "nodes", "reason")),
            Table("taken for granted", rows(self.premises), head=("relation", "of", "reason")),
            Table("over sizes that only a run tells", rows(self.beyond), head=("relation", "node", "reason")),
            Table(
                "may fail",
                [(failure.origin, failure.reason, failure.kind) for failure in self.possible_failures],
                head=("node", "reason", "left open by"),
            ),
            listed("legal sizes to try", map(format_sizes, self.samples)),
        ]
        return Sheet(Line(_NONE if self.possible is False else title), [*parts, defined(texts)])

    @property
    def proviso(self) -> str:
        """The end of a sentence about the clauses, which says what they leave out; empty if they are sufficient."""
        if self.beyond:
            return " as far as sizes of the inputs alone decide it"
        if any(failure.kind == "data" for failure in self.possible_failures):
            return ", but nodes may fail on data"
        return ", but not all requirements are known" if self.possible_failures else ""

    def allows(self, binding: Mapping[str, int]) -> bool:
        """The sizes meet every clause and break no declaration or assumption. A clause that divides by zero is not met.

        Clauses over elements of inputs that the binding lacks are judged together: some elements must meet them all.
        Raises KeyError naming a symbol without a size, and TypeError for a size that is no integer.
        """
        binding = {name: number_of(size) for name, size in binding.items()}
        for name, size in binding.items():
            if not isinstance(size, int):
                raise TypeError(f"{name}={size!r}: a size is an integer")
        counted: list[Relation] = []
        open_: list[Relation] = []
        for clause in self.clauses:
            missing = sorted(clause.relation.free_symbols - binding.keys())
            if any(name not in self.elements for name in missing):
                raise KeyError(f"no size for {', '.join(map(repr, missing))}")
            (open_ if missing else counted).append(clause.relation)
        if any(c.formula.at(binding) is NO for c in self.premises if c.origin.node < 0):
            return False
        if not all(relation.at(binding) is YES for relation in counted):
            return False
        return not exclude_each_other(
            relation.substitute({s: Dim(binding[s.name]) for s in relation.symbols if s.name in binding})
            for relation in open_
        )

    def to_json(self, texts: Names | None = None, *, model: str = "") -> str:
        """As a JSON object, schema `absint.contract/2`, about the model of that name.

        Long dims have the names of `texts`, if there are any.
        """
        return CONTRACT.text(self, texts, Head(model, semantics=self.semantics))


_FORMULA: Final = (Key[Constraint]("relation", RELATION, of=lambda c: c.formula),)
CONTRACT: Final = Document[Contract](
    "contract",
    2,
    "the legal sizes (absint contract)",
    Key("possible", maybe(bool), "some size meets all clauses; null if undecided"),
    Key("reason", str, "the limit that was reached, or that Z3 was lacking; or empty"),
    Key("clauses", many(Object[Clause](Key("relation", RELATION), Key("because", many(NODE), "who imposes it")))),
    Key("premises", many(Object[Constraint](*_FORMULA, Key("role", str), *NODE.keys)), "taken for granted"),
    Key("shared", by_name(many(str)), "symbols of several inputs, with their places"),
    Key("beyond", many(Object[Constraint](*_FORMULA, *NODE.keys)), "requirements over data-dependent sizes"),
    Key("doubts", many(NODE_DOUBT), "nodes that may fail", lambda found: found.possible_failures),
    Key("samples", many(SIZES), "with `--samples`: legal sizes"),
    head=("model", "semantics"),
)


def contract(
    base: ConstraintSet,
    prover: Prover,
    possible_failures: Sequence[PossibleFailure] = (),
    shared: Mapping[str, tuple[str, ...]] | None = None,
    elements: Sequence[str] = (),
) -> Contract:
    """The contract of a first round, whose requirements have not been simplified by one another.

    `elements` of inputs may be mentioned by clauses beside sizes. No clause over sizes rests on one over elements.
    """
    inputs = frozenset(base.symbols)
    parameters = (*base.symbols, *elements)

    # The requirements: over sizes, over elements too, and over what no clause can state
    requirements: Stated = {}
    for c in base.filter("required"):
        requirements.setdefault(c.formula, {})[c] = None
    over_sizes: Stated = {}
    over_elements: Stated = {}
    beyond: list[Constraint] = []
    for formula, because in requirements.items():
        if formula.free_symbols <= inputs.union(elements):
            part = over_sizes if formula.free_symbols <= inputs else over_elements
            part.setdefault(_total(formula), {}).update(because)
        else:
            beyond.append(next(iter(because)))

    # The clauses; at a deadline those that the nodes state
    premises: dict[Relation, Constraint] = {c.formula: c for c in base.filter("assumed", "declared")}
    given = [c.formula for c in base if c.origin.node < 0]
    numeric = [formula for formula in premises if formula not in given]
    try:
        relations, possible = shortened(over_sizes, given, base.symbols, prover)
        if over_elements:
            more, more_possible = shortened(over_elements, [*given, *relations], parameters, prover, met=True)
            relations, possible = {**relations, **more}, both(possible, more_possible)
        listed_premises = {*given, *needed_premises(numeric, [*given, *relations], prover)}
        reason = prover.lost
    except DeadlineError as error:
        data_dependent = {c.formula for c in beyond}
        relations = {formula: causes for formula, causes in requirements.items() if formula not in data_dependent}
        possible, listed_premises, reason = None, {*given, *numeric}, str(error)

    clauses = [Clause(relation, by_cause(relation, tuple(because))) for relation, because in relations.items()]
    places = {name: place for place, name in reversed([*enumerate(parameters)])}
    clauses.sort(key=lambda clause: _order(clause.relation, places, inputs))
    mentioned = set().union(*(relation.free_symbols for relation in relations))
    return Contract(
        tuple(clauses),
        possible,
        tuple(c for formula, c in premises.items() if formula in listed_premises),
        shared or {},
        tuple(beyond),
        tuple(possible_failures),
        reason,
        tuple(name for name in elements if name in mentioned),
    )


def _total(relation: Relation) -> Relation:
    """The relation, false where sizes do not broadcast that it broadcasts: cases of a broadcast do not tell."""
    return truth(relation) if any(node.op == "broadcast" for node in postorder(relation.atoms())) else relation


def _order(
    relation: Relation, symbols: Mapping[str, int], sizes: frozenset[str]
) -> tuple[bool, int, list[int], int, str]:
    """Clauses over sizes alone first; of these those about one, in the order of the symbols; then by their form."""
    places = sorted(symbols[name] for name in relation.free_symbols)
    kind = 0
    if isinstance(relation, Comparison) and is_plain(relation):
        kind = 2 if leads_negative(relation.expr) else 1
    return not relation.free_symbols <= sizes, len(places), places, kind, relation.key
