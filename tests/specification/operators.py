"""The operators that have a specification, with the versions at which ONNX changed them."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import onnx


@cache
def _history() -> dict[tuple[str, str], list[int]]:
    found = defaultdict(list)
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.deprecated:
            found[schema.domain, schema.name].append(schema.since_version)
    return found


def is_known(domain: str, operator: str) -> bool:
    """`onnx` has a schema of the operator."""
    return (domain, operator) in _history()


def versions(domain: str, operator: str) -> list[int]:
    """The versions of an operator, ascending; [1] for a domain that `onnx` does not know."""
    return sorted(_history().get((domain, operator), [1]))
