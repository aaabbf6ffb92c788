"""The findings of a comparison, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from absint.jobs.diffing.answers import Contracts, Figures, Inner, Port, Ports, PortStatus, Surroundings

Headline = Literal["same", "compatible", "changed", "undecided"]


@dataclass(frozen=True)
class Findings:
    """The comparison of a model A with a model B that is to take its place."""

    first: str
    """The path of A, or a word for its origin."""
    second: str
    """The path of B, or a word for its origin."""
    symbols: Mapping[str, str]
    """Each symbol of B over those of A, where inputs say so: `{"N": "batch"}`."""
    inputs: Ports
    """The inputs of both, paired."""
    outputs: Ports
    """The outputs of both, paired."""
    contract: Contracts
    """Sizes that are legal in one model alone."""
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
        found += _counted("output", self.outputs, ("undecided", "not comparable"))
        return (*found, self.reason) if self.reason else tuple(found)

    @property
    def _is_same(self) -> bool:
        ports: tuple[Port, ...] = (*self.inputs.items, *self.outputs.items)
        kept = all(port.status in ("same", "resized") for port in ports) and not self.inputs.reordered
        return kept and self.contract.agreement == "same"


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
