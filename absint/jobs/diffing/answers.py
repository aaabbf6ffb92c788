"""Answers of a comparison as data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

Evidence = Literal["run", "rules", "declarations"]
"""The evidence of a difference: a run of both models, the rules of their operators, or what they declare."""

Agreement = Literal["same", "narrowed", "widened", "narrowed and widened", "undecided"]


class Apart(NamedTuple):
    """Sizes that tell the models apart, and what each does there."""

    sizes: Mapping[str, int]
    of: str
    """The model whose symbols have these sizes: `A` or `B`."""
    first: str
    """The outcome in A: `runs`, `fails: ...`, `[1, 4]`."""
    second: str
    evidence: Evidence
    is_only_empty: bool = False
    """It is proved that they are not apart where no size is 0."""


class Unmet(NamedTuple):
    """A requirement of one model that sizes which are legal in the other one break."""

    relation: str
    """Over symbols of the model that requires it."""
    over: str
    """The same over symbols of the other model."""
    because: tuple[str, ...]
    """The nodes that state it, or the input that declares it."""
    apart: Apart | None
    """None where the requirement is not shown to be broken by sizes at which the other model runs."""
    reason: str = ""
    """The reason why it is not decided; empty if it is."""


@dataclass(frozen=True)
class Contracts:
    """The legal sizes of two models."""

    narrowed: tuple[Unmet, ...] = ()
    """Requirements of B that legal sizes of A break."""
    widened: tuple[Unmet, ...] = ()
    """Requirements of A that legal sizes of B break."""
    undecided: tuple[Unmet, ...] = ()
    """Requirements of B of which that is not known."""
    widening_undecided: tuple[Unmet, ...] = ()
    """Requirements of A of which it is not known if B has them."""
    clauses: tuple[int, int] = (0, 0)
    """The number of clauses of each contract."""
    possible: tuple[bool | None, bool | None] = (True, True)
    """Some sizes are legal; None if undecided."""
    premises: tuple[str, ...] = ()
    """Numeric premises and assumptions that the comparison rests on, over symbols of A."""
    proviso: tuple[str, ...] = ()
    """Requirements that no clause states."""

    @property
    def agreement(self) -> Agreement:
        if self.narrowed:
            return "narrowed and widened" if self.widened else "narrowed"
        if self.undecided:
            return "undecided"
        if self.widened:
            return "widened"
        return "undecided" if self.widening_undecided else "same"

    @property
    def is_kept(self) -> bool | None:
        """Every size that is legal in A is legal in B; None if undecided."""
        return False if self.narrowed else None if self.undecided else True


PortStatus = Literal[
    "same", "renamed", "resized", "widened", "optional", "gone", "new", "changed", "not comparable", "undecided"
]
"""Of an input: `resized` is one whose declared sizes differ, `widened` one whose rank or type B leaves open, `optional`
one for which B has a default. `renamed` is said of one that is the same but for its name."""


@dataclass(frozen=True)
class Port:
    """An input or output of the two models."""

    first: str | None
    """Its name in A, None if it has none."""
    second: str | None
    before: str = ""
    """Type and shape in A; `unknown` if nothing is known."""
    after: str = ""
    status: PortStatus = "same"
    details: tuple[str, ...] = ()
    """Differences and open points, one line each."""
    apart: Apart | None = None

    @property
    def name(self) -> str:
        """Its name, or both: `x -> y`."""
        if self.first is None or self.second is None or self.first == self.second:
            return self.first or self.second or ""
        return f"{self.first} -> {self.second}"


@dataclass(frozen=True)
class Ports:
    """The inputs, or the outputs."""

    items: tuple[Port, ...]
    reordered: bool = False
    """The common ones are in another order."""

    def of(self, *statuses: PortStatus) -> tuple[Port, ...]:
        """The ports of a status."""
        return tuple(port for port in self.items if port.status in statuses)


class Amount(NamedTuple):
    """A quantity of both models."""

    name: str
    """`macs`, `flops`, `bytes`, `parameters`, `parameter bytes`, `peak memory`."""
    first: str
    """An expression over symbols of A; `?` if there is none."""
    second: str
    """Over symbols of A too."""
    difference: str
    """B less A; `0` if they are the same, `?` if there is no expression over sizes of the inputs."""
    numbers: tuple[int, int] | None
    """Both at `sizes`, None where sizes do not give them."""

    @property
    def ratio(self) -> float | None:
        """B over A at these sizes; None if A has none of it."""
        return self.numbers[1] / self.numbers[0] if self.numbers is not None and self.numbers[0] else None

    @property
    def is_same(self) -> bool:
        return self.difference == "0" or self.first == self.second != "?"


class Share(NamedTuple):
    """Dims of computed values: all, and those with a number or an expression over the inputs."""

    exact: int
    dims: int


class Meaning(NamedTuple):
    """An operator of both models under two versions of its schema."""

    operator: str
    first: int
    """The opset that introduced its schema in A."""
    second: int
    nodes: int
    """The number of such nodes in B."""


class Inner(NamedTuple):
    """A computed value that has its name in both models, with another shape."""

    name: str
    before: str
    after: str
    at: Mapping[str, int] | None
    """Legal sizes at which they differ; None if types or ranks do, or it is not known."""
    is_decided: bool


class Lost(NamedTuple):
    """An output whose rows are proved independent in A, and not in B."""

    name: str
    """As A names it."""
    symbol: str
    """The size of A that counts the rows."""
    verdict: str
    """What B has: `mixes` if a run shows it, `by position`, `unknown`."""
    why: str
    """The first node of B where rows meet, and the run."""


@dataclass(frozen=True)
class Surroundings:
    """Other differences between the files."""

    nodes: tuple[int, int]
    opsets: Mapping[str, tuple[int | None, int | None]]
    """Versions of each domain that an operator of either model has; None where a model does not import it."""
    meanings: tuple[Meaning, ...] = ()
    without_rule: tuple[tuple[str, int, int], ...] = ()
    """Operators without a rule, and how many nodes of each model are such."""
    new_diagnostics: tuple[str, ...] = ()
    gone_diagnostics: tuple[str, ...] = ()
    new_failures: tuple[str, ...] = ()
    """Nodes of B that may fail on data, for reasons that A has not."""
    gone_failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figures:
    """Costs of both models, and how much is known of their shapes."""

    amounts: tuple[Amount, ...]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Sizes of the numbers, by symbols of A."""
    coverage: tuple[Share, Share] = (Share(0, 0), Share(0, 0))
    uncounted: tuple[str, ...] = ()
    """The parts that no total counts, one line each."""


# The findings of a comparison, and the verdict.

Headline = Literal["same", "compatible", "changed", "undecided"]


@dataclass(frozen=True)
class Replacement:
    """The findings behind the verdict: may model B take the place of model A?"""

    inputs: Ports
    """The inputs of both, paired."""
    outputs: Ports
    """The outputs of both, paired."""
    contract: Contracts
    """Sizes that are legal in one model alone."""

    @property
    def verdict(self) -> Headline:
        """`same`: the same inputs and outputs, the same legal sizes, and the same output shapes for all of them.

        `compatible`: all that works with A works with B, which differs. `changed`: a call that works with A does not
        work with B, or an output is another one. `undecided`: neither is shown.
        """
        if self.broken:
            return "changed"
        if self.undecided:
            return "undecided"
        return "same" if self._is_same else "compatible"

    def __bool__(self) -> bool:
        """All that works with A is shown to work with B."""
        return self.verdict in ("same", "compatible")

    @property
    def broken(self) -> tuple[str, ...]:
        """The reasons why B is no replacement of A, a few words each; the contract first."""
        found = ["the contract narrowed"] if self.contract.narrowed else []
        found += _counted("input", self.inputs, ("gone", "new", "changed", "renamed"))
        found += _counted("output", self.outputs, ("gone", "changed", "renamed"))
        if self.outputs.reordered:
            found.append("outputs stand in another order")
        return tuple(found)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The undecided points, a few words each."""
        found = ["legal sizes"] if self.contract.undecided else []
        return (*found, *_counted("output", self.outputs, ("undecided", "not comparable")))

    @property
    def _is_same(self) -> bool:
        ports: tuple[Port, ...] = (*self.inputs.items, *self.outputs.items)
        kept = all(port.status in ("same", "resized") for port in ports) and not self.inputs.reordered
        return kept and self.contract.agreement == "same"


@dataclass(frozen=True)
class Findings(Replacement):
    """The comparison of both models."""

    first: str
    """The path of A, or a word for its origin."""
    second: str
    """The path of B, or a word for its origin."""
    symbols: Mapping[str, str]
    """Each symbol of B over those of A, where inputs say so: `{"N": "batch"}`."""
    surroundings: Surroundings
    """Opsets, operators without a rule, diagnostics, possible failures."""
    assuming: tuple[str, ...]
    """The caller's assumptions about symbols of either model; the answer is about sizes that meet them."""
    figures: Figures | None
    """None if time ran out before costs were counted."""
    values: tuple[Inner, ...] | None = None
    """With `values=True`: computed values of one name whose types or shapes differ."""
    reason: str = ""
    """The reason why the comparison is not complete, if it is not."""
    rows: tuple[Lost, ...] = ()
    """Outputs whose rows stay apart in A, and are not proved to in B."""

    @property
    def undecided(self) -> tuple[str, ...]:
        """The undecided points, a few words each."""
        return (*super().undecided, self.reason) if self.reason else super().undecided


_WORDS: Final[Mapping[PortStatus, tuple[str, str]]] = {
    "gone": ("is gone", "are gone"),
    "new": ("is required", "are required"),
    "changed": ("changed", "changed"),
    "renamed": ("was renamed", "were renamed"),
    "undecided": ("is undecided", "are undecided"),
    "not comparable": ("is not comparable", "are not comparable"),
}
_NAMED: Final = 4


def _counted(word: str, ports: Ports, statuses: Sequence[PortStatus]) -> Iterator[str]:
    """`output y changed`, `251 inputs are required`."""
    for status in statuses:
        found = ports.of(status)
        if len(found) > _NAMED:
            yield f"{len(found):,} {word}s {_WORDS[status][1]}"
        else:
            yield from (f"{word} {port.name} {_WORDS[status][0]}" for port in found)
