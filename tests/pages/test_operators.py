"""docs/operators.md is what its generator writes."""

from __future__ import annotations

import re

import pytest

import absint
from absint.transfer.families import shipped
from tests.pages import differences
from tests.pages.operators import PAGE, evidence, general, observed, operators, page


@pytest.mark.filterwarnings("ignore")
def test_the_page_is_up_to_date() -> None:
    old, new = PAGE.read_text("utf-8"), page(observed())
    versions = re.compile("with onnx .*")
    if versions.findall(old) == versions.findall(new):
        assert not differences(old, new), "run python -m tests.pages.operators"
    assert [line.split("|")[1] for line in old.splitlines() if line.startswith("| `")] == [
        f" `{name}` " for _, name in operators()
    ]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("dims of axis -1 must broadcast", "dims of axis n must broadcast"),
        ("the last dim is 4, found N and 3", "the last dim is n"),
        ("X must have rank 2, found shape [N, 3]", "X must have rank n"),
        ("the window must fit spatial axis 0", "the window must fit spatial axis n"),
    ],
)
def test_reasons_are_general(reason: str, text: str) -> None:
    assert general(reason) == text


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (("", "Conv"), "proved"),
        (("", "GroupNormalization"), "proved 21; tested 18"),
        (("", "NonZero"), "tested"),
        (("", "Loop"), "tested"),
        (("com.microsoft", "BiasAdd"), "assumed"),
        (("com.microsoft", "WhisperBeamSearch"), "assumed"),
        (("com.microsoft", "ComplexMul"), "proved"),
    ],
)
def test_what_a_rule_rests_on(operator: tuple[str, str], text: str) -> None:
    assert evidence(operator) == text


def test_every_rule_says_in_words_what_it_gives() -> None:
    assert not [str(rule) for rule in shipped() if not rule.summary]
    assert absint.rule.__doc__ is not None
    assert absint.rule.__doc__.startswith("Make the decorated function the rule")
