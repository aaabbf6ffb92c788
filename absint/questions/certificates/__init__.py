"""Certificates: lemmas from which the claims about a model follow, which any solver of SMT-LIB can check.

certify      the certificate of an analysis
certificate  its steps and lemmas, the standing of each claim, and manifest.json
folder       the folder that it is written to
check        check.py of that folder: needs nothing of absint
single       one answer as one file

chain        the steps of an analysis, round by round
step         one step: what it takes and gives, and on whose word
asked        the step of a relation that somebody asks about
proving      the most general lemma that Z3 proves
lemma        a lemma as a script
meanings     the specification of one node over names for sizes
legality     what is certain of a node that has run, by semantics
branches     the specification of an If; loops: that of a Loop
control      what is proved of the nodes that they become
claims       claims about values as terms
terms        dims and relations as terms of SMT-LIB
"""
