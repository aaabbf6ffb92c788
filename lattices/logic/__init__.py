"""Relations over symbolic integers, and facts about symbols.

    formula       Relation: a comparison with 0, or `and`, `or` over relations, without redundant operands; the truth of
                  one at sizes: YES, NO, UNKNOWN
    solving       what one comparison says of one symbol
    comparisons   the normal form of a comparison
    relation      the constructors: eq, ge, conjunction, divisible, ite, ...; where relations with quotients are true,
                  and where false
    facts         relations that hold: `simplify` and `decide`
    piecewise     choices: resolved if a condition decides them, dropped if they make no difference; sizes whose
                  choices are told apart, in the shortest known form

It builds on terms, and knows nothing of texts.
"""
