"""All mutants by name.

rules           of operators: shapes, requirements, contents
elements        what is said of elements
inputs          elements of small inputs as symbols
reading         messages of files
writing         annotated files
expressions     normal forms, relations, facts, intervals
together        analyses of values, their domains, each other
engine          control flow, summaries and their memo, rounds
solving         proofs, checks, contracts, exports, costs
counting        sizes that data decide, related; parts of sequences
comparing       two models side by side
sizing          the nearest legal sizes, samples, profiles
answering       what an answer means: the nodes that a run executes, what a query says
linting         findings of lint, their causes, the rules that count
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.mutants.catalogue import (
    answering,
    comparing,
    counting,
    elements,
    engine,
    expressions,
    inputs,
    linting,
    reading,
    rules,
    sizing,
    solving,
    together,
    writing,
)
from tests.mutants.mutant import Mutant

ALL: Final = (
    *rules.MUTANTS,
    *elements.MUTANTS,
    *inputs.MUTANTS,
    *reading.MUTANTS,
    *writing.MUTANTS,
    *expressions.MUTANTS,
    *engine.MUTANTS,
    *together.MUTANTS,
    *solving.MUTANTS,
    *counting.MUTANTS,
    *comparing.MUTANTS,
    *sizing.MUTANTS,
    *answering.MUTANTS,
    *linting.MUTANTS,
)

CATALOGUE: Final[Mapping[str, Mutant]] = {mutant.name: mutant for mutant in ALL}

__all__ = ["ALL", "CATALOGUE"]
