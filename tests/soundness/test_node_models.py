"""No claim about a node model of the `onnx` package is contradicted by a run."""

import os

import pytest

from absint.transfer.families import shipped
from tests.soundness import limits
from tests.soundness.harness import examine, missing_rules
from tests.soundness.models import node_tests

THOROUGH = bool(os.environ.get("SOUNDNESS_THOROUGH"))


def ruled() -> list[str]:
    """The node tests whose operators all have a rule."""
    return [
        name
        for name, test in node_tests().items()
        if not missing_rules(test, shipped()) and not limits.is_untrusted(name)
    ]


@pytest.mark.share(8)
@pytest.mark.parametrize("name", ruled())
def test_claims_hold_in_every_run(name: str) -> None:
    report = examine(node_tests()[name], count=60 if THOROUGH else 5, thorough=THOROUGH)
    assert not report.wrong, "\n".join(report.wrong[:5])
    assert not report.incomplete, "\n".join(report.incomplete[:5])
