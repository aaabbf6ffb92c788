"""The sections, in the order of the page."""

from typing import Final

from tests.unification.arithmetic import ARITHMETIC
from tests.unification.broadcasting import BROADCASTING
from tests.unification.corners import CORNERS
from tests.unification.operators import OPERATORS
from tests.unification.propagation import PROPAGATION
from tests.unification.questions import QUESTIONS
from tests.unification.unifying import MERGED, NEEDED

SECTIONS: Final = (NEEDED, MERGED, BROADCASTING, OPERATORS, PROPAGATION, ARITHMETIC, CORNERS, QUESTIONS)
ROWS: Final = tuple(row for section in SECTIONS for row in section.rows)
