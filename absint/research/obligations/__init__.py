"""Proof obligations about rules: each is proved against the specification of its operator, for all sizes at once.

making       the obligations of a rule at one instance: exact, necessary, sufficient; and their record
solving      an obligation, a formula that must have no model; Z3 and cvc5 on it
nodes        the instances that the nodes of a model are, and what is proved there; the operators that have a rule, the
             versions of each, and which of these are specified
"""
