"""Write docs/differences.md: see `tests.differences`."""

from __future__ import annotations

import sys
import warnings

from tests.differences.page import PAGE, written
from tests.differences.search import search
from tests.pages import settle


def main() -> int:
    """Write the page; with --check, 1 if it is not up to date."""
    warnings.simplefilter("ignore")
    if "--search" in sys.argv[1:]:
        search()
    return settle(PAGE, written(), check="--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
