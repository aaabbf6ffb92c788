"""The list of unification policies, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from absint.lattices.text.documents import Document
from absint.lattices.text.forms import Key, Object, many
from absint.lattices.text.sheets import Part, Table
from absint.lattices.unify import POLICIES, UnificationPolicy


def report() -> Iterator[Part]:
    """One line for each policy: its name, whether its claims hold in every run, and whose it is."""
    words = {True: "sound  ", False: "unsound"}
    yield Table("", [(policy.name, f"{words[policy.sound]}  {policy.summary}") for policy in POLICIES.values()])


_POLICY: Final = Object[UnificationPolicy](
    Key("name", str), Key("sound", bool, "its claims hold in every run"), Key("summary", str)
)
DOCUMENT: Final = Document[Iterable[UnificationPolicy]](
    "policies",
    1,
    "the unification policies (absint policies)",
    Key("policies", many(_POLICY), of=lambda policies: policies),
    head=(),
    defines=False,
)
