"""One query and its verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from onnx import ModelProto

Expected = Literal["proved", "refuted", "not entailed", "unknown", "contradiction"]


@dataclass(frozen=True)
class Row:
    """A query about a model, and the verdict that it must get."""

    model: Callable[[], ModelProto] | str
    """The builder of the model, or its name in the corpus."""
    query: str
    verdict: Expected
    given: Literal["run", "inputs", "declared"] = "run"
    assume: Sequence[str] = ()
    confirm: bool = False
    where: Sequence[str] = ()
    """The condition on the runs that the row is about, if it rests on the author's declarations."""
    note: str = ""
    """Why, where it is not plain."""

    @property
    def name(self) -> str:
        """For the test's id."""
        model = self.model if isinstance(self.model, str) else self.model.__name__
        rest = f" given {self.given}" if self.given != "run" else ""
        rest += f" assuming {', '.join(self.assume)}" if self.assume else ""
        return f"{model}: {self.query}{rest}{' confirmed' if self.confirm else ''}"
