"""Constraint sets for the tests of exports: written by hand, drawn at random, and with names that try to break out."""

from __future__ import annotations

from hypothesis import strategies as st

from absint.lattices.logic.relation import TRUE, UNKNOWN_RELATION, Relation
from absint.lattices.text import parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, Origin, PossibleFailure, Role
from absint.solver.export.records import ROLES
from tests import reference
from tests.lattices.test_expr_fuzz import relations, trees

NODE = Origin(3, "", "qk", "MatMul", "scores")
NESTED = Origin(7, "loop1/body", "", "Reshape", "flat")
USER = Origin(-1, "", "assumption", "", "")


def constraint(
    relation: str,
    guard: str = "true",
    *,
    origin: Origin = NODE,
    role: Role = "required",
    reason: str = "inner dims agree",
) -> Constraint:
    return Constraint(parse_relation(relation), parse_relation(guard), origin, role, reason)


ATTENTION = ConstraintSet(
    [
        constraint("heads*width == 64", reason="heads divide d_model"),
        constraint("seq % 8 == 0", origin=NESTED, reason="the count is kept"),
        constraint("past + seq <= 512", origin=USER, role="assumed", reason="given"),
        constraint("0 <= _d0 <= seq", "flag", role="defined", reason="a count of elements"),
        constraint("broadcast(batch, copies) == 4 or batch == copies", "seq // copies >= 2", origin=NESTED),
        constraint("batch >= 1", role="declared", origin=Origin(-1, "", "inputs", "", "")),
    ],
    symbols=("batch", "seq", "past", "heads", "width", "copies"),
    possible_failures=[
        PossibleFailure(NESTED, parse_relation("batch >= 2"), "it divides by data"),
        PossibleFailure(NODE, UNKNOWN_RELATION, "by data"),
    ],
)

# Texts that end a line, a comment, a string, a docstring, a quoted SMT-LIB symbol, or turn the direction of writing.
HOSTILE = [
    "a\nimport os",
    "a\r\n)",
    'a"""b',
    "a'''b",
    'say "hi"',
    "back\\slash\\",
    "\\",
    "|pipe|",
    "; (exit)",
    "# no comment",
    "${}`{x}%s",
    "\u202e gnol \u2066",
    "\u2028line\u2029",
    "\ud800",
    "\x00",
    "ſize",
    "größe",
    "12",
    "",
    "class",
    "sizes",
    "lambda: 0",
    "c0",
    "size_0",
    "__import__('os')",
]


def hostile_set() -> ConstraintSet:
    """Every hostile text as the name of a symbol, a path, a node, an operator, an output and a reason."""
    quoted = ["`" + "".join(f"\\U{ord(c):08x}" for c in text) + "`" for text in HOSTILE]
    return ConstraintSet(
        (
            constraint(f"{name} % 2 == 0", f"{name} >= 4", origin=Origin(i, text, text, text, text), reason=text)
            for i, (name, text) in enumerate(zip(quoted, HOSTILE, strict=True))
        ),
        symbols=HOSTILE,
        possible_failures=[
            PossibleFailure(Origin(i, text, text, text, text), TRUE, text) for i, text in enumerate(HOSTILE)
        ],
    )


texts = st.text(max_size=6) | st.sampled_from(HOSTILE)
origins = st.builds(Origin, st.integers(-1, 99), texts, texts, texts, texts)


def _built(drawn: st.SearchStrategy[reference.Tree]) -> st.SearchStrategy[Relation]:
    return drawn.map(reference.build_relation)


formulas = _built(relations(trees))
"""Relations over N, M, K (sizes), I, J (integers), F, G (conditions), divisions among them; or UNKNOWN_RELATION."""

constraints = st.builds(Constraint, formulas, st.just(TRUE) | formulas, origins, st.sampled_from(ROLES), texts)
sets = st.builds(
    lambda found, inputs, possible_failures: ConstraintSet(
        found, symbols=tuple(inputs), possible_failures=possible_failures
    ),
    st.lists(constraints, max_size=5),
    st.permutations("NMKIJFG").flatmap(lambda names: st.integers(0, 7).map(lambda count: names[:count])),
    st.lists(st.builds(PossibleFailure, origins, formulas, texts), max_size=2),
)
