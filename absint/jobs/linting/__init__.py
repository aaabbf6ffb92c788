"""Lint: one gate for many models, as for source code.

codes         the rules as data
finding       findings, the report of a file, the result
model         all findings about one model: running (diagnostics), declarations, contract, weights
selection     the rules that count, by prefixes; patterns: files, as in a .gitignore
settings      those of a project, in its pyproject.toml
files         the models below folders
tasks         the work of one model, in a process of its own
lint          many models, in processes or on a cluster
baseline      the findings of a day, which are left out later
"""

from absint.jobs.linting.finding import FileReport, Finding, LintResult
from absint.jobs.linting.lint import lint
from absint.jobs.linting.settings import Settings, find_settings

__all__ = ["FileReport", "Finding", "LintResult", "Settings", "find_settings", "lint"]
