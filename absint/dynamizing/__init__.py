"""Sizes of inputs as symbols: the constants that bake an old size in, and a model without them.

dynamize    `Result.dynamize` and its answer
request     the axes that become symbols; resizing: the symbols with their old sizes
finding     rounds of repairing, the shape analysis with repaired constants, and searching, which leads a requirement
            back to a constant; alignment reads targets of Reshape
silent      constants that may hold a size, and that no requirement is about
recipes     tables whose shape carries a size, as functions of it
constants   nodes and constants as they stand in the file
rewriting   the copy of the model; emitting: the nodes that compute sizes
"""
