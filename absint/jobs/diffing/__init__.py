"""Two models side by side: what a caller of the first finds other in the second.

comparison      `absint.diff` and its answer, `Diff`; findings are what is in it, answers its parts
pairing         inputs and outputs in pairs, and forms of values
correspondence  symbols of one model over those of the other, read off the axes of inputs
clock           the time that a comparison has
grounds         what holds of the sizes in question, and the prover that knows it
legality        does each requirement of one model follow from those of the other?
outputs         names, types and sizes of inputs and outputs
numbering       values of both models under common numbers: the same computation
witness         runs of both models on the same inputs
figures         costs, peak memory, coverage
surroundings    opsets, operators, diagnostics
inner           computed values of one name
text, document  a comparison as text and as JSON
html            as tables for a notebook and as a page
"""

from __future__ import annotations

from absint.jobs.diffing.comparison import Diff, diff

__all__ = ["Diff", "diff"]
