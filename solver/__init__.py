"""Constraints and what they entail: cheap facts first, then Z3. Nothing here feeds the fixpoint.

constraints   Constraint, ConstraintSet: relations with origin, guard and role, and how JSON has them
subsets       relations that are connected by symbols, and minimal ones: cores, clauses, premises
prove         Prover: do these constraints entail this relation? Normal form, facts, then Z3 on the connected slice;
              terms partitioned into classes of proved equality
candidates    sizes to try, for every search
contracts/    the fewest, shortest clauses over input sizes
nearest/      the sizes that meet relations and are nearest to given ones
export/       constraint sets in the forms of other tools

How a proof is encoded:

translate     the meaning of dims and relations, as terms of SMT-LIB
smtlib        scripts of them, for Z3 and any other solver, and symbols for all names
backend       the client of the Z3 process: start it, ask it, kill it past a time limit
z3_process    what that process does
encode        scripts as Z3 terms, for queries of your own; only this and z3_process import z3
"""
