"""A profile as text."""

from __future__ import annotations

from collections.abc import Iterator

from absint.jobs.profiles.profile import Profile
from absint.show.text import Line, wrapped


def report(found: Profile, width: int) -> Iterator[Line]:
    """The ranges of all inputs, or what may be had instead."""
    for place, line in enumerate(found.lines()):
        style = "" if place else "bold" if found else "bold red"
        yield from (Line(part, style) for part in wrapped(line, width, 6))
