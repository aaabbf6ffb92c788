"""A profile: the least, best and greatest shape of every input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from absint.errors import UsageError
from absint.jobs.profiles.formats import text_for
from absint.jobs.profiles.inputs import InputProfile
from absint.lattices.text.documents import Document, Head
from absint.lattices.text.escapes import excerpt, plain
from absint.lattices.text.forms import Key, Object, keys_of, kind_of, many, maybe, one_of
from absint.lattices.text.sheets import UNBROKEN, Line, Sheet, listed
from absint.questions.sizes.outcomes import Outcome, RangeCheck


class Sizes3(NamedTuple):
    """The sizes of one symbol: the least, the one that an engine is optimised for, and the greatest."""

    min: int
    opt: int
    max: int

    def __str__(self) -> str:
        return str(self.min) if self.min == self.max else f"{self.min}..{self.opt}..{self.max}"


Box3 = Mapping[str, Sizes3]
"""Sizes of all symbols."""


@dataclass(frozen=True)
class Profile:
    """Ranges of all inputs, or the reason why there are none. False if it is refused.

    An engine takes every size between the least and the greatest, so all of them have to be legal. With `corners` the
    least, best and greatest are, and not all between.
    """

    symbols: Box3
    """The sizes of the symbols, as they were asked for; with `corners`, as they were moved to legal ones."""
    inputs: tuple[InputProfile, ...]
    """All inputs, in the order of the model; none if the profile is refused."""
    checked: RangeCheck
    """The answer about all sizes between the least and the greatest."""
    refused: str = ""
    """The reason why it is refused, in one line."""
    steps: Mapping[str, tuple[int, int]] | None = None
    """Modulus and remainder of symbols whose legal sizes are not all sizes of a range."""
    nearest: Box3 | None = None
    """If refused: sizes around the best ones of which all are proved legal, as many as were found."""
    corners: Box3 | None = None
    """If refused: the nearest sizes at which the least, best and greatest are legal."""
    warnings: tuple[str, ...] = ()
    """Sizes that an engine will accept although they are not legal, and sizes that were moved."""
    without_shape: tuple[str, ...] = ()
    """If refused: inputs of unknown rank, which an engine needs."""
    assuming: tuple[str, ...] = ()
    """The caller's assumption: only sizes that meet it are shown to be legal."""

    def __bool__(self) -> bool:
        return not self.refused

    def __str__(self) -> str:
        return str(self.sheet)

    def __repr__(self) -> str:
        return f"<Profile: {excerpt(self.refused or '; '.join(map(_input, self.inputs)))}>"

    def _repr_html_(self) -> str:
        return self.sheet.html()

    @property
    def sheet(self) -> Sheet:
        """The ranges of all inputs, or the refusal with what may be had instead."""
        if self.refused:
            rows = list(self.warnings)
            if self.nearest is not None:
                rows.append(f"nearest legal box: {spelled(self.nearest)}")
            if self.corners is not None and self.corners != self.nearest:
                rows.append(f"legal corners, with some illegal sizes between (--corners): {spelled(self.corners)}")
            return Sheet(Line(f"refused: {self.refused}", "bold red"), [listed("", rows, UNBROKEN)])
        assuming = f", assuming {' and '.join(self.assuming)}" if self.assuming else ""
        verdict = Line(f"profile for {spelled(self.symbols) or 'static inputs'}{assuming}", "bold")
        warnings = [Line(f"warning: {warning}") for warning in self.warnings]
        return Sheet(verdict, [listed("", map(_input, self.inputs), UNBROKEN), *warnings])

    def to_json(self, *, model: str = "") -> str:
        """As a JSON object, schema `absint.profile/2`, about the model of that name."""
        return PROFILE.text(self, head=Head(model, self.assuming))

    def text(self, tool: str) -> str:
        """The arguments or the code that a tool reads, ending in a line break: see `absint.jobs.profiles.formats`.

        Raises UsageError if the profile is refused, for an unknown tool, and for a name that the tool cannot read.
        """
        if self.refused:
            raise UsageError(f"the profile is refused: {self.refused}")
        return text_for(self.inputs, tool)


def spelled(box: Box3) -> str:
    """As on a command line: `batch=1..4..32, seq=128`."""
    return ", ".join(f"{plain(name)}={sizes}" for name, sizes in box.items())


def _input(found: InputProfile) -> str:
    return f"{_named(found)} {' .. '.join(dict.fromkeys(map(_corner, found.corners)))}"


def _named(found: InputProfile) -> str:
    return f"{'elements of ' if found.is_values else ''}{plain(found.name)}: {found.dtype}"


def _corner(corner: Sequence[int]) -> str:
    return f"[{', '.join(map(str, corner))}]"


_BOX: Final = kind_of(Box3)
_INPUT: Final = keys_of(InputProfile, is_values="the numbers are elements, not a shape")
_STEP: Final = Object[tuple[str, tuple[int, int]]](
    Key("symbol", str, of=lambda step: step[0]),
    Key("modulus", int, of=lambda step: step[1][0]),
    Key("remainder", int, of=lambda step: step[1][1]),
)
PROFILE: Final = Document[Profile](
    "profile",
    2,
    "proved ranges of sizes for engine builders (absint profile)",
    Key("refused", str, "why there is no profile, or empty"),
    Key("symbols", _BOX, "of every symbol the least size, the best, and the greatest"),
    Key("inputs", many(Object(*_INPUT, Key("is_dynamic", bool, "an engine needs a range for it")))),
    Key("outcome", one_of(Outcome), "of the check of all sizes between", lambda found: found.checked.outcome),
    Key("steps", many(_STEP), "symbols whose legal sizes have a remainder", lambda found: (found.steps or {}).items()),
    Key("nearest", maybe(_BOX), "if refused: a box of legal sizes; null if none was found"),
    Key("corners", maybe(_BOX), "if refused: legal corners; null if none were found"),
    Key("warnings", many(str), "sizes that an engine takes although they are not legal, and sizes that were moved"),
    head=("model", "assume"),
    defines=False,
)
