"""Z3 behind the analysis. Relations of the lattices become formulas here; nothing here feeds the fixpoint.

constraints                  Constraint, ConstraintSet: relations with origin, guard and role
prove                        whether constraints entail a relation: facts first, Z3 on the connected slice last
contract                     the fewest clauses over input sizes
shortening                   how they become few and short; cases, summaries and samples serve it
classes                      terms in classes of proved equality
export                       constraint sets in the forms of other tools: JSON, SMT-LIB, Python, torch.export, metadata
translate                    what dims and relations mean, in the operations of an algebra; the algebras are
encode                       Z3 terms, for queries of your own
smtlib                       SMT-LIB text, for the backend and for any solver
backend                      the Z3 process: started, asked, killed past a time limit
child                        what runs in that process
"""
