"""`python -m absint`, and the `absint` command: an interrupt during imports prints one line too."""

from __future__ import annotations

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """Entry point of the `absint` command."""
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
