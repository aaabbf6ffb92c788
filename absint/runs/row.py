"""One claim compared with a run."""

from __future__ import annotations

from dataclasses import dataclass

from absint.runs.statements import Number, Part, Statement


@dataclass(frozen=True, slots=True)
class Row:
    """One claim compared with the run."""

    value: str
    """The name of the value; for a constraint, the node that states it."""
    part: Part
    axis: int | None
    """The axis of a dim, or the row-major place of an element; None if the claim is about all elements."""
    expression: str
    """The claim; `?` for a size known by its bounds alone."""
    predicted: Number | None
    """The value of the expression at the sizes of the run; None if they do not determine it."""
    actual: Number
    ok: bool
    note: str = ""
    premise: bool = False
    """It is about an input or an assumption: a premise of the claims, not a claim."""

    @property
    def place(self) -> str:
        """Its place, in words."""
        return self.value if self.part == "constraint" else Statement(self.value, self.part, self.axis, "", "").place

    def __str__(self) -> str:
        if self.part == "constraint":
            return f"{self.place}: {self.note}"
        is_plain = self.predicted is None or str(self.predicted) == self.expression
        claimed = self.expression if is_plain else f"{self.expression} = {self.predicted}"
        stated = "declared" if self.premise else "claimed"
        return f"{self.place}: {stated} {claimed}, ran {self.actual}" + (f" ({self.note})" if self.note else "")


def counted(number: int, noun: str) -> str:
    """A number of things, with their noun in the plural unless it is one."""
    return f"{number} {noun}{'s' * (number != 1)}"
