"""Replay every crash in this process, with at most 2 GB of memory: `python -m tests.crashes`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.crashes.made import EVERY, FEW, LARGE, MADE
from tests.fuzz.case import MODEL, Case
from tests.fuzz.executing import executed, prepare
from tests.fuzz.worker import limit_memory

FILES = Path(__file__).parent / "files"


def models() -> Iterator[tuple[str, bytes]]:
    """The crashes by name."""
    for name, make in MADE.items():
        yield name, make().SerializeToString()
    for path in sorted(FILES.glob("*.onnx")):
        yield path.name, path.read_bytes()


def main() -> int:
    """Replay, and print what is wrong."""
    limit_memory()
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        for name, content in models():
            for command, *options in FEW if name in LARGE else EVERY:
                start = time.monotonic()
                failure = executed(Case(0, name, content, (command, MODEL, *options)))
                took = time.monotonic() - start
                if failure or took > 20:
                    wrong += 1
                    print(f"{name}: {command}: {failure or f'took {took:.0f} s'}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
