"""Effects of mutants on one small thing each: the names that witnesses are written with, and their values.

Each value is computed in a process of its own, since a fault can be planted only before its module is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from multiprocessing import get_context
from types import ModuleType
from typing import TYPE_CHECKING, Final

from tests.mutants.mutant import Mutant

if TYPE_CHECKING:
    from absint import Result
    from absint.lattices.logic.relation import Relation
    from absint.testing import Arg


def module(name: str) -> ModuleType:
    """A module by its full name."""
    return import_module(name)


def floats(*dims: int | str) -> Arg:
    """A float tensor of these dims."""
    from absint.testing import Arg

    return Arg(list(dims))


def ints(elements: object) -> Arg:
    """An int64 tensor of these elements."""
    from absint.testing import Arg

    return Arg(elements=elements, dtype=7)


def node(op: str, *inputs: Arg | None, opset: int = 20, outputs: int = 1, **attributes: object) -> str:
    """All that the rule of an operator says of one node."""
    from absint.testing import Case, apply_case
    from absint.testing.cases import hole_free

    found = apply_case(Case(op, inputs, attributes, outputs=outputs, opset=opset))
    stated = "; ".join(sorted(f"{s.role} {s.relation}" for s in found.statements))
    return hole_free(f"{found.outputs} {stated} {sorted(found.doubts)} {found.rejected}")


def relation(text: str) -> Relation:
    """A relation over dims."""
    from absint.lattices.text import parse_relation

    return parse_relation(text)


def flow(name: str) -> str:
    """All that the analysis says of a model with control flow."""
    import absint
    from tests.absint.shapes.flows import FLOWS

    return said(absint.analyze(FLOWS[name]().model))


def said(result: Result) -> str:
    """Shapes, constraints and possible failures of a result."""
    shapes = {name: str(shape) for name, shape in result.shapes.items()}
    return f"{shapes} {list(map(str, result.constraints))} {list(map(str, result.constraints.possible_failures))}"


def graph(text: str) -> Result:
    """The analysis of a model in onnx's own text form: `(float[N] x) => (float[M] y) { y = Neg(x) }`."""
    import onnx.parser

    import absint

    return absint.analyze(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> agraph {text}'))


def linted(text: str) -> str:
    """The findings of a lint about a model as for `graph`."""
    import absint

    return str(absint.lint(graph(text)))


def integers(text: str) -> str:
    """The bounds that an analysis of integers finds in a model as for `graph`, and its shapes with them."""
    import onnx.parser

    import absint
    from tests.absint.shapes.together.test_arithmetic import Integers

    analysis = Integers()
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> agraph {text}')
    result = absint.analyze(model, with_=[analysis])
    return f"{sorted(result.found_by(analysis).items())} {said(result)}"


def needed(text: str, output: str) -> str:
    """The values that an output of a model as for `graph` needs."""
    import onnx.parser

    import absint
    from tests.absint.shapes.together.needs import Needs

    analysis = Needs(output)
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> agraph {text}')
    return str(sorted(absint.analyze(model, with_=[analysis]).found_by(analysis).items()))


def doubled(levels: int) -> str:
    """The bounds behind folded calls in each other, which start from two different numbers."""
    import absint
    import absint.program.folded as folded
    from tests.absint.shapes.together.bounds import Scalars
    from tests.absint.shapes.together.test_into_shapes import doubling

    for name in ("LARGE", "LARGE_INSIDE", "ALIKE"):
        setattr(folded, name, 0)
    analysis = Scalars()
    return str(absint.analyze(doubling(levels), with_=[analysis]).found_by(analysis))


def counting() -> str:
    """The states of a loop that counts to 100."""
    from absint.engine import fixpoint
    from tests.absint.engine.test_fixpoint import loop_of

    return str(fixpoint(*loop_of(0, 100, 1)).states)


def value(witness: str) -> str:
    """The value of a witness in this process."""
    namespace: dict[str, object] = {}
    for name in LATTICES:
        namespace |= vars(module(name))
    return str(eval(witness, namespace | globals()))


LATTICES: Final = (
    "absint.lattices.terms.interval",
    "absint.lattices.terms.expr",
    "absint.lattices.terms.normal",
    "absint.lattices.logic.facts",
)
"""Modules whose names stand in witnesses."""

ERROR: Final = "error:"
"""The prefix of the value of a witness that raises an error."""


def values(witnesses: Iterable[str]) -> list[str]:
    """The values of witnesses without a fault."""
    return [value(witness) for witness in witnesses]


def mutated(mutant: Mutant) -> str:
    """The value of a mutant's witness with its fault planted; the error where there is none."""
    from tests.mutants.planting import plant

    try:
        plant(mutant)
        return value(mutant.witness)
    except Exception as error:
        return f"{ERROR} {type(error).__name__}: {error}"


PRELOADED: Final = ("networkx", "numpy", "onnx", "z3")
"""Packages of others, loaded once for all processes."""


def compared(mutants: Sequence[Mutant], jobs: int = 1) -> dict[str, tuple[str, str]]:
    """For each mutant the value of its witness without the fault, and with it."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    with context.Pool(jobs, maxtasksperchild=1) as pool:
        plain = pool.apply(values, ([mutant.witness for mutant in mutants],))
        changed = pool.map(mutated, mutants, chunksize=1)
    return {m.name: (a, b) for m, a, b in zip(mutants, plain, changed, strict=True)}
