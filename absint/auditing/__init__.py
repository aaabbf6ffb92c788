"""Claims about the shapes of a model, whoever makes them, held against the sound analysis and against runs.

said.py        what a source says: value name -> dims
sources.py     the author's declarations, and what an analysis says; bodies.py finds all graphs of a model
peers.py       what other tools say, each in a process of its own (peer_child.py)
claims.py      what was said as relations between dims; texts.py reads the texts of dims
runs.py        runs of the model and the shapes that they show (run_child.py)
sampling.py    sizes to run it at
judging.py     proved, refuted by a run, not entailed, unproved
audit.py       the outcome
child.py       processes that may crash or hang; served.py is the other end
"""

from __future__ import annotations

from absint.auditing.audit import Audit, Judged, Judgement, Place
from absint.auditing.judging import judge
from absint.auditing.peers import TOOLS, peer
from absint.auditing.said import Said
from absint.auditing.sources import by_policy, by_result, declared

__all__ = [
    "TOOLS", "Audit", "Judged", "Judgement", "Place", "Said", "by_policy", "by_result", "declared", "judge", "peer",
]  # fmt: skip
