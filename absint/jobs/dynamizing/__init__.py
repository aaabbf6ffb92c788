"""Sizes of inputs as symbols: the constants that bake an old size in, and a model without them.

dynamize    `Result.dynamize` and its answer; listing: the constants and causes in it
preparing   symbols of one legal size, and initialisers that are inputs too
request     the axes that become symbols; resizing: the symbols with their old sizes
choosing    the one combination of readings that nothing refutes; judging: what is known beyond shapes, from runs on
            stacked rows (stacked) among others
finding     rounds of repairing, the shape analysis with repaired constants, and searching, which leads a requirement
            back to a constant; alignment lists the readings of a target of Reshape
changes     what the search changes
silent      constants that may hold a size, and that no requirement is about
recipes     tables whose shape carries a size, as functions of it
constants   nodes and constants as they stand in the file
rewriting   the copy of the model; emitting: the nodes that compute sizes
"""
