"""Certificates of an analysis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from absint.questions.certificates.asked import certify_query
from absint.questions.certificates.certificate import Certificate
from absint.questions.certificates.chain import Chain
from absint.questions.certificates.lemma import within
from absint.questions.certificates.proving import Proving
from absint.questions.proofs.text import read_relation
from absint.solver.backend import Backend

if TYPE_CHECKING:
    from absint.solution.analysed import Analysed


def certify(
    analysed: Analysed,
    prove: Sequence[str] = (),
    *,
    seconds: float = 10,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Certificate:
    """See `absint.Result.certify`. `progress` gets the nodes that are done, and all."""
    analysed.require_sound("a certificate")
    with Backend() as backend:
        chain = Chain(analysed, Proving(backend, seconds), progress)
        for text in prove:
            read_relation(analysed, text)  # report a mistake in the last one before the work begins
        chain.run()
        unproved = tuple(text for text in prove if not certify_query(chain, text))
    with analysed.loaded.opened() as opened:
        digest = sha256(opened.data).hexdigest()
    bounds = {symbol: within(symbol, found) for symbol, found in chain.terms.bounds.items()}
    return Certificate(
        analysed.origin,
        digest,
        tuple(chain.inputs),
        bounds,
        tuple(chain.premises),
        tuple(chain.steps),
        unproved,
        analysed.semantics,
    )
