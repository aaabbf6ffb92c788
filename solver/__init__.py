"""Constraints and what they entail: cheap facts first, then Z3. Nothing here feeds the fixpoint.

constraints   Constraint, ConstraintSet: relations with origin, guard and role; documents: how JSON has them
prove         Prover: do these constraints entail this relation? Normal form, facts, then Z3 on the connected slice
candidates    sizes to try, for every search
minimal       redundant items dropped: minimal cores, clauses, premises
equivalence   terms partitioned into classes of proved equality
contracts/    the fewest, shortest clauses over input sizes
nearest/      the sizes that meet relations and are nearest to given ones
export/       constraint sets in the forms of other tools

How a proof is encoded:

translate     the meaning of dims and relations, in the operations of an abstract algebra
smtlib        its algebra of SMT-LIB text, for Z3 and any other solver
encode        its algebra of Z3 terms, for queries of your own; the only file but z3_process that imports z3
backend       the client of the Z3 process: start it, ask it, kill it past a time limit
z3_process    what that process does
"""
