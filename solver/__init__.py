"""Z3 behind the analysis. Relations of the lattices become formulas here; nothing here feeds the fixpoint.

encode                       dims and relations as Z3 terms
"""
