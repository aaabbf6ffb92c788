"""No rule raises, whatever its inputs and attributes are: `distorted` makes them odd, one at a time.

`python -m tests.transfer.test_no_rule_raises [NAME ...]` tries every distortion of every case.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random

import pytest

from tests.pages.operators import all_cases
from tests.transfer.distorted import distorted
from tests.transfer.harness import Case, apply_case

DRAWN = 16
"""Distortions of an operator that the test tries."""


@cache
def by_operator() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = defaultdict(list)
    for case in all_cases():
        found["::".join(filter(None, (case.domain, case.op)))].append(case)
    return dict(found)


def failures(cases: Iterable[Case]) -> Iterator[str]:
    """The errors that rules raise."""
    for case in cases:
        try:
            apply_case(case)
        except Exception as error:
            seen = ", ".join("-" if arg is None else str(arg.value()) for arg in case.inputs)
            yield f"{case.op}-{case.opset} of {seen[:300]} with {str(dict(case.attributes))[:300]}: {error!r}"


@pytest.mark.parametrize("domain", ["", "ai.onnx.ml", "ai.onnx.preview", "com.microsoft", "com.ms"])
def test_no_rule_raises(domain: str) -> None:
    draw = Random(0)
    for name, cases in by_operator().items():
        if (name.rpartition("::")[0] or "").startswith(domain) and (domain or "::" not in name):
            odd = list(distorted(draw.choice(cases)))
            assert not [*failures(draw.sample(odd, min(DRAWN, len(odd))))]


def main(names: list[str]) -> int:
    seen: dict[str, None] = {}
    for name, cases in by_operator().items():
        if not names or name in names:
            found = next(failures(odd for case in cases for odd in distorted(case)), None)
            if found is not None:
                seen[found] = None
                print(found, flush=True)
    print(f"{len(seen)} operators whose rules raise")
    return int(bool(seen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
