"""The explanation of a size; it prints itself as text and as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from absint.lattices.text.escapes import excerpt
from absint.lattices.text.naming import Where
from absint.lattices.text.sheets import block, lines
from absint.questions.explain.derived import Derived
from absint.questions.explain.document import EXPLANATION
from absint.questions.explain.text import text


@dataclass(frozen=True)
class Explanation(Derived):
    """The derivation of one number or of all of a value. `str()` folds what passes through unchanged."""

    def to_json(self) -> str:
        """Every step, nothing folded or cut. The form is `absint.explain/2`; dims are numbers or texts."""
        return EXPLANATION.text(self, Where(self.naming))

    def __str__(self) -> str:
        return "\n".join(text(self))

    def __repr__(self) -> str:
        place = f"{self.path}/{self.value}" if self.path else self.value
        return f"<Explanation of {excerpt(place)}: {len(self.steps):,} steps>"

    def _repr_html_(self) -> str:
        first, *rest = text(self)
        return block(first, lines("derivation", "\n".join(rest)) if rest else "")
