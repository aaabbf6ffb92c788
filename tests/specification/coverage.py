"""Which attributes of ai.onnx's schemas the instances of specifications set: `python -m tests.specification.coverage`.

Prints each attribute that fewer than two instances set, and exits with 1 if one is not listed here with its reason.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import onnx

from absint.research.specification.specs import specification, specified
from tests.specification.operators import versions

Place = tuple[str, str]
"""Operator and attribute."""

LEAST: Final = 2
"""Instances that set an attribute."""

NOT_SPECIFIED: Final = "the operator has no specification"

LEFT_OUT: Final[Mapping[Place, str]] = {
    ("Constant", "sparse_value"): "specifications are about dense tensors",
    ("Optional", "type"): "an attribute of an instance is a number, a text, a list or a tensor",
}
"""Attributes that no instance sets, and why."""


def attributes() -> list[Place]:
    """The attributes of the newest schemas of ai.onnx."""
    schemas = [s for s in onnx.defs.get_all_schemas() if not s.domain and not s.deprecated]
    return sorted((schema.name, name) for schema in schemas for name in schema.attributes)


def instances() -> Mapping[Place, int]:
    """How many instances set each attribute."""
    found: dict[Place, set[str]] = defaultdict(set)
    for operator in (name for domain, name in specified() if not domain):
        for version in versions("", operator):
            spec = specification("", operator, version)
            for instance in () if spec is None else spec.instances(operator, version):
                for name in instance.attributes:
                    found[operator, name].add(repr(instance))
    return {place: len(texts) for place, texts in found.items()}


def uncovered(places: Iterable[Place], counts: Mapping[Place, int]) -> dict[Place, str]:
    """The attributes that fewer than two instances set; for each the reason, empty if there is none."""
    known = {name for domain, name in specified() if not domain}
    return {
        place: LEFT_OUT.get(place, "" if place[0] in known else NOT_SPECIFIED)
        for place in places
        if counts.get(place, 0) < LEAST
    }


def main() -> int:
    every = attributes()
    found = uncovered(every, instances())
    for (operator, name), reason in found.items():
        print(f"{operator}.{name}: {reason or 'NOT COVERED'}")
    print(f"{len(every)} attributes, {len(every) - len(found)} set by {LEAST} instances or more")
    return int(not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())
