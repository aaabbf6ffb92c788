"""`python -m absint`, and the `absint` command: an interrupt during imports prints one line too."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import NoReturn

INTERRUPTED = 130

ALLOCATED_BETWEEN_COLLECTIONS = 100_000
"""Objects that modules and results are made of live to the end of the process; at Python's own threshold the collector
walks over them a hundred times.
"""


def main() -> NoReturn:
    """Entry point of the `absint` command."""
    gc.set_threshold(ALLOCATED_BETWEEN_COLLECTIONS)
    atexit.register(gc.freeze)  # at the end the interpreter would walk over all objects once more
    try:
        from absint.cli import run

        code = run()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("absint: interrupted", file=sys.stderr)
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    main()
