"""Symbolic integers in normal form: interned polynomials over atoms, their constructors and rewrites.

    atoms          symbols, and operations without a polynomial form: floordiv, truncdiv, max, min, broadcast, ite;
                   products of atoms: order, product, exact quotient, bounds
    dim            Dim: the methods of a dim, and Python's operators
    expr           Expr and Unknown: polynomials, with + - *, products and bounds
    normal         every constructor of a composite atom in one table; broadcast
    condition      the condition of a choice
    division       floordiv, mod, ceildiv, truncdiv, fmod
    extremes       maximum, minimum
    polynomials    exact quotients and common factors
    periodic       functions of one symbol, settled by their first values
    shortening     the shortest of the forms that one symbol decides
    sign           natural numbers, whatever the symbols are
    substitution   symbols replaced, and atoms rebuilt
    evaluation     values under a binding; no rewrite takes part
    rewriting      statements of rewrites as data, which a test proves
    interval       integer intervals and congruences
    real           floats that are exact: an expression over a constant
    floats         floats that a run rounds, as terms
    float_casts    the integers that floats are cast to
    ieee           binary32 and binary64: operations, and intervals of their results
    shape_variables  symbols for lists of sizes, which stand in shapes alone
    kinds          kinds of symbols, and their origins
    intern         one object for each structure
    kept           results that are kept up to a total length

Nothing here knows of relations or texts.
"""
