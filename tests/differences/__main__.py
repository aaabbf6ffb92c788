"""Write docs/differences.md: see `tests.differences`."""

from __future__ import annotations

import sys
import warnings

from tests.differences.page import PAGE, written
from tests.differences.search import search


def main() -> int:
    """Write the page; with --check, 1 if it is not up to date."""
    warnings.simplefilter("ignore")
    if "--search" in sys.argv[1:]:
        search()
    text = written()
    if "--check" in sys.argv[1:]:
        old = PAGE.read_text("utf-8").splitlines()
        changed = [line for line in text.splitlines() if line not in old]
        print("\n".join(changed))
        return int(bool(changed))
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
