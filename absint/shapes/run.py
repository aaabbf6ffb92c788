"""One run of the shape analysis: at given sizes, with what others found, with choices that are settled.

`run_rounds` (`refinement.py`) makes several, each of which learns from the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from absint.lattices.logic.facts import Facts
from absint.lattices.value import Value
from absint.program.limits import CHECK
from absint.program.lowered import Lowered
from absint.shapes.advice import Advice
from absint.shapes.advised import interpreter
from absint.shapes.analysis import ShapeAnalysis
from absint.shapes.refinement import solved
from absint.shapes.rounds import Learned, Round


def run(
    lowered: Lowered,
    facts: Facts,
    *,
    inputs: Mapping[int, Value] | None = None,
    advice: Advice | None = None,
    simplify: Callable[[Value], Value] | None = None,
    learned: tuple[Learned, ...] = (),
) -> Round:
    """The round under these facts. `inputs` are values for input nodes, `simplify` changes what rules give, and
    `learned` is what taught the facts. What a limit leaves out is unknown in it.
    """
    how = interpreter(lowered.program, facts, advice)
    analysis = ShapeAnalysis(lowered.program, facts, inputs=inputs, simplify=simplify, interpreter=how)
    states = solved(lowered, analysis, CHECK)
    assert states is not None
    return Round(analysis, states, learned)
