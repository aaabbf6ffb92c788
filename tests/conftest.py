"""Hypothesis profiles: the same examples in every run by default; `HYPOTHESIS_PROFILE=thorough` hunts for new ones."""

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", deadline=None, derandomize=True, suppress_health_check=_QUIET)
settings.register_profile("thorough", deadline=None, max_examples=20_000, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
