"""Lint: one gate for many models, as for source code.

finding       the rules (rules.toml), findings, the report of a file, the result
model         all findings about one model: running (diagnostics), declarations, contract, weights
settings      the rules that count, by prefixes, and patterns of files: those of a project, in its pyproject.toml
lint          the models below folders, in processes or on a cluster; baselines: findings that are left out later
"""

from absint.jobs.linting.finding import FileReport, Finding, LintResult
from absint.jobs.linting.lint import lint
from absint.jobs.linting.settings import Settings, find_settings

__all__ = ["FileReport", "Finding", "LintResult", "Settings", "find_settings", "lint"]
