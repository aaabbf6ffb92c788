"""Proof obligations about rules: each is proved against the specification of its operator, for all sizes at once.

obligation   a formula that must have no model, and what that means
making       the obligations of a rule at one instance: exact, necessary, sufficient
solving      Z3 and cvc5 on an obligation
record       the record of a rule: proved, refuted, undecided, and what it leaves open
ruled        the operators that have a rule, the versions of each, and which of these are specified
"""
