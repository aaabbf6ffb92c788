"""Relations over symbolic integers, and facts about symbols.

    relation      the constructors: eq, ge, conjunction, divisible, ite, ...
    formula       Relation: a comparison with 0, or `and`, `or` over relations
    comparisons   the normal form of a comparison
    single        what a comparison says of a single symbol
    solutions     comparisons over one symbol, by their solutions
    solving       an equation solved for a symbol
    connectives   and, or, not, implies, without redundant operands
    ranges        sets of integers, for comparisons of one term with constants
    truth         three-valued truth: YES, NO, UNKNOWN
    facts         relations that hold: `simplify` and `decide`
    piecewise     choices: resolved if a condition decides them, dropped if they make no difference; sizes whose
                  choices are told apart, in the shortest known form
    definedness   where relations with quotients are true, and where false

It builds on terms, and knows nothing of texts.
"""
