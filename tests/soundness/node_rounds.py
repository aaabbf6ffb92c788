"""Every operator in turn for the same time: which of them random nodes reach, and what stops the others."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.soundness.node_drafts import NodeDraft
from tests.soundness.node_runs import Verdict, examine, shortened
from tests.soundness.node_schemas import LEFT_OUT, Operator, is_drawn, ruled

FEWEST: Final = 10
"""Nodes of an operator that are examined whatever time they take."""


@dataclass
class Turn:
    """The nodes of one operator."""

    operator: Operator
    nodes: int = 0
    ran: int = 0
    """Nodes of which a run, or onnxruntime's inference, was held against the claims."""
    wrong: int = 0
    broken: int = 0
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return "::".join(filter(None, self.operator))

    @property
    def reason(self) -> str:
        """The commonest failure, of an operator that was not reached."""
        if not is_drawn(self.operator):
            return LEFT_OUT[self.operator[1]]
        return self.failures.most_common(1)[0][0] if self.failures else "no node could be made"

    def add(self, verdict: Verdict) -> None:
        self.nodes += 1
        self.ran += bool(verdict.ran or verdict.inferred)
        self.wrong += bool(verdict.wrong or verdict.premises)
        self.broken += bool(verdict.broken or verdict.ill_typed)
        self.failures.update({general(text) for text in verdict.failures})


def general(failure: str) -> str:
    """The failure without the numbers of one node."""
    return re.sub(r"-?\d+(\.\d+)?", "#", shortened(failure))[:160]


def rounds(
    chosen: Sequence[Operator],
    seconds: float,
    drafts: Callable[[Operator], Iterator[NodeDraft]],
    report: Callable[[NodeDraft, Verdict], None],
) -> Iterator[Turn]:
    """Examine nodes of each operator for so many seconds, a few of them whatever time they take."""
    for operator in chosen:
        turn = Turn(operator)
        end = time.monotonic() + seconds
        for draft in drafts(operator):
            try:
                verdict = examine(draft)
            except Exception as error:  # of the analysis
                verdict = Verdict(draft, wrong=[f"{type(error).__name__}: {error}"])
            turn.add(verdict)
            report(draft, verdict)
            if time.monotonic() > end and turn.nodes >= FEWEST:
                break
        yield turn


def summary(turns: Sequence[Turn], *, all_of_them: bool) -> str:
    """Operators that were not reached with reasons, and a last line with the counts."""
    left_out = [Turn(o) for o in sorted(ruled()) if not is_drawn(o)] if all_of_them else []
    missed = [turn for turn in (*turns, *left_out) if not turn.ran]
    lines = [f"not reached: {turn.name} ({turn.nodes} nodes): {turn.reason}" for turn in missed]
    nodes, ran = sum(turn.nodes for turn in turns), sum(turn.ran for turn in turns)
    wrong, broken = ([turn.name for turn in turns if getattr(turn, kind)] for kind in ("wrong", "broken"))
    lines += [f"{kind}: {' '.join(names)}" for kind, names in (("wrong", wrong), ("broken", broken)) if names]
    reached = len(turns) + len(left_out) - len(missed)
    counts = f"{reached} reached, {len(missed)} not reached, {len(wrong)} wrong, {len(broken)} broken"
    return "\n".join([*lines, f"{counts} ({nodes} nodes, {ran} of them compared)"])
