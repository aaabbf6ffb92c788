"""The table of rules in docs/lint.md, written from the rules.

python -m tests.pages.lint [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from absint.jobs.linting.finding import RULES
from tests.pages import settle

PAGE: Final = Path(__file__).parents[2] / "docs" / "lint.md"
BEGIN: Final = "<!-- begin rules: python -m tests.pages.lint -->\n"
END: Final = "<!-- end rules -->\n"
GROUPS: Final = {
    "ABS0": "Files and processes",
    "ABS1": "Models that cannot run",
    "ABS2": "Declarations",
    "ABS3": "The contract: what symbols of the inputs hide",
    "ABS4": "Limits of the analysis",
    "ABS5": "The form of a model",
}
"""By the first digit of a code."""


def rules() -> str:
    """The rules, a table for each group."""
    parts = []
    for prefix, heading in GROUPS.items():
        rows = [
            f"| {rule.code} | `{rule.name}` | {rule.severity.value} | {rule.summary} {rule.why} |"
            for rule in RULES.values()
            if rule.code.startswith(prefix)
        ]
        parts.append(
            "\n".join([f"### {heading}", "", "| code | name | severity | finds |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"


def page() -> str:
    """The page with the rules of now."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{rules()}\n{END}{after}"


def main(arguments: list[str]) -> int:
    """Write the page, or say if it would change."""
    return settle(PAGE, page(), check="--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
