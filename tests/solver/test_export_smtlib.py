"""SMT-LIB scripts: Z3 and cvc5 read them and agree, and they read back as the same set."""

from __future__ import annotations

from collections.abc import Callable

import cvc5
import pytest
import z3
from hypothesis import given, settings

from absint.lattices.logic.relation import FALSE, TRUE, UNKNOWN_RELATION, ge
from absint.lattices.terms.evaluation import is_any_function
from absint.lattices.terms.expr import integer_symbol, symbol
from absint.lattices.text import parse_relation
from absint.solver.constraints import Constraint, ConstraintSet, PossibleFailure
from absint.solver.encode import Encoder
from absint.solver.export import ExportError, from_smtlib, to_smtlib
from tests.effort import examples
from tests.lattices.test_expr_fuzz import FIXED
from tests.solver.constraint_sets import ATTENTION, HOSTILE, NODE, constraint, hostile_set, sets


def by_z3(script: str) -> str:
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    solver.from_string(script)
    return str(solver.check())


def by_cvc5(script: str) -> str:
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("tlimit-per", "20000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "script")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, parser.getSymbolManager()).strip())
    return "".join(answers)


def found(*relations: str | tuple[str, str]) -> ConstraintSet:
    return ConstraintSet(constraint(*((r,) if isinstance(r, str) else r)) for r in relations)


SATISFIABLE = [
    found(),
    found("true"),
    ATTENTION,
    found("seq % 8 == 0", "seq >= 100", "seq <= 104"),
    found("N % 6 == 4", "N % 4 == 2", "N >= 100"),
    found("heads*width == 768", "heads >= 5", "heads <= 12"),
    found("(N - 7)//2 + 1 == 5"),
    found("N // M == 3", "M >= 2", "N <= 7"),
    found("truncdiv(3 - N, 2) == -1", "N != 5"),
    found("truncdiv(N - 9, M - 6) == -2", "M <= 5"),
    found("(N - 9)//(M - 6) == -2", "M <= 5", "N >= 10"),
    found("fmod(3 - N, 4) == -2"),
    found("(3 - N) % 4 == 2", "N >= 4"),
    found("max(N, M, 3) == 3", "min(N, M) == 2", "N != M"),
    found("broadcast(N, M) == 0", "N == 1"),
    found("broadcast(N, M, K) == 5", "N == 1", "K == 5"),
    found("ite(flag, N, M) == 4", "not flag", "N == 3"),
    found(("N == 3", "M >= 1"), ("N == 4", "M == 0")),
    found(("false", "flag"), "N >= 1"),
    found(("N // M == 5", "M >= 1"), "M == 0"),
    found("N // M == 5", "M == 0"),  # a quotient by 0 is any number
    found("N in {1, 64}", "N != 1"),
    found("N == 2*K + 1", "M == 3*K", "N + M == 26"),
    found("N*N == 144", "N >= 1"),
]

CONTRADICTORY = [
    found("false"),
    found("N <= 3", "N >= 4"),
    found("N <= -1"),
    found("N >= 2147483648"),
    found("seq % 8 == 0", "seq >= 97", "seq <= 103"),
    found("N % 4 == 1", "N % 6 == 4"),
    found("heads*width == 7", "heads >= 2", "width >= 2"),
    found("N // 4 == 3", "N // 2 == 5"),
    found("N // M >= 4", "M >= 3", "N <= 11"),
    found("truncdiv(3 - N, 2) == -1", "N <= 4"),
    found("truncdiv(3 - N, 2) == (3 - N)//2", "N == 4"),
    found("fmod(3 - N, 4) >= 1", "N >= 4"),
    found("max(N, M) <= min(N, M)", "N != M"),
    found("broadcast(N, M) == 1", "N >= 2"),
    found("broadcast(N, M) == 3", "N == 0", "M <= 2"),
    found("ite(N >= M, N, M) < N"),
    found(("N == 3", "M >= 1"), "M >= 2", "N == 4"),
    found(("false", "flag"), "flag"),
    found(("N // M == 5", "M >= 1"), "M == 2", "N == 9"),
    found("N in {1, 64}", "N >= 2", "N <= 63"),
    found("N == 2*K", "N == 2*M + 1"),
]


@pytest.mark.parametrize("solve", [by_z3, by_cvc5])
@pytest.mark.parametrize(
    ("constraints", "verdict"),
    [*((s, "sat") for s in SATISFIABLE), *((s, "unsat") for s in CONTRADICTORY)],
    ids=lambda value: value if isinstance(value, str) else " and ".join(map(str, value.distinct))[:60],
)
def test_solvers_agree(solve: Callable[[str], str], constraints: ConstraintSet, verdict: str) -> None:
    script = to_smtlib(constraints)
    assert solve(script) == verdict
    assert from_smtlib(script) == constraints


@settings(max_examples=examples(60), deadline=None)
@given(sets)
def test_what_is_written_reads_back(constraints: ConstraintSet) -> None:
    script = to_smtlib(constraints)
    assert script.isascii()
    assert from_smtlib(script) == constraints
    assert to_smtlib(from_smtlib(script)) == script


@settings(max_examples=examples(60), deadline=None)
@given(sets)
def test_a_binding_is_a_model_where_every_constraint_holds(constraints: ConstraintSet) -> None:
    """With the symbols fixed a solver only evaluates; a constraint without a truth is left out."""
    for binding in FIXED:
        defined = []
        for c in constraints:
            if is_any_function(c.formula):
                continue
            try:
                truth = c.formula.evaluate(binding)
            except (ArithmeticError, ValueError):  # divides by zero, or open
                continue
            defined.append((c, truth))
        fixed = [
            Constraint(parse_relation(f"{name} == {binding[name]}", {name: _symbol(name)}), TRUE, NODE, "required", "")
            for name in "NMKIJFG"
        ]
        script = to_smtlib(ConstraintSet([*(c for c, _ in defined), *fixed]))
        assert by_z3(script) == ("sat" if all(truth for c, truth in defined if not c.is_premise) else "unsat")


def _symbol(name: str):  # type: ignore[no-untyped-def]
    return symbol(name) if name in "NMK" else integer_symbol(name) if name in "IJ" else integer_symbol(name, 0, 1)


def test_the_script_says_what_the_encoder_says() -> None:
    for constraints in SATISFIABLE + CONTRADICTORY:
        encoder, solver = Encoder(), z3.Solver()
        solver.add(*(encoder.relation(formula) for formula in constraints.distinct))
        solver.add(*encoder.side_conditions())
        assert str(solver.check()) == by_z3(to_smtlib(constraints))


def test_a_script_names_its_assertions() -> None:
    script = to_smtlib(found("N <= 3", ("N >= 4", "M >= 2"), "M == 2"))
    assert script == (
        "(set-info :smt-lib-version 2.6)\n"
        '(set-info :absint.format "absint.constraints/1")\n'
        '(set-info :absint.symbols "[{""name"": ""N"", ""bounds"": [0, 2147483647], ""input"": false}, '
        '{""name"": ""M"", ""bounds"": [0, 2147483647], ""input"": false}]")\n'
        + "".join(
            f'(set-info :absint.c{i} "{{""relation"": ""{text}"", ""guard"": ""{guard}"", ""role"": ""required"", '
            '""reason"": ""inner dims agree"", ""origin"": {""node"": 3, ""path"": """", ""name"": ""qk"", '
            '""operator"": ""MatMul"", ""output"": ""scores""}}")\n'
            for i, (text, guard) in enumerate([("N <= 3", "true"), ("N >= 4", "M >= 2"), ("M == 2", "true")])
        )
        + "(set-logic QF_LIA)\n"
        "(declare-const N Int)\n"
        "(declare-const M Int)\n"
        "(assert (<= 0 N 2147483647))\n"
        "(assert (<= 0 M 2147483647))\n"
        "(assert (! (>= 3 N) :named ?c0))\n"
        "(assert (! (or (>= 1 M) (>= N 4)) :named ?c1))\n"
        "(assert (! (= M 2) :named ?c2))\n"
        "(check-sat)\n"
    )
    solver = z3.Solver()
    solver.from_string("(set-option :produce-unsat-cores true)" + script)
    assert solver.check() == z3.unsat
    assert {str(label) for label in solver.unsat_core()} == {"?c0", "?c1", "?c2"}


def test_the_logic_is_that_of_the_script() -> None:
    assert "(set-logic QF_LIA)" in to_smtlib(found("N % 8 == 0", "max(N, M) >= 3"))
    assert "(set-logic QF_NIA)" in to_smtlib(found("N*M == 6"))
    assert "(set-logic QF_NIA)" in to_smtlib(found("N // M == 6"))


@pytest.mark.parametrize("solve", [by_z3, by_cvc5])
def test_hostile_texts_stay_inside(solve: Callable[[str], str]) -> None:
    constraints = hostile_set()
    script = to_smtlib(constraints)
    assert script.isascii()
    assert {c for c in script if not c.isprintable()} == {"\n"}
    assert from_smtlib(script) == constraints
    assert solve(script) == "sat"
    assert script.count("(assert (! ") == len(HOSTILE)
    never = ConstraintSet([*constraints, constraint("false")], symbols=constraints.symbols)
    assert solve(to_smtlib(never)) == "unsat"


def test_a_constraint_without_a_form_says_nothing() -> None:
    constraints = ConstraintSet(
        [
            Constraint(UNKNOWN_RELATION, TRUE, NODE, "required", "?"),
            Constraint(FALSE, UNKNOWN_RELATION, NODE, "required", "?"),
        ],
        possible_failures=[PossibleFailure(NODE, UNKNOWN_RELATION, "")],
    )
    script = to_smtlib(constraints)
    assert by_z3(script) == "sat"
    assert from_smtlib(script) == constraints


def test_an_internal_symbol_has_no_text() -> None:
    with pytest.raises(ExportError, match="internal symbol '%4:x'"):
        to_smtlib(ConstraintSet([Constraint(ge(symbol("%4:x"), 3), TRUE, NODE, "defined", "")]))


SCRIPT = to_smtlib(ATTENTION)


def without(line: str) -> str:
    assert line in SCRIPT
    return "\n".join(text for text in SCRIPT.splitlines() if line not in text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ":absint.format: expected 'absint.constraints/1', found null"),
        ("(check-sat)", ":absint.format: expected 'absint.constraints/1', found null"),
        (SCRIPT.replace("constraints/1", "constraints/2"), "found 'absint.constraints/2'"),
        (SCRIPT.replace('"absint.constraints/1"', "7"), r"\(set-info ':absint.format' ...\) has no string"),
        (SCRIPT[:-13], "there is no \\(check-sat\\): the text is incomplete"),
        (SCRIPT[:-3], "expected '\\)', found the end"),
        (SCRIPT[:1203], "a quoted text that begins on line 6 does not end"),
        (without(":named ?c4"), "the assertion named 'c4' is missing"),
        (without(":absint.c4"), r"\(set-info :absint.c4 ...\) is missing"),
        (without(":absint.d0"), r"\(set-info :absint.d0 ...\) is missing"),
        (without(":absint.symbols"), r"\(set-info :absint.symbols ...\) is missing"),
        (SCRIPT + "(assert (! true :named c9))", "the assertion named 'c9' belongs to no constraint"),
        (SCRIPT + "(assert (! true :named ?c1))", "two assertions are named 'c1'"),
        (SCRIPT + '(set-info :absint.c1 "")', r"\(set-info ':absint.c1' ...\) is there twice"),
        (SCRIPT + "exit", "expected '\\(' on line 38, found 'exit'"),
        (SCRIPT + ")", "'\\)' on line 38 closes nothing"),
        (SCRIPT + "(echo |x)", "a quoted text that begins on line 38 does not end"),
        (
            SCRIPT.replace("seq % 8 == 0", "seq % 8 = 0"),
            ":absint.c1.relation: expected '==' for a comparison, at column 9",
        ),
        (SCRIPT.replace('""node"": 7', '""node"": 7.5'), ":absint.c1.origin.node: expected an integer, found a number"),
        (SCRIPT.replace('""reason"": ""given""', '""reason"": {'), ":absint.c2: not JSON"),
        ("(" * 1_000_000, "expected '\\)', found the end"),
        ('(set-info :absint.format "' + '""' * 500_000, "a quoted text that begins on line 1 does not end"),
    ],
)
def test_a_bad_script_is_one_line(text: str, complaint: str) -> None:
    with pytest.raises(ExportError, match=complaint) as error:
        from_smtlib(text)
    assert len(str(error.value).splitlines()) == 1
    assert str(error.value).isprintable()


def test_more_commands_do_no_harm() -> None:
    more = SCRIPT.replace(
        "(check-sat)", '; (assert false) "\n(push 1)\n(assert (= seq 8))\n(check-sat)\n(get-model)\n(exit)'
    )
    assert from_smtlib(more) == ATTENTION
