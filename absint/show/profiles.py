"""A profile as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from absint.show.text import Line, wrapped

if TYPE_CHECKING:
    from absint.jobs.profiles.profile import Profile
    from absint.result import Result


def report(found: Profile, width: int) -> Iterator[Line]:
    """The ranges of all inputs, or what may be had instead."""
    for place, line in enumerate(found.lines()):
        style = "" if place else "bold" if found else "bold red"
        yield from (Line(part, style) for part in wrapped(line, width, 6))


def document(result: Result, found: Profile) -> str:
    """Schema absint.profile/2."""
    return found.to_json(model=result.origin)


__all__ = ["document", "report"]
