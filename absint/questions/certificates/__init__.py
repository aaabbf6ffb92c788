"""Certificates: lemmas from which the claims about a model follow, which any solver of SMT-LIB can check.

certificate  of an analysis: its steps and lemmas, the standing of each claim, its folder; relations asked about
check        check.py of that folder: needs nothing of absint
single       one answer as one file

chain        the steps of an analysis, round by round
step         one step: what it takes and gives, and on whose word
lemma        a lemma as a script; the most general lemma that Z3 proves
meanings     the specification of one node over names for sizes
control      that of an If and a Loop; what is proved of the nodes that they become
terms        dims, relations and claims about values as terms of SMT-LIB
"""
