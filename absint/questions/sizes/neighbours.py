"""The legal sizes nearest to given ones, as objects and text, and their document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, format_sizes
from absint.lattices.text.forms import Object, keys_of
from absint.lattices.text.sheets import Line, Sheet, Table

_NONE: Final = "no symbols"
_OFFERED: Final = 3
"""Most choices in one line."""


@dataclass(frozen=True)
class Neighbour:
    """The nearest legal size of one symbol on one side, the others unchanged."""

    size: int | None
    """None: there is none, or none was found."""
    proved: bool
    """No legal size is nearer; without a size, there is none on this side. False: a limit was reached."""

    def __str__(self) -> str:
        if self.size is None:
            return "none" if self.proved else "none found"
        return str(self.size) if self.proved else f"{self.size} (a nearer one is not ruled out)"


@dataclass(frozen=True)
class Alone:
    """The nearest legal sizes of one symbol if no other changes."""

    symbol: str
    below: Neighbour
    above: Neighbour


@dataclass(frozen=True)
class Nearest:
    """The legal sizes nearest to given ones. Legal sizes break no requirement, and a check confirms each of these.

    Distance is the sum of the changes of all symbols. Of several sizes at the least distance, those that change the
    fewest symbols are chosen, and then the smallest, in the order of the symbols. A size that is not 0 becomes 0 only
    if no other legal sizes are found: an empty tensor is rarely meant. Likewise an element of an input changes only if
    no sizes are legal with it.
    """

    given: Mapping[str, int]
    """The sizes that were asked about."""
    legal: bool
    """The given sizes are legal themselves."""
    sizes: Mapping[str, int] | None
    """The nearest legal sizes, of all symbols together; None: there are none, or none was found."""
    distance: int | None
    """Their distance from the given ones."""
    proved: bool
    """No legal sizes are nearer, apart from some with a further 0 or another element; without sizes, there are no legal
    ones at all. False: a limit was reached."""
    alone: tuple[Alone, ...] = ()
    """For each symbol the nearest legal sizes if it changes alone."""
    reason: str = ""
    """The limit that was reached, if one was."""

    @property
    def choices(self) -> tuple[Mapping[str, int], ...]:
        """The changes that make the sizes legal: of all symbols together, then of each alone, though not to 0."""
        if self.legal or self.sizes is None:
            return ()
        changed = {name: size for name, size in self.sizes.items() if size != self.given[name]}
        singles = [{a.symbol: n.size} for a in self.alone for n in (a.below, a.above) if n.size]
        singles.sort(key=lambda change: sum(abs(size - self.given[name]) for name, size in change.items()))
        return changed, *(change for change in singles if change != changed)

    @property
    def line(self) -> str:
        """One line for a message about illegal sizes: `nearest legal: seq=128 (others unchanged); or seq=192`."""
        if self.legal:
            return "the sizes are legal"
        if self.sizes is None:
            return "no sizes are legal" if self.proved else f"no legal sizes were found: {self.reason}"
        first, *others = self.choices
        text = f"nearest legal: {format_sizes(first, _NONE)}"
        if len(first) < len(self.given):
            text += " (others unchanged)"
        return "; or ".join([text, *map(format_sizes, others[: _OFFERED - 1])])

    @property
    def sheet(self) -> Sheet:
        """The nearest sizes, and those of each symbol alone."""
        given = format_sizes(self.given, _NONE)
        if self.sizes is None:
            said = f"{given}: {self.line}"
        elif self.legal:
            said = f"{given}: legal"
        else:
            doubt = "" if self.proved else "; nearer ones are not ruled out"
            said = f"nearest legal to {given}: {format_sizes(self.sizes, _NONE)} (distance {self.distance}{doubt})"
        alone = [(f"{a.symbol} alone: {a.below} below, {a.above} above",) for a in self.alone]
        limit = [Line(f"  ({self.reason})")] if self.reason and self.sizes is not None else []
        return Sheet(Line(said), [Table("", alone), *limit])

    def __str__(self) -> str:
        return str(self.sheet)

    def __repr__(self) -> str:
        return f"<Nearest: {excerpt(str(self))}>"

    def _repr_html_(self) -> str:
        return self.sheet.html()

    def to_json(self, *, model: str = "") -> str:
        """As a JSON object, schema `absint.nearest/1`, about the model of that name."""
        return NEAREST.text(self, head=Head(model))


NEIGHBOURS: Final = Object[Nearest](
    *keys_of(
        Nearest,
        sizes="of all symbols together; null: there are none, or none was found",
        distance="the sum of all changes",
        proved="no legal sizes are nearer",
        alone="for each symbol, if no other changes",
        reason="the limit that was reached",
    ),
    name="nearest",
)
NEAREST: Final = Document[Nearest](
    "nearest", 1, "the nearest legal sizes", *NEIGHBOURS.keys, head=("model",), defines=False
)
