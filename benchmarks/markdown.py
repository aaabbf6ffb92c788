"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; all columns but the first are aligned to the right if they hold figures."""
    figures = [all(row[at][:1].isdigit() or row[at] in ("", "-") for row in rows) for at in range(len(heads))]
    rule = ["---:" if is_figure and at else "---" for at, is_figure in enumerate(figures)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [list(heads), rule, *map(list, rows)])


__all__ = ["table"]
