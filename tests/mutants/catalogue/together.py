"""Faults in analyses of values: their domains, branches and loops, each other, and what flows backward."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant, mutant

RANDOM: Final = "pytest tests/absint/shapes/together/test_random_programs.py"
ARITHMETIC: Final = "pytest tests/absint/shapes/together/test_arithmetic.py::test_arithmetic_of_each_type"
CONDITIONS: Final = "pytest tests/absint/shapes/together/test_arithmetic.py::test_conditions_and_loops"
DOMAINS: Final = "pytest tests/lattices/test_domains.py"
NUMBERS: Final = "pytest tests/lattices/test_domain_arithmetic.py"
FLOATS: Final = f"{NUMBERS}::test_conditions_of_floats"

CHOICE: Final = """(int64 x, bool c) => (int64 y) {
    three = Constant<value = int64 {3}>()  five = Constant<value = int64 {5}>()
    y = If (c) <then_branch = t () => (int64 p) { p = Identity(three) },
                else_branch = e () => (int64 q) { q = Identity(five) }>
}"""
LESS: Final = """(int64 x, int64 z) => (int64 y) {
    three = Constant<value = int64 {3}>()  a = CONDITION(x, three)  b = Less(z, three)  c = And(a, b)  d = Not(c)
    y = If (d) <then_branch = t () => (int64 p) { p = Identity(x) },
                else_branch = e () => (int64 q) { q = Identity(x) }>
}"""
COUNTED: Final = """(int64 m, int64 start, bool on) => (int64 y) {
    zero = Constant<value = int64 {0}>()  nine = Constant<value = int64 {9}>()
    y = Loop (m, on, nine) <body = b (int64 i, bool c, int64 a) => (bool again, int64 next) {
        again = Identity(c)  next = Min(zero, i)
    }>
}"""
CHOSEN: Final = """(int64[2] x, bool[2] c) => (int64[2] y) {
    two = Constant<value_ints = [2, 2]>()  y = Where(c, two, x)
}"""
SHARED: Final = """(float[N] x, float[N] z) => (float[N] y, float[N] w) {
    h = Add(x, z)  y = Relu(h)  w = Neg(h)
}"""


def less(operator: str = "Less") -> str:
    return f"integers({LESS.replace('CONDITION', operator)!r})"


MUTANTS: Final[tuple[Mutant, ...]] = (
    # Domains
    mutant(
        "zones-shift-one-side",
        "after a = a + 1 the differences from other variables to a are those of before",
        "absint.lattices.domains.maps",
        "(pair[0] == a) - (pair[1] == a)",
        "int(pair[0] == a)",
        "(z := module('absint.lattices.domains').Zones()).assign(z.assume(z.top, 'b', 'a', 2), 'a', 'a', 1)",
        f"{DOMAINS}::test_zones_allow_every_state_that_comes_out",
    ),
    mutant(
        "zones-keep-what-is-assigned",
        "a variable that became any number keeps its differences to others",
        "absint.lattices.domains.maps",
        "if a not in pair})",
        "if a != pair[0]})",
        "(z := module('absint.lattices.domains').Zones()).forget(z.assume(z.top, 'b', 'a', 2), 'a')",
        f"{DOMAINS}::test_zones_allow_every_state_that_comes_out",
    ),
    mutant(
        "interval-below-by-two",
        "a < b leaves the numbers that are below b by two at least",
        "absint.lattices.domains.intervals",
        "return self._ordered(a, b, 1)",
        "return self._ordered(a, b, 2)",
        "module('absint.lattices.domains').INTERVALS.assume_less(Interval(0, 9), Interval(0, 9))",
        f"{NUMBERS}::test_conditions_keep_every_pair_for_which_they_hold",
    ),
    mutant(
        "what-overflows-is-cut-off",
        "numbers beyond a type are left out, where they wrap around",
        "absint.lattices.domains.intervals",
        "return element if element.leq(limits) else limits",
        "return element.meet(limits)",
        "module('absint.lattices.domains').INTERVALS.held(Interval(-3, 130), module('absint').DType.INT8)",
        f"{ARITHMETIC}[Integers-int8]",
    ),
    mutant(
        "nan-is-below",
        "where a comparison is false, neither side is NaN",
        "absint.lattices.domains.floats",
        "kept, other = a if b.nan else left, b if a.nan else right",
        "kept, other = left, right",
        "(d := module('absint.lattices.domains').FLOAT32).assume_less(d.of(0, 1), d.of(2, 3, nan=True), False)",
        FLOATS,
    ),
    mutant(
        "float-sum-not-rounded",
        "a sum of floats is the sum of the ends, as if a runtime did not round",
        "absint.lattices.domains.floats",
        'return self.rounded(_binary("+", a, b))',
        'return _binary("+", a, b)',
        "(d := module('absint.lattices.domains').FLOAT32).add(d.of(0, 0.1), d.of(0, 0.3))",
        f"{NUMBERS}::test_every_result_of_floats_is_allowed",
    ),
    mutant(
        "set-join-keeps-one",
        "the join of two sets has the values of the first",
        "absint.lattices.domains.sets",
        "self.of([*a, *b])",
        "self.of([*a])",
        "(d := module('absint.lattices.domains').FLAT).join(d.constant(1), d.constant(2))",
        f"{DOMAINS}::test_laws",
    ),
    # Branches and loops
    mutant(
        "join-of-one-branch",
        "after an If a value has the element of the first branch",
        "absint.analyses.forward",
        "self._from(step.then_gate, then, states), self._from(step.else_gate, other, states)",
        "self._from(step.then_gate, then, states), self._from(step.then_gate, then, states)",
        f"integers({CHOICE!r})",
        RANDOM,
    ),
    mutant(
        "carried-value-keeps-its-start",
        "a loop carries the element that it starts with, whatever the body gives back",
        "absint.analyses.forward",
        "carried.append(self._met(node, output, (begun, given), _LOOP))",
        "carried.append(begun)",
        f"integers({COUNTED!r})",
        RANDOM,
    ),
    mutant(
        "a-loop-makes-a-trip",
        "after a loop a value is one that the last trip gave back, as if there were always one",
        "absint.analyses.forward",
        "before = bottom if none is None else none.get(start, self._at(start, around, states))",
        "before = bottom",
        f"integers({COUNTED!r})",
        RANDOM,
    ),
    mutant(
        "negated-condition-taken-as-it-is",
        "Not has the truth of its input",
        "absint.analyses.queries",
        "pending.append((operands[0], not truth))",
        "pending.append((operands[0], truth))",
        less(),
        f"{CONDITIONS}[Integers-branches]",
        RANDOM,
    ),
    mutant(
        "a-false-and-is-false-on-both-sides",
        "where And is false, each of its inputs is",
        "absint.analyses.queries",
        'elif kind == ("And" if truth else "Or"):',
        'elif kind in ("And", "Or"):',
        less(),
        f"{CONDITIONS}[Integers-branches]",
        RANDOM,
    ),
    # Arithmetic of elements
    mutant(
        "bounds-of-a-type-before-what-overflows",
        "a number that overflows is met with the bounds of its type, and what is left fits",
        "absint.analyses.arithmetic",
        "list(map(self.domain.held, found, dtypes))",
        "list(found)",
        "integers('(int8[N] x) => (int8[N] y) { y = Neg(x) }')",
        f"{ARITHMETIC}[Integers-int8]",
    ),
    mutant(
        "greater-is-less",
        "a > b is taken for a < b",
        "absint.analyses.arithmetic",
        '"Greater": ("assume_less", True)',
        '"Greater": ("assume_less", False)',
        less("Greater"),
        f"{CONDITIONS}[Floats-branches]",
    ),
    mutant(
        "one-side-of-where",
        "Where gives elements of its second input",
        "absint.analyses.arithmetic",
        "return self.domain.join(yes, no)",
        "return yes",
        f"integers({CHOSEN!r})",
        f"{ARITHMETIC}[Integers-int8]",
        "pytest tests/absint/shapes/together/test_arithmetic.py::test_numbers_that_wrap_around_have_all_values",
    ),
    # Each other
    mutant(
        "summary-of-another-call",
        "a folded call has the results of the first one of its function, whatever it is given",
        "absint.analyses.frame",
        "if summary.arguments == arguments:",
        "if summary.results:",
        "doubled(2)",
        "pytest tests/absint/shapes/together/test_into_shapes.py",
    ),
    # Backward
    mutant(
        "one-user-needs-a-value",
        "a value is needed as its last user needs it",
        "absint.analyses.backward",
        "outputs[output] = join(outputs[output], row[place])",
        "outputs[output] = row[place]",
        f"needed({SHARED!r}, 'y') + needed({SHARED!r}, 'w')",
        RANDOM,
        "pytest tests/absint/shapes/together/test_backward.py",
    ),
    mutant(
        "nobody-needs-a-condition",
        "the result of an If does not depend on its condition",
        "absint.analyses.backward",
        "                yield self.control(node, outputs)\n",
        "                yield bottom\n",
        f"needed({CHOICE!r}, 'y')",
        RANDOM,
        "pytest tests/absint/shapes/together/test_backward.py",
    ),
    # The start as a bound
    mutant(
        "a-side-not-proved",
        "what a trip adds to a number has every bound that is tried",
        "absint.shapes.loops.linear",
        "facts.decide(relation) is YES",
        "facts.decide(relation) is not None",
        "flow('loop_multiplies_a_count'), flow('if_in_a_loop_that_changes_its_mind')",
        "pytest tests/absint/shapes/test_closed_forms.py::test_random_recurrences_by_kind",
        "pytest tests/absint/shapes/test_loop_relations.py",
    ),
    mutant(
        "one-way-through-a-trip",
        "every trip goes the first of its ways",
        "absint.shapes.loops.linear",
        "for side in (choice, negation(choice)):",
        "for side in (choice,):",
        "flow('if_in_a_loop_that_changes_its_mind')",
        "pytest tests/absint/shapes/test_loop_relations.py",
    ),
)
