"""The page about a result in a notebook, in a frame."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from absint.errors import UsageError
from absint.show.page.page import page

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed

_LEAST_HEIGHT: Final = 100


class View:
    """The page about a result in a frame of its own, as a notebook shows it.

    The frame runs the scripts of the page and can reach neither the notebook nor the network.
    """

    def __init__(self, document: str, height: int) -> None:
        self.document = document
        """The page, as `Result.report` writes it."""
        self.height = height
        """Pixels."""

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="absint report" sandbox="allow-scripts" width="100%" height="{self.height:.0f}" '
            f'srcdoc="{escape(self.document)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<View: a page of {len(self.document):,} characters, which a notebook shows>"


def view(analysed: Analysed, height: int) -> View:
    """Raises UsageError for a height that shows nothing."""
    if not height >= _LEAST_HEIGHT:
        raise UsageError(f"height {height!r}: expected pixels, at least {_LEAST_HEIGHT}")
    return View(page(analysed), height)
