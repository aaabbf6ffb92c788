"""The sizes that findings name are right: against the contract, and against runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

import absint
from absint.jobs.linting.finding import Finding
from absint.jobs.linting.model import findings
from absint.result import Result
from absint.runs.run import RunError, feeds_for, run
from tests.absint.jobs.auditing.models import model
from tests.absint.jobs.linting.models import PAIRS
from tests.real_models import FOLDERS

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 16, 23, 32, 63, 64, 65, 67, 128, 400, 512)
OTHERS = (1, 64, 224)


def symbol(item: Finding) -> str:
    (name,) = re.findall(r"^symbol '(.*)' \(.*\)$", item.where)
    return str(name)


def allows(item: Finding, sizes: Mapping[str, int]) -> bool:
    """The finding allows these sizes, none of which is 0."""
    size = sizes[symbol(item)]
    if found := re.match(r"only sizes? ([0-9]+) is legal", item.message):
        return size == int(found[1])
    if found := re.match(r"only the sizes ([0-9, ]+) are legal", item.message):
        return size in map(int, found[1].split(", "))
    if found := re.match(r"only multiples of ([0-9]+) are legal", item.message):
        return size % int(found[1]) == 0
    if found := re.match(r"only sizes with remainder ([0-9]+) modulo ([0-9]+) are legal", item.message):
        return size % int(found[2]) == int(found[1])
    if found := re.match(r"only sizes up to ([0-9]+) are legal", item.message):
        return size <= int(found[1])
    if found := re.match(r"only sizes from ([0-9]+) (?:to ([0-9]+)|on) are legal", item.message):
        return int(found[1]) <= size <= int(found[2] or 1 << 31)
    found = re.match(r"only a size equal to (.*?) is legal", item.message)
    assert found is not None, item.message
    return size == int(absint.parse(found[1]).evaluate(sizes))  # type: ignore[union-attr]


def points(result: Result) -> Iterator[dict[str, int]]:
    """Sizes of all symbols: each through many, the others through a few."""
    for name in result.symbols:
        rest = [other for other in result.symbols if other != name]
        for size in SIZES:
            for sizes in list(product(OTHERS, repeat=len(rest)))[:9]:
                yield {**dict(zip(rest, sizes, strict=True)), name: size}


OF_ONE_SYMBOL = tuple(f"ABS30{number}" for number in range(1, 7))


def told(result: Result) -> list[Finding]:
    return [item for item in findings(result) if item.code in OF_ONE_SYMBOL]


def exclude(result: Result) -> int:
    """The number of sizes that findings exclude; the contract excludes all of them."""
    items, contract, count = told(result), result.contract(), 0
    for sizes in points(result):
        wrong = [item for item in items if not allows(item, sizes)]
        assert not (wrong and contract.allows(sizes)), (sizes, wrong)
        count += bool(wrong)
    return count


MODELS = sorted(path for folder in FOLDERS for path in folder.glob("*.onnx"))


@pytest.mark.share(5)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.name)
def test_the_contract_excludes_what_findings_exclude(path: Path) -> None:
    result = absint.analyze(path)
    assert bool(exclude(result)) == bool(told(result))


TEXTS = [pair.bad for code, pairs in PAIRS.items() if code in OF_ONE_SYMBOL for pair in pairs]


@pytest.mark.parametrize("text", TEXTS)
def test_runs_fail_where_findings_exclude_sizes(text: str) -> None:
    """And some sizes run, where they do not."""
    result = absint.analyze(model(text))
    items = told(result)
    assert items
    ran = 0
    for sizes in points(result):
        if sum(sizes.values()) > 600:
            continue
        try:
            run(result, feeds_for(result, sizes, seed=0))
        except RunError:
            continue
        ran += 1
        assert all(allows(item, sizes) for item in items), sizes
    assert ran
