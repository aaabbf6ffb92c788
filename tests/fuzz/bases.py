"""The models to mutate: small ones, so that a case takes milliseconds."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 12_000
_EXAMPLES: Final = Path(__file__).parents[2] / "examples"


def made() -> list[bytes]:
    """The models, in an order that does not change."""
    from tests.adversarial import MODELS
    from tests.soundness.models import node_tests

    models = [case.model.SerializeToString() for case in MODELS.values()]
    models += [test.model.SerializeToString() for test in node_tests().values()]
    models = [model for model in models if len(model) <= MAX_BYTES]
    return [*models, *(path.read_bytes() for path in sorted(_EXAMPLES.glob("*.onnx")))]


def write(path: Path) -> None:
    """Keep them in a file for the workers."""
    path.write_bytes(pickle.dumps(made()))


def read(path: Path) -> list[bytes]:
    """The files that `write` has written."""
    found: list[bytes] = pickle.loads(path.read_bytes())
    return found
