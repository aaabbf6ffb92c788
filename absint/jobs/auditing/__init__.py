"""Claims about the shapes of a model, whoever makes them, held against the sound analysis and against runs.

sources   the claims of the author, of an analysis, and of other tools, each in a process of its own (peer_process)
runs      runs of the model and the shapes that they show (run_process); the graphs of a model
judging   what a source claims, judged with runs and the solver; the first node from which a false claim comes
"""

from absint.jobs.auditing.judging import Audit, Claims, Judged, judge, roots
from absint.jobs.auditing.sources import TOOLS, by_policy, by_result, declared, peer
from absint.questions.claims.claims import Judgement, Place

__all__ = [
    "TOOLS", "Audit", "Claims", "Judged", "Judgement", "Place", "by_policy", "by_result", "declared", "judge", "peer",
    "roots",
]  # fmt: skip
