"""Symbolic integers in normal form: interned polynomials over atoms, their constructors and rewrites.

    intern         one object for each structure; results that are kept up to a total length
    interval       integer intervals, unions of them, congruences
    atoms          symbols, their kinds and origins, and operations without a polynomial form: floordiv, truncdiv, max,
                   min, broadcast, ite; products of atoms: order, product, exact quotient, bounds
    evaluation     values under a binding, without any rewrite; what rewrites state, as data, which a test proves
    dim            Dim: the methods of a dim, and Python's operators; Condition: that of a choice
    expr           Expr and Unknown: polynomials, with + - *, products and bounds
    periodic       functions of one symbol, settled by their first values
    polynomials    exact quotients, common factors, natural numbers whatever the symbols are
    extremes       maximum, minimum, broadcast
    division       floordiv, mod, ceildiv, truncdiv, fmod
    ieee           binary32 and binary64: operations, and intervals of their results
    float_bounds   how far a float may lie above a multiple of an integer, whatever is rounded
    floats         floats that a run rounds, as terms
    normal         every constructor of a composite atom in one table; symbols replaced, and atoms rebuilt; floats that
                   are cast to integers, and floats that are exact
    shortening     the shortest of the forms that one symbol decides
    shape_variables  symbols for lists of sizes, which stand in shapes alone

Nothing here knows of relations or texts.
"""
