"""Where rows are, where they meet, and a run that shows it."""

from collections.abc import Mapping
from typing import NamedTuple


class InputAxis(NamedTuple):
    """An axis of an input that holds the rows."""

    input: str
    axis: int

    def __str__(self) -> str:
        return f"{self.input}[{self.axis}]"


class Witness(NamedTuple):
    """An element of an output that changes with two rows, each alone; or with one row, though no axis has it there."""

    sizes: Mapping[str, int]
    """Sizes of the inputs."""
    rows: tuple[int, ...]
    place: tuple[int, ...]

    def __str__(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        changes = f"at {sizes} element {list(self.place)} changes with row {self.rows[0]}"
        return f"{changes} and with row {self.rows[1]}" if len(self.rows) > 1 else f"{changes}, which is on no one axis"


class Meeting(NamedTuple):
    """A node and what happens there."""

    node: str
    reason: str
    number: int = -1
    """Of the node in the program."""

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"
