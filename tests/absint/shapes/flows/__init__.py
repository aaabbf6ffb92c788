"""Small models with control flow, each with sizes to run it at, and the answer where the truth has a closed form.

`build` is what they are made with; `branches`, `trips`, `carried`, `nested`, `calls`, ... hold them by subject.
"""

from tests.absint.shapes.flows import branches, calls, carried, counted, nested, recurrences, sequences, stacked, trips
from tests.absint.shapes.flows.build import FLOWS

__all__ = ["FLOWS", "branches", "calls", "carried", "counted", "nested", "recurrences", "sequences", "stacked", "trips"]
