"""The legality of a node that has run, under the semantics of an analysis.

It is no more than what the obligations of a rule assume (`absint.research.obligations.making`): limits that onnxruntime
may not mind are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from absint.research.specification.node import Node
from absint.transfer.semantics import DOCUMENTED, EITHER, ONNX, Semantics


def documented(domain: str, semantics: Semantics) -> bool | None:
    """The sizes that runs have are those of the documents, or of onnxruntime; None: a lemma may take what both give."""
    if domain not in DOCUMENTED:
        return False
    return None if semantics == EITHER else semantics == ONNX


def legality(node: Node, domain: str, semantics: Semantics) -> Iterator[tuple[str, str]]:
    """The formulas that hold in each run of the node, with reasons, once a specification has read it.

    By the documents alone: their conditions, and no limit of onnxruntime. In onnxruntime: also what it runs besides is
    legal, and the limits that are certain hold. By either: what one of them runs is legal, and of the limits those hold
    that rules require. Limits of operators that ONNX does not document are about crashes, and never assumed.
    """
    if documented(domain, semantics):
        yield from ((clause.strict.smtlib(), clause.reason) for clause in node.legal)
        return
    limits = [limit for limit in node.limited if limit.is_certain and domain in DOCUMENTED]
    if semantics == EITHER:
        limits = [limit for limit in limits if limit.strict is limit.formula]
    yield from ((clause.formula.smtlib(), clause.reason) for clause in (*node.legal, *limits))
