"""Hypothesis profiles: the same examples in every run by default; `HYPOTHESIS_PROFILE=long` hunts for new ones, 40
times as many, `HYPOTHESIS_PROFILE=thorough` 400 times.
"""

import gc
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The browser for the tests of pages."""

_FOLDER = Path(__file__).parents[1] / "build" / "pyodide" / "node_modules" / "pyodide"
PYODIDE = _FOLDER if _FOLDER.is_dir() and shutil.which("node") else None
"""The Python of browsers, where `.ci/run` puts it."""

QUICK_CASES = 25
"""One of so many cases of a test is quick."""
SLOW = re.compile(
    r"^tests/(crashes|differences|fuzz|jobs|mutants|solver|soundness|specification|unification)/"
    r"|/(auditing|certificates|linting|page|study|together)/|_page\.py"
    r"|test_(artifact|benchmarks|corpus|cost_runs|every_node|examples|expr_fuzz|facts|floats|fresh_processes|house|json_\w+|bad_input|classes"
    r"|limits|control_flow_limits|control_flow_proofs|nearest|node_tests|notebook|packaging|process(es)?|pyodide|random_\w+"
    r"|runs|shortest|site|strategies|theory|types|light|legality|without_runtime)\.py"
)
"""Tests that start browsers or many processes, are farms of solvers, or go through long lists: none is quick."""

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", deadline=None, max_examples=50, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile("long", deadline=None, max_examples=2_000, suppress_health_check=_QUIET)
settings.register_profile("thorough", deadline=None, max_examples=20_000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs the cases which a marker leaves out."""
    parser.addoption("--all-cases", action="store_true", help="run all cases of tests that look at a share of them")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the markers."""
    config.addinivalue_line("markers", "share(n): runs one of n cases of the test by default, all with --all-cases")
    config.addinivalue_line("markers", "quick: a look at everything in two minutes; set by tests/conftest.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the quick tests. Leave out cases of tests with the marker `share`, unless the command line names cases."""
    number: Counter[str] = Counter()
    shared: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if not SLOW.search(test) and number[test] % QUICK_CASES == 0:
            item.add_marker("quick")
        share = item.get_closest_marker("share")
        (left if share and number[test] % share.args[0] else shared).append(item)
        number[test] += 1
    if config.getoption("all_cases") or any("[" in argument for argument in config.args):
        return
    config.hook.pytest_deselected(items=left)
    items[:] = shared


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay: the collector of cycles does not look at them again and again."""
    gc.disable()
    yield
    gc.enable()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say that tests of pages, or those in Pyodide, did not run."""
    if PYODIDE is None:
        terminalreporter.write_line("the tests in Pyodide did not run: build/pyodide or node is missing")
    if CHROMIUM is None:
        terminalreporter.write_line("the tests of pages in a browser did not run: no Chromium is installed")
