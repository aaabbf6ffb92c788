"""One claim held against a run."""

from __future__ import annotations

from dataclasses import dataclass

from absint.runs.statements import Number, Part, Statement


@dataclass(frozen=True, slots=True)
class Row:
    """One claim held against the run."""

    value: str
    """The name of the value; for a constraint, the node that states it."""
    part: Part
    axis: int | None
    """Of a dim; the row-major place of an element, None where the claim is about all elements."""
    expression: str
    """The claim; `?` for a size of which only bounds are known."""
    predicted: Number | None
    """The value of the expression at the sizes of the run; None where they do not determine it."""
    actual: Number
    ok: bool
    note: str = ""
    premise: bool = False
    """It is about an input or an assumption: what the claims rest on, not what they say."""

    @property
    def place(self) -> str:
        """Where it is, in words."""
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


__all__ = ["Row", "counted"]
