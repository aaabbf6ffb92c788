"""Faults in what is asked of a result: proofs, checks, contracts, exports, costs."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Change, Mutant, mutant

PROOFS: Final = "pytest tests/soundness/test_random_proofs.py::test_random_proofs[700000]"
MANY_CLAUSES: Final = "pytest tests/solver/test_many_clauses.py"
PROMISES: Final = "pytest tests/absint/questions/test_promises.py"
REFINEMENT: Final = "pytest tests/absint/shapes/test_refinement.py"
ENCODER: Final = "pytest tests/solver/test_encode.py::test_a_term_has_the_value_of_the_expression_and_no_other"
GATHER: Final = "'(float[N] x, int64[M] i) => (float[K] y) { y = Gather(x, i) }'"
LOSS: Final = "'(float[N, N] x, int64[N] i) => (float y) { y = NegativeLogLikelihoodLoss(x, i) }'"
MATMUL: Final = "'(float[N, K] a, float[L, M] b) => (float[p, q] y) { y = MatMul(a, b) }'"

MUTANTS: Final[tuple[Mutant, ...]] = (
    # Translation for Z3
    mutant(
        "z3-max-is-min",
        "max is translated as min, and min as max",
        "absint.solver.translate",
        'greater, lesser = (first, other) if op == "max" else (other, first)',
        'greater, lesser = (other, first) if op == "max" else (first, other)',
        "module('absint.solver.encode').Encoder().dim(maximum(Dim('N'), Dim('M')))",
        ENCODER,
    ),
    mutant(
        "z3-floats-of-nothing",
        "what floats compute is one number, whatever they compute it from",
        "absint.solver.translate",
        "[self._argument(arg) for arg in arguments]",
        "['0' for arg in arguments]",
        "module('absint.solver.encode').Encoder().dim(module('absint.lattices.text').parse('int(float32(N)*0.7)'))",
        "pytest tests/solver/test_floats.py",
    ),
    mutant(
        "z3-broadcast-is-the-last",
        "broadcast is translated as its last operand that is not 1",
        "absint.solver.translate",
        "for operand in reversed(operands):",
        "for operand in operands:",
        "module('absint.solver.encode').Encoder().dim(broadcast(Dim('N'), Dim('M')))",
        ENCODER,
    ),
    mutant(
        "z3-trunc-is-of-sizes",
        "division towards zero loses its sign",
        "absint.solver.translate",
        "quotient = _choice(self._natural(a), size, opposite)",
        "quotient = size",
        "module('absint.solver.encode').Encoder().dim(truncdiv(Dim('N') - 9, Dim('M')))",
        ENCODER,
    ),
    mutant(
        "z3-shares-quotients",
        "a quotient of one encoder is that of any other",
        "absint.solver.encode",
        'z3.FreshInt("quotient") if name[0] == "$" else z3.Int(unquote(name))',
        "z3.Int(unquote(name))",
        "module('absint.solver.encode').Encoder().dim(Dim('N // M'))",
        "pytest tests/solver/test_encode.py::test_quotients_of_two_encoders_are_apart",
    ),
    mutant(
        "smtlib-divides-by-0",
        "a quotient is defined where its divisor is 0, so that dividing proves the divisor positive",
        "absint.solver.smtlib",
        "(assert (=> (>= {b} 1) (and",
        "(assert (and (>= {b} 1) (and",
        "module('absint.solver.smtlib').query({}, relation('N // M >= 1'))",
        ENCODER,
    ),
    # Proofs
    mutant(
        "guard-of-a-constraint-forgotten",
        "a constraint is its relation, whatever its guard",
        "absint.solver.constraints",
        "return self.relation if self.guard is TRUE else implies(self.guard, self.relation)",
        "return self.relation",
        "flow('if_squeeze_pattern')",
        REFINEMENT,
    ),
    mutant(
        "unknown-is-proved",
        "what Z3 does not decide counts as proved",
        "absint.solver.prove",
        'if answer.verdict == "unsat":',
        'if answer.verdict != "sat":',
        "(lambda p: p.Prover(module('absint.solver.constraints').ConstraintSet([]), limits="
        "module('absint.lattices.limits').Limits(rlimit=1))"
        ".decide(relation('N**3 + M**3 != K**3*7 + 5 or N*M*K == 7')).entailed)(module('absint.solver.prove'))",
        "pytest tests/absint/commands/test_cli_prove.py",
    ),
    mutant(
        "proof-without-a-premise",
        "what is asked is proved if it may hold",
        "absint.solver.prove",
        "answer = self._check(premises, falsity(relation))",
        "answer = self._check(premises, conjunction(falsity(relation), relation))",
        "graph('(float[N] x, float[M] z) => (float[K] y) { y = Add(x, z) }').prove('N == M or N == 1').verdict",
        PROOFS,
    ),
    mutant(
        "refuted-without-a-run",
        "a model of the constraints refutes, though nothing shows that it runs",
        "absint.questions.proofs.proofs",
        "if self._judge.runs(sizes):\n                return Proof(relation, Verdict.REFUTED, counterexample=sizes)",
        "if sizes:\n                return Proof(relation, Verdict.REFUTED, counterexample=sizes)",
        f"graph({LOSS}).prove('x[0] == 3', evidence='none').verdict",
        "pytest tests/absint/questions/answers/test_evidence.py::test_a_run_that_fails_refutes_nothing",
    ),
    mutant(
        "contradiction-not-asked",
        "premises that contradict each other prove everything",
        "absint.questions.proofs.proofs",
        "if premises.entailed:\n            return Proof(relation, Verdict.CONTRADICTION",
        "if premises is None:\n            return Proof(relation, Verdict.CONTRADICTION",
        "graph('(float[N] x, float[3] a, float[4] b) => (float[K] y, float[L] z) "
        "{ y = Add(x, a) u = Squeeze(x) z = MatMul(b, x) v = MatMul(a, x) w = Add(z, v) }').prove('N == 3').verdict,"
        "graph('(float[N] x, float[3] a, float[4] b) => (float y, float z) "
        "{ y = MatMul(x, a) z = MatMul(b, x) }').prove('N == 3').verdict",
        "pytest tests/absint/questions/test_query_table.py::test_handwritten",
    ),
    # Checks and contracts
    mutant(
        "check-ignores-possible-failures",
        "check says that a model runs though a node may fail on data",
        "absint.questions.sizes.checking",
        "possible_failures = list(recorder.possible_failures)",
        "possible_failures = []",
        f"graph({GATHER}).check({{'N': 3, 'M': 2}}).outcome",
        PROMISES,
    ),
    mutant(
        "check-range-ignores-possible-failures",
        "check_range says that a model runs though a node may fail on data",
        "absint.questions.sizes.boxes",
        "self._possible_failures += [d for d in stated.possible_failures if d.guard is TRUE]",
        "self._possible_failures += []",
        f"graph({GATHER}).check_range({{'N': (1, 3), 'M': (1, 2)}}).outcome",
        PROMISES,
    ),
    mutant(
        "check-ignores-incomplete-rules",
        "a rule that does not promise to state everything is believed to",
        "absint.solution.constraints",
        "incomplete = {k for k in set(operations) if k is not None and not k.is_complete}",
        "incomplete = {k for k in set(operations) if k is None}",
        "module('tests.absint.questions.test_promises').unpromised()",
        PROMISES,
    ),
    mutant(
        "a-premise-settles-a-choice",
        "sizes that other nodes compute rest on a numeric premise",
        "absint.questions.proofs.smt_refinement",
        'prover = Provers(analysed).of("required", LIMITS)',
        'prover = Provers(analysed).of("run", LIMITS)',
        "module('tests.absint.shapes.test_settling').choice_beside_a_premise()",
        "pytest tests/absint/shapes/test_settling.py",
    ),
    mutant(
        "requirement-proves-itself",
        "check_range takes for granted what it is to check",
        "absint.questions.sizes.boxes",
        "self._held |= dict.fromkeys([*inside, *premises])",
        "self._held |= dict.fromkeys([*inside, *(c.formula for c in prover.constraints)])",
        f"graph({MATMUL}).check_range({{'K': (2, 3), 'L': (2, 3), 'N': 1, 'M': 1}}).outcome",
        PROOFS,
    ),
    mutant(
        "contract-drops-a-clause",
        "the last clause of a contract is lost",
        "absint.solver.contracts.contract",
        "tuple(because))) for relation, because in relations.items()]",
        "tuple(because))) for relation, because in relations.items()][:-1]",
        f"graph({MATMUL}).contract()",
        PROOFS,
    ),
    mutant(
        "contract-implies-too-much",
        "a clause is left out for one that it entails",
        "absint.solver.contracts.shortening",
        "if self.entails(known, conjunction(*group)):",
        "if self.entails(self._premises(simple, group), conjunction(*group)):",
        "graph('(float[N] x, float[M] z) => (float[K] y) { y = Add(x, z) }').contract()",
        PROOFS,
    ),
    mutant(
        "contract-spans-without-a-clause",
        "of clauses that equate sizes the last is left out",
        "absint.solver.subsets",
        "return [clause for clause, (a, b) in pairs if classes.unite(a.name, b.name)]",
        "return [clause for clause, (a, b) in pairs[:-1] if classes.unite(a.name, b.name)]",
        "graph('(float[N] x, float[M] z) => (float[K] y) { y = MatMul(x, z) }').contract()",
        MANY_CLAUSES,
    ),
    mutant(
        "contract-needs-what-others-say",
        "sizes that break another clause show that this one is needed",
        "absint.solver.contracts.premises",
        "if relation.at(sizes) is NO and meets(touched, sizes):",
        "if relation.at(sizes) is NO:",
        "module('absint.solver.contracts.premises').Premises([relation('N == M'), relation('M >= 5')], "
        "module('absint.solver.contracts.premises').Samples([{'N': 7, 'M': 7}])).counterexample(relation('N >= 5'))",
        MANY_CLAUSES,
    ),
    # Exports
    mutant(
        "exported-guard-turned-round",
        "the exported function has >= where <= is meant",
        "absint.solver.export.python_source",
        '_FLIPPED: Final = {">=": "<=",',
        '_FLIPPED: Final = {">=": ">=",',
        "module('absint.solver.export.python_source')._FLIPPED",
        "pytest tests/solver/test_export_python.py::test_every_operation_at_every_small_size",
    ),
    mutant(
        "exported-guard-passes-division-by-0",
        "a clause that divides by zero holds in the exported function",
        "absint.solver.export.guard",
        '"    _holds = False"]',
        '"    _holds = True"]',
        "[module('absint.solver.export').to_python(graph(text).constraints) for text in ("
        "'(float[N] x, float[M] z) => (float[K] y) { m = Shape(z) y = Reshape<allowzero=1>(x, m) }', "
        "'(float[N] x, float[M] z) => (float[K, L] y) { m = Shape(z) "
        "o = Constant<value_ints=[-1]>() s = Concat<axis=0>(m, o) y = Reshape(x, s) }')]",
        "pytest tests/solver/test_export_python.py::test_every_operation_at_every_small_size",
    ),
    # Costs
    mutant(
        "cost-counts-an-input-twice",
        "a value that a node reads twice is moved twice",
        "absint.questions.costs.cost",
        "reads = () if not _key(node)[0] and _key(node)[1] in SHAPE_ALONE else dict.fromkeys(node.operands)",
        "reads = () if not _key(node)[0] and _key(node)[1] in SHAPE_ALONE else node.operands",
        "graph('(float[N] x) => (float[N] y) { y = Mul(x, x) }').cost().bytes",
        "pytest tests/absint/questions/test_cost.py",
    ),
    mutant(
        "cost-counts-nodes-twice",
        "the arithmetic of a body is counted inside and outside of it",
        "absint.questions.costs.totals",
        "parts += [(self._inside(bodies, found), 1) for bodies in region.inner.values()]",
        "parts += [(self._inside(bodies, found), 2) for bodies in region.inner.values()]",
        "module('absint').analyze(module('tests.absint.shapes.flows').FLOWS['loop_grows_by_a_symbol']().model).cost().bytes",
        "pytest tests/absint/questions/test_cost_runs.py::test_models_with_control_flow",
    ),
    # Declarations
    mutant(
        "declaration-of-a-branch-not-taken",
        "a declaration in a branch is called false at sizes that do not take the branch",
        "absint.questions.sizes.falsifying",
        "return _truth(self.relation, sizes) is NO and _truth(self.guard, sizes) is not NO",
        "return _truth(self.relation, sizes) is NO",
        "graph(module('tests.absint.jobs.declared.test_false').BRANCH_BY_SIZE).diagnostics",
        "pytest tests/absint/jobs/declared/test_false.py::test_a_run_at_that_size_shows_it",
    ),
    Mutant(
        "declaration-names-of-two-graphs",
        "a name that two bodies declare stands for one size in both",
        (
            Change(
                "absint.questions.claims.reading",
                "first.setdefault((dim.shape.path, dim.stated), dim)",
                "first.setdefault(('', dim.stated), dim)",
            ),
            Change(
                "absint.questions.claims.reading",
                "stated, path = dim.stated, dim.shape.path",
                "stated, path = dim.stated, ''",
            ),
        ),
        "[graph(text).diagnostics for text in module('tests.absint.jobs.declared.test_false').TRUE]",
        ("pytest tests/absint/jobs/declared/test_false.py::test_what_may_be_true_is_not_told",),
    ),
    Mutant(
        "declaration-false-at-illegal-sizes",
        "sizes that no run has make a declaration false",
        (
            Change(
                "absint.questions.sizes.falsifying",
                "            if _truth(formula, sizes) is not YES:\n                self._asked",
                "            if False:\n                self._asked",
            ),
            Change(
                "absint.questions.sizes.falsifying",
                "            if found.outcome is not Outcome.ILLEGAL:",
                "            if found.outcome is not None:",
            ),
        ),
        "graph(module('tests.absint.jobs.declared.test_false').FOLDED).diagnostics",
        ("pytest tests/absint/jobs/declared/test_false.py",),
    ),
)
