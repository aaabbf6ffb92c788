"""A plugin of pytest (`-p absint.pytest_plugin`): with `--absint-lint` each `*.onnx` file that it collects is a test.

It fails if the file has a finding from the severity on that the project sets. Nothing of absint is loaded before.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

OPTION = "--absint-lint"


class LintError(Exception):
    """A model has findings; the message lists them."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that turns the plugin on."""
    group = parser.getgroup("absint", "shapes of ONNX models")
    group.addoption(OPTION, action="store_true", help="check each .onnx file as absint lint does")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A model is a test, if the option is given."""
    if file_path.suffix.lower() == ".onnx" and parent.config.getoption(OPTION):
        found: pytest.Collector = ModelFile.from_parent(parent, path=file_path)
        return found
    return None


class ModelFile(pytest.File):
    """A file of a model, with one test."""

    def collect(self) -> Iterable[pytest.Item]:
        """The test."""
        return [ModelItem.from_parent(self, name="absint-lint")]


class ModelItem(pytest.Item):
    """The test of one model: `absint lint` finds nothing."""

    def runtest(self) -> None:
        """Check the model in the process that all models share. Raises LintError."""
        from absint.jobs.linting import find_settings
        from absint.jobs.linting.lint import lint_file

        settings = find_settings(self.config.rootpath)
        report = lint_file(str(self.path), settings)
        if report.failed(settings.fail_on):
            raise LintError(str(report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """The findings, without a traceback."""
        if isinstance(excinfo.value, LintError):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Path, int, str]:
        """The headline of a failure."""
        return self.path, 0, f"absint lint {self.path.name}"
