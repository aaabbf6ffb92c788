"""Faults in what is said of elements of small inputs."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

FILE: Final = "pytest tests/absint/shapes/test_input_elements.py"
SIZES: Final = f"{FILE}::test_runs_have_the_sizes_that_are_claimed"
RESHAPE: Final = "graph('(float[N, M] x, int64[2] to) => (float[A, B] y) { y = Reshape(x, to) }')"
TOPK: Final = (
    "graph('(float[N] x, float[2] w, int64[1] k) => (float[A] y) { o = Constant<value_ints = [1]>() a, b = TopK(x, o) "
    "y, i = TopK(x, k) c = ConstantOfShape(k) z = Add(c, w) }')"
)
RANGE: Final = (
    "graph('(int64 limit) => (int64[A] y) { z = Constant<value_int = 0>() o = Constant<value_int = 1>() "
    "y = Range(z, limit, o) }')"
)

MUTANTS: Final[tuple[Mutant, ...]] = (
    mutant(
        "input-elements-are-natural",
        "an integer of an input is never negative",
        "absint.shapes.inputs",
        "lo, hi = _RANGES[value.dtype]",
        "lo, hi = 0, _RANGES[value.dtype][1]",
        f"str({RANGE}.shapes['y'])",
        f"{FILE}::test_runs_have_the_sizes_that_are_claimed[range]",
        f"{SIZES}[loop]",
    ),
    mutant(
        "input-elements-in-reverse",
        "the elements of a vector have the names of others",
        "absint.shapes.inputs",
        "else e.expr for e in found]",
        "else e.expr for e in found[::-1]]",
        "str(graph('(int64[2] s) => (float[A, B] y) { y = ConstantOfShape(s) }').shapes['y'])",
        f"{SIZES}[constant]",
    ),
    mutant(
        "input-element-of-the-name-of-a-dim",
        "an element has the name of a size",
        "absint.shapes.inputs",
        "while text in used:",
        "while False:",
        "list(graph('(float[k] x, int64 k) => (float[A] y) { y = Relu(x) }').parameters)",
        f"{FILE}::test_a_name_that_a_dim_has_gets_an_underscore",
    ),
    mutant(
        "clauses-over-sizes-rest-on-elements",
        "a clause over sizes is left out because one over an element entails it",
        "absint.solver.contracts.contract",
        "relations, possible = shortened(over_sizes, given, base.symbols, prover)",
        "relations, possible = shortened({**over_sizes, **over_elements}, given, parameters, prover)",
        f"[str(c.relation) for c in {TOPK}.contract().clauses]",
        f"{FILE}::test_clauses_over_sizes_rest_on_no_clause_over_elements",
    ),
    mutant(
        "runs-with-other-elements",
        "a run at a counterexample has other elements",
        "absint.runs.run",
        "if name in binding:",
        "if name in ():",
        "module('absint.runs.run').feeds_for(graph('(int64[2] s) => (float[A, B] y) { y = ConstantOfShape(s) }'), "
        "{'s_0': 7, 's_1': 9}, seed=0)['s'].tolist()",
        f"{FILE}::test_the_arrays_of_a_run_have_the_elements",
    ),
    mutant(
        "chosen-target-counts-itself",
        "the size that a -1 stands for is a quotient by itself, too",
        "absint.transfer.reshape",
        "for at, other in enumerate(others) if at != axis)",
        "for at, other in enumerate(others))",
        f"str({RESHAPE}.shapes['y'])",
        f"{SIZES}[reshape]",
    ),
    mutant(
        "two-minus-ones-are-chosen",
        "a target whose elements are both -1 is legal",
        "absint.transfer.reshape",
        "needs += [(~(inferred & eq(e, -1)), _SINGLE) for e in target[axis + 1 :]]",
        "needs += []",
        f"{RESHAPE}.contract().allows({{'N': 1, 'M': 1, 'to_0': -1, 'to_1': -1}})",
        f"{SIZES}[reshape]",
    ),
    mutant(
        "files-say-elements-are-sizes",
        "a dim of a file reads as another one where elements are taken for sizes",
        "absint.jobs.copies.type_writer",
        "if isinstance(read, Expr) and substitute(read, mapping) is dim else",
        "if isinstance(read, Expr) else",
        f"str({RANGE}.annotate(outputs=True).graph.output[0])",
        f"{FILE}::test_dims_in_a_file",
    ),
)
