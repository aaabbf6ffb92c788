"""Where a line that is too long is broken: outside of parentheses first, then between clauses before factors."""

from __future__ import annotations

import re
from typing import Final

_SIGN: Final = r"[-+*/%<>=!]"
_KINDS: Final = (
    r"\s\s", r";\s", r",\s", r"\s(?:or|and)\s", rf"(?<!{_SIGN})\s(?!{_SIGN})", r"\s[+-]\s",
    rf"(?:{_SIGN}|[<>=!]=|//)\s", r"\s", r"\*",
)  # fmt: skip
"""What ends a part, the best first: of columns, lists, a clause, a word, a summand, a side; before a sign; a factor."""
_BEFORE_A_SIGN: Final = 8
_END: Final = re.compile("|".join(f"({kind})" for kind in _KINDS))


def break_at(text: str, begin: int, width: int) -> int:
    """Where a line ends that has text after `begin`: within `width`, in the right half if possible; 0 for nowhere."""
    best, found = (True, 0, 0), 0
    depth, last, middle = 0, begin, max(begin, width // 2)
    for item in _END.finditer(text, begin + 1, width + 1):
        depth += sum((sign == "(") - (sign == ")") for sign in text[last : item.start()])
        last = item.start()
        end = item.end() - item.group()[-1].isspace()
        if end <= width and begin < end:
            kind = item.lastindex or 0
            rank = (end <= middle or kind == _BEFORE_A_SIGN, depth, kind)
            if not found or rank <= best:
                best, found = rank, end
    return found
