"""The process that runs cases: `python -m tests.fuzz.worker BASES SEED FOLDER`, with at most 2 GB of memory.

It reads ranges of case numbers, one a line, and writes a line before and after each case: `> NUMBER`, `< FAILURE`.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Final

from tests.fuzz import bases, executing
from tests.fuzz.case import made

MEMORY: Final = 2 << 30


def limit_memory() -> None:
    """Limit the data of the process, whatever is mapped."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def main() -> None:
    """Run the cases that the parent asks for."""
    found = bases.read(Path(sys.argv[1]))
    seed = int(sys.argv[2])
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    executing.prepare(Path(sys.argv[3]))
    limit_memory()
    for line in sys.stdin:
        first, last = map(int, line.split())
        for number in range(first, last):
            print(f"> {number}", file=replies, flush=True)
            failure = executing.executed(made(seed, number, found))
            print(f"< {failure}", file=replies, flush=True)
        print("= done", file=replies, flush=True)


if __name__ == "__main__":
    main()
