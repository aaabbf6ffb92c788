"""Z3 behind the analysis. Relations of the lattices become formulas here; nothing here feeds the fixpoint.

export                       constraint sets in the forms of other tools: JSON, SMT-LIB, Python, torch.export, metadata
translate                    what dims and relations mean, in the operations of an algebra; the algebras are
encode                       Z3 terms, for queries of your own
smtlib                       SMT-LIB text, for the backend and for any solver
backend                      the Z3 process: started, asked, killed past a time limit
child                        what runs in that process
"""
