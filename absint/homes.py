"""The modules that answer for a `Result`, each imported when something of it is first used.

So an analysis loads no proofs, no copies and no costs. Type checkers read the block of imports, the interpreter the
table; a test holds the two against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from absint.packages import homes_of, lazily

if TYPE_CHECKING:
    from absint.analyses import advising, devices, exchange, liveness
    from absint.analyses.ranges import analysis
    from absint.jobs.auditing import sources
    from absint.jobs.copies import annotate, dialects, saving
    from absint.jobs.dynamizing import dynamize
    from absint.jobs.freezing import dynamic, freeze, sizes
    from absint.jobs.profiles import making, profile
    from absint.jobs.simplifying import simplify
    from absint.model import writing
    from absint.program import lowering_control
    from absint.questions.certificates import certificate, single
    from absint.questions.claims import judging, proving, trust
    from absint.questions.costs import cost, memory
    from absint.questions.explain import explanation, fresh, question
    from absint.questions.proofs import equivalence, evidence, proof, proofs, requirements, smt_refinement
    from absint.questions.rows import answer
    from absint.questions.sizes import boxes, checking, contracts, nearest
    from absint.runs import comparison, run
    from absint.shapes import input_shapes
    from absint.shapes.counts import relations
    from absint.show import text
    from absint.show.page import page
    from absint.solution import constraints, loading, naming, verify
    from absint.solver import backend

HOMES = homes_of("""
absint.analyses: advising devices exchange liveness
absint.analyses.ranges: analysis
absint.jobs.auditing: sources
absint.jobs.copies: annotate dialects saving
absint.jobs.dynamizing: dynamize
absint.jobs.freezing: dynamic freeze sizes
absint.jobs.profiles: making profile
absint.jobs.simplifying: simplify
absint.model: writing
absint.program: lowering_control
absint.questions.certificates: certificate single
absint.questions.claims: judging proving trust
absint.questions.costs: cost memory
absint.questions.explain: explanation fresh question
absint.questions.proofs: equivalence evidence proof proofs requirements smt_refinement
absint.questions.rows: answer
absint.questions.sizes: boxes checking contracts nearest
absint.runs: comparison run
absint.shapes: input_shapes
absint.shapes.counts: relations
absint.show: text
absint.show.page: page
absint.solution: constraints loading naming verify
absint.solver: backend
""")

__getattr__ = lazily(globals(), HOMES)
