"""Rows: does row i of a value depend on row i of the inputs alone?

claims     the domain: three runs that are compared, and what is claimed of a value in them
analysis   the analysis; branches and loops
seen       what a rule sees of a node, and the argument that most rules make
table      the rule of each operator; products of matrices, sequences of tensors
layout     operators that move elements
indexing   operators that pick or place by index, with numbers of rows
axes       elementwise operators, reductions, norms: they work along some axes
"""

from absint.analyses.independence.analysis import Independence
from absint.analyses.independence.claims import CLAIMS, COUNTED, SHARED, Along, Claims, closed, strongest, text_of

__all__ = ["CLAIMS", "COUNTED", "SHARED", "Along", "Claims", "Independence", "closed", "strongest", "text_of"]
