"""An analysis that can run together with others: the type of what `absint.analyze` takes with a model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from absint.analyses.frame import Frame
from absint.analyses.rows import RowAnalysis


class Participant(RowAnalysis):
    """An analysis of values that a solver runs over one program after another."""

    @abstractmethod
    def enter(self, frame: Frame | None) -> Frame | None:
        """Run over the program of this frame from now on; the frame that it ran over before."""

    def names_given(self) -> Collection[str]:
        """The names of inputs, initialisers and constants of which something is taken for granted."""
        return ()
