"""Write the adversarial models, and those of tests/absint/shapes/flows, into a folder.

python -m tests.adversarial DIR
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import ModelProto

from tests.absint.shapes.flows import FLOWS
from tests.adversarial import MODELS
from tests.adversarial.case import with_output_types


class Written(NamedTuple):
    """A model to write. Its name begins with the theme."""

    name: str
    model: ModelProto
    bindings: Sequence[Mapping[str, int]]
    data: Sequence[Mapping[str, Any]]

    def record(self) -> dict[str, object]:
        """The theme, the sizes that it runs at, and the choices of data that are no random numbers."""
        fixed = [{k: np.asarray(v).tolist() for k, v in choice.items() if not callable(v)} for choice in self.data]
        return {"theme": self.name.partition("-")[0], "sizes": list(self.bindings), "data": fixed}


def everything() -> Iterator[Written]:
    """The adversarial models, then the flows."""
    for name, item in MODELS.items():
        yield Written(name, item.model, item.bindings, item.data)
    for name, build in FLOWS.items():
        flow = build()
        yield Written(f"flows-{name}", with_output_types(flow.model), flow.bindings, flow.data)


def main(arguments: Sequence[str]) -> int:
    """Write DIR/NAME.onnx for each, and DIR/sizes.json; returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m tests.adversarial DIR", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    recorded = {}
    for item in everything():
        (folder / f"{item.name}.onnx").write_bytes(item.model.SerializeToString())
        recorded[item.name] = item.record()
    (folder / "sizes.json").write_text(json.dumps(recorded, indent=1) + "\n", "utf-8")
    print(f"{len(recorded)} models in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
