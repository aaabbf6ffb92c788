"""The truth of a query in one run, read as Python over the shapes of the run, without absint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any

Shape = tuple[int, ...]


def is_true(query: str, sizes: Mapping[str, int], shapes: Mapping[str, Shape]) -> bool:
    """The truth of the query at these sizes of the symbols and shapes of the values.

    Raises KeyError for a value of which the run shows no shape.
    """
    premise, arrow, conclusion = query.partition(" -> ")
    if arrow:
        return not is_true(premise, sizes, shapes) or is_true(conclusion, sizes, shapes)
    values: list[Shape] = []
    text = query
    for name in sorted((n for n in shapes if n in query), key=len, reverse=True):
        found = re.compile(rf"(?<![\w/.:`]){re.escape(name)}(?=\[|\))|`{re.escape(name)}`")
        if found.search(text):
            text = found.sub(f"_values({len(values)})", text)
            values.append(shapes[name])
    known: dict[str, Any] = {"shape": list, "size": prod, "rank": len, "_values": values.__getitem__}
    known["__builtins__"] = {"max": max, "min": min}
    try:
        return bool(eval(text, {**known, **sizes}))
    except NameError as error:
        raise KeyError(str(error)) from None
