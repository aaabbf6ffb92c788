"""Faults in the engine: control flow, summaries and their memo, rounds, the fixpoint."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Change, Mutant, mutant


def flows(*names: str) -> str:
    """Executed models with control flow."""
    path = "tests/absint/test_control_flow.py::test_claims_hold_in_every_run"
    return "pytest " + " ".join(f"{path}[{name}]" for name in names)


RANDOM: Final = "pytest tests/soundness/test_random_graphs.py::test_random_graphs[100000]"
ENGINE: Final = "pytest tests/absint/test_fixpoint.py"
STRATEGIES: Final = "pytest tests/absint/test_strategies.py"

MUTANTS: Final[tuple[Mutant, ...]] = (
    # Loops
    mutant(
        "loop-body-visited-once",
        "a carried value keeps its start, whatever the body gives back",
        "absint.shapes.loops.invariants",
        "if back is None or back is BOTTOM or start is BOTTOM:",
        "if True:",
        "flow('loop_grows_by_a_symbol')",
        flows("loop_grows_by_a_symbol"),
    ),
    mutant(
        "closed-form-not-proved",
        "a guess about a carried number is believed",
        "absint.shapes.loops.invariants",
        'elif claim.kind == "form" and not claim.forms[0].proves(start, back, body.iteration):',
        'elif claim.kind == "never":',
        "flow('loop_doubles'), flow('loop_settles_on_a_size'), flow('loop_fibonacci')",
        flows("loop_shrinks"),
    ),
    Mutant(
        "bounds-not-invariant",
        "a carried number keeps the bounds of its start",
        (
            Change(
                "absint.shapes.loops.invariants",
                "if not narrower.is_empty and _stays(after, narrower, full):",
                "if not narrower.is_empty:",
            ),
            Change(
                "absint.shapes.loops.invariants",
                "elif not _stays(back, claim.bounds, full):",
                "elif claim.bounds.is_empty:",
            ),
        ),
        "flow('loop_multiplies_a_count')",
        (flows("loop_whose_condition_is_forgotten"),),
    ),
    mutant(
        "zero-trips-forgotten",
        "a scan output has the sizes of the body even if no trip is made",
        "absint.shapes.loops.loop",
        "certain = isinstance(trips, Expr) and facts.decide(ge(trips, 1)) is YES",
        "certain = True",
        "flow('loop_trips_from_an_input')",
        flows("loop_trips_from_an_input"),
    ),
    mutant(
        "sizes-of-no-trip-carried",
        "type inference is taken to pass shapes from one trip to the next",
        "absint.shapes.loops.no_trip",
        "return [_bare(v) if isinstance(v, Tensor) else None for v in node.step.declared]",
        "return [_bare(self._claim((number, k))) for k in range(node.step.width)]",
        "flow('loop_scan_of_what_is_carried')",
        flows("loop_scan_of_what_is_carried"),
    ),
    mutant(
        "parts-of-no-trip-listed",
        "the sizes that Split lists count where the size of the axis is not inferred",
        "absint.shapes.loops.no_trip",
        '    "Split": _part,',
        "",
        "flow('loop_over_listed_parts')",
        flows("loop_over_listed_parts"),
    ),
    mutant(
        "condition-not-begun",
        "the first trip is taken for one that the condition of the body allows",
        "absint.shapes.loops.conditions",
        "if begins is not first and assuming(run.facts_at(item.gate), first).decide(begins) is not YES:",
        "if False:",
        "flow('loop_by_a_condition_in_floats_from_another_start')",
        "pytest tests/absint/test_control_flow_limits.py",
    ),
    mutant(
        "trips-at-least-one",
        "a loop whose trips are not known makes one",
        "absint.shapes.loops.loop",
        'trips = expr_of(Symbol.hole("trips", int(certain)))',
        'trips = expr_of(Symbol.hole("trips", 1))',
        "flow('loop_initial_condition_by_data')",
        flows("loop_initial_condition_by_data"),
    ),
    mutant(
        "negative-limit",
        "a loop with M = -1 makes -1 trips",
        "absint.shapes.loops.loop",
        "most = maximum(most, 0) if most is not None else None",
        "most = most",
        "flow('loop_trips_from_an_input')",
        flows("loop_trips_from_an_input"),
    ),
    mutant(
        "one-trip-less",
        "the condition of a trip is taken for that of the next one",
        "absint.shapes.loops.trip_counts",
        "limits.append(maximum(floordiv(line[0], line[1]) + 2, 1))",
        "limits.append(maximum(floordiv(line[0], line[1]) + 1, 1))",
        "flow('loop_with_steps_of_three'), flow('loop_by_a_limit_and_a_condition'), "
        "flow('loop_grows_until_it_is_large_enough')",
        flows("loop_for_i_below_a_size"),
    ),
    mutant(
        "body-symbols-leak",
        "a size of one trip is used after the loop",
        "absint.shapes.loops.body",
        "return Unknown(dim.bounds) if isinstance(dim, Expr) and self.occur_in(dim) else dim",
        "return dim",
        "flow('loop_scan_of_what_grows')",
        flows("loop_scan_of_what_grows"),
    ),
    mutant(
        "last-value-of-the-trip-before",
        "a carried value after the loop is the one at the start of the last trip",
        "absint.shapes.loops.body",
        "value = value.replace({self.iteration: trips})",
        "value = value.replace({self.iteration: trips - 1})",
        "flow('loop_grows_by_a_symbol')",
        flows("loop_grows_by_a_symbol"),
    ),
    # Branches
    mutant(
        "join-keeps-the-first-branch",
        "after an If by sizes the values are those of its first branch",
        "absint.shapes.branches",
        "return ite(self.condition, a, b)",
        "return a",
        "flow('if_by_a_relation_over_dims')",
        flows("if_by_a_relation_over_dims"),
    ),
    mutant(
        "join-of-data-keeps-the-first-branch",
        "after an If by data the values are those of its first branch",
        "absint.shapes.branches",
        "named = self._named.get((a, b))",
        "named = a",
        "flow('if_by_data')",
        flows("if_by_data"),
    ),
    mutant(
        "else-has-the-condition-of-then",
        "the facts of the second branch are those of the first",
        "absint.shapes.branches",
        "condition if gate.taken else negation(condition)",
        "condition",
        "flow('if_broadcasts_where_the_size_is_known')",
        flows("if_broadcasts_where_the_size_is_known"),
    ),
    mutant(
        "contents-of-the-first-branch",
        "elements that differ between branches are those of the first",
        "absint.shapes.branches",
        "            return x if x is y else None\n        pairs",
        "            return x if x is y else None\n        return x\n        pairs",
        "flow('if_gives_a_target_shape')",
        flows("if_gives_a_target_shape"),
    ),
    mutant(
        "guard-of-branches-forgotten",
        "requirements of a branch hold in every run",
        "absint.solution.constraints",
        "if gate < 0:\n            return TRUE\n        found = self._paths.get(gate)",
        "if gate != -2:\n            return TRUE\n        found = self._paths.get(gate)",
        "flow('if_squeeze_pattern'), flow('loop_shrinks')",
        "pytest tests/absint/test_refinement.py",
    ),
    mutant(
        "guard-of-bodies-forgotten",
        "requirements of a body hold in a run without a trip",
        "absint.solution.constraints",
        "condition = ge(trips, 1)",
        "condition = TRUE",
        "flow('loop_scan_of_an_undeclared_rank')",
        "pytest tests/absint/test_refinement.py",
    ),
    mutant(
        "branches-teach",
        "what a branch requires is a fact everywhere",
        "absint.shapes.refinement",
        "if found and analysis.nodes[node].gate < 0 and lowered.needed[node]:",
        "if found and lowered.needed[node]:",
        "flow('if_squeeze_pattern')",
        "pytest tests/absint/test_refinement.py",
    ),
    mutant(
        "unused-nodes-teach",
        "a node that no output needs imposes something",
        "absint.shapes.refinement",
        "if found and analysis.nodes[node].gate < 0 and lowered.needed[node]:",
        "if found and analysis.nodes[node].gate < 0:",
        "said(graph('(float[N] x, float[3] w) => (float[M] y) { u = Mul(x, w) y = Neg(x) z = MatMul(x, w) }'))",
        "pytest tests/absint/test_refinement.py",
    ),
    # Summaries and their memo
    mutant(
        "summaries-share-their-symbols",
        "equal layers invent the same symbol",
        "absint.shapes.summaries",
        "expr_of(hole.filled(node, kind))",
        "expr_of(hole.filled(0, kind))",
        "said(graph('(float[N] x, float[N] z) => (int64[r, K] y, int64[r, L] v) { y = NonZero(x) v = NonZero(z) }'))",
        RANDOM,
    ),
    mutant(
        "memo-without-the-path",
        "what holds below a gate is used elsewhere",
        "absint.shapes.application",
        "under = (under, facts.key)",
        "under = run.under",
        "flow('if_broadcasts_where_the_size_is_known')",
        flows("if_broadcasts_where_the_size_is_known"),
    ),
    mutant(
        "memo-without-attributes",
        "two nodes of one operator are one whatever their attributes",
        "absint.program.lowering",
        "return attribute_key(node.op_type, family, outputs, attributes)",
        "return (node.op_type, family, outputs)",
        "said(graph('(float[N, M] x) => (float[a, b] y, float[c, d] z) "
        "{ y = Transpose<perm=[0, 1]>(x) z = Transpose<perm=[1, 0]>(x) }'))",
        RANDOM,
    ),
    mutant(
        "memo-without-arity",
        "two nodes of one operator are one whatever the number of their outputs",
        "absint.program.lowering",
        "return attribute_key(node.op_type, family, outputs, attributes)",
        "return attribute_key(node.op_type, family, 1, attributes)",
        "said(graph('(float[12] x) => (float[a] y, float[b] z) "
        "{ y, u = Split<axis=0>(x) z, v, w = Split<axis=0>(x) }'))",
        "pytest tests/absint/test_lower.py",
    ),
    mutant(
        "memo-without-version",
        "a function body of another opset has the operators of the model",
        "absint.program.lowering",
        "operations = self._operations.setdefault(key, {})",
        "operations = self._operations.setdefault((), {})",
        "said(graph('(float[N] x, float[M] y) => (float[K] z, float[L] w) { z = Max(x, y) w = f.old(x, y) }"
        '<domain: "f", opset_import: ["" : 6]> old (a, b) => (c) { c = Max(a, b) }\'))',
        "pytest tests/absint/test_lower.py",
    ),
    mutant(
        "shared-operation-without-version",
        "an operation of another analysis serves whatever its opset",
        "absint.program.instances",
        "identity = (version, key)",
        "identity = (0, key)",
        "str([module('absint').analyze(module('tests.absint.test_memo').limited(version)).diagnostics "
        "for version in (6, 13)])",
        "pytest tests/absint/test_memo.py",
    ),
    mutant(
        "memo-without-finite-sets",
        "what one analysis assumes of a symbol's values is a fact of the next one",
        "absint.lattices.logic.facts",
        "self._narrows_only = all(relation.map(self.replaced) is TRUE for relation in self.relations)",
        "self._narrows_only = not self._premises and not self._congruences",
        "module('tests.absint.test_memo').assuming('N != 1') + module('tests.absint.test_memo').assuming()",
        "pytest tests/absint/test_memo.py",
    ),
    mutant(
        "operators-without-overload",
        "a domain can pass for a domain with an overload",
        "absint.program.lowering",
        'family = (node.domain, getattr(node, "overload", "")) if self._functions else node.domain',
        "family = f\"{node.domain}:{getattr(node, 'overload', '')}\" if self._functions else node.domain",
        "module('tests.absint.test_memo').relus()",
        "pytest tests/absint/test_memo.py",
    ),
    mutant(
        "shared-operation-with-a-file",
        "what a tensor of one model's file holds serves another model",
        "absint.program.instances",
        "and not any(map(is_elsewhere, attributes))",
        "and True",
        "str([module('absint').analyze(module('tests.absint.test_memo').saved(module('pathlib').Path("
        "module('tempfile').mkdtemp(), 'm'), (rows, -1))).shapes['y'] for rows in (2, 3)])",
        "pytest tests/absint/test_memo.py",
    ),
    # Folded calls
    mutant(
        "folded-call-shares-symbols",
        "a size of the caller is one that the body invents",
        "absint.shapes.calls",
        "if symbol.kind is not SymbolKind.INPUT and symbol not in names:",
        "if symbol.kind is None:",
        "module('tests.absint.test_folded_calls').all_folded("
        "module('tests.absint.test_folded_calls').nonzero_of_nonzero())",
        "pytest tests/absint/test_folded_calls.py",
    ),
    mutant(
        "folded-call-requires-on-all-paths",
        "what one path of a body requires is required by the call",
        "absint.shapes.calls",
        "is_certain = item.gate < 0 and bool(self._body.needed[number])",
        "is_certain = True",
        "module('tests.absint.test_folded_calls').all_folded("
        "module('tests.absint.test_folded_calls').product_in_a_loop())",
        "pytest tests/absint/test_folded_calls.py",
    ),
    # The fixpoint
    mutant(
        "fixpoint-stops-after-one-round",
        "a cycle is not iterated until its head is stable",
        "absint.engine.iteration",
        "if not lattice.leq(new, old):\n                # In",
        "if component.visits == 1 and not lattice.leq(new, old):\n                # In",
        "counting()",
        ENGINE,
    ),
    mutant(
        "descends-below-the-fixpoint",
        "the descending phase takes what is not above its own transfer",
        "absint.engine.iteration",
        "states[head] = new\n                position = component.start + 1\n            else:",
        "states[head] = lattice.bottom\n                position = component.start + 1\n            else:",
        "counting()",
        ENGINE,
    ),
    mutant(
        "levels-multiply",
        "a cycle in a cycle is made stable from anew however often it was",
        "absint.engine.iteration",
        "if visits[node] <= policy.patience:",
        "if True:",
        "module('tests.absint.test_strategies').deepest()",
        STRATEGIES,
    ),
    mutant(
        "descent-not-verified",
        "states that went below their transfer in the descending passes stay",
        "absint.engine.strategies",
        "        if passes:\n",
        "        if passes < 0:\n",
        "module('tests.absint.test_strategies').wobbling()",
        STRATEGIES,
    ),
    mutant(
        "edge-without-its-transfer",
        "an edge of a graph brings the state after its start",
        "absint.engine.graphs",
        "return self._analysis.edge(self._nodes[first], self._nodes[last], state)",
        "return state",
        "str(module('tests.absint.test_graph_analysis').counted())",
        "pytest tests/absint/test_graph_analysis.py",
    ),
)
