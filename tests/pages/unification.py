"""docs/unification.md: rules about symbolic dims, judged by Z3 and shown by runs.

python -m tests.pages.unification [--check] [--study RESULTS.json] [--command TEXT]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.pages import settle
from tests.unification.page import PAGE, page, read_study, study_part

COMMAND = "absint study DIR --format json > RESULTS.json"


def main(arguments: Sequence[str]) -> int:
    """Write the page; with --check, 1 if it would change. The study's part stays as it is unless results are given."""
    parser = argparse.ArgumentParser(prog="python -m tests.pages.unification", description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page would change")
    parser.add_argument(
        "--study", type=Path, metavar="RESULTS.json", help="results of `absint study` for the last table"
    )
    parser.add_argument(
        "--command", default=COMMAND, metavar="TEXT", help="the command that made them, as the page tells it"
    )
    options = parser.parse_args(arguments)
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    try:
        study = read_study(options.study, options.command) if options.study else study_part(old)
    except (OSError, ValueError) as error:
        print(f"{options.study}: {error}", file=sys.stderr)
        return 2
    return settle(PAGE, page(study), check=options.check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
