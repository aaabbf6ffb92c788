"""A pytest plugin for oracles: rule cases are held against runs alone, and a failing example is not made smaller.

The shape and contents that a case expects are demands on precision. Without them only the soundness oracle is left.
"""

from __future__ import annotations

from hypothesis import Phase, settings

from absint.testing import Case


def pytest_configure() -> None:
    Case.check_expected = lambda self, applied: None
    settings.register_profile("oracle", settings.default, phases=[Phase.explicit, Phase.generate], database=None)
    settings.load_profile("oracle")
