"""Claims about the shapes of a model, whoever makes them, held against the sound analysis and against runs.

audit     what a source claims, and the outcome
sources   the claims of the author and of an analysis; bodies finds all graphs of a model
peers     the claims of other tools, each in a process of its own (peer_process)
claims    claims about the values that the analysis knows
runs      runs of the model and the shapes that they show (run_process)
roots     the first node from which a false claim comes
judging   the claims judged, with runs and the solver
"""

from __future__ import annotations

from absint.jobs.auditing.audit import Audit, Claims, Judged
from absint.jobs.auditing.judging import judge
from absint.jobs.auditing.peers import TOOLS, peer
from absint.jobs.auditing.roots import roots
from absint.jobs.auditing.sources import by_policy, by_result, declared
from absint.questions.claims.claims import Judgement, Place

__all__ = [
    "TOOLS", "Audit", "Claims", "Judged", "Judgement", "Place", "by_policy", "by_result", "declared", "judge", "peer",
    "roots",
]  # fmt: skip
