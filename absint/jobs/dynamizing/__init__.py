"""Sizes of inputs as symbols: the constants that bake an old size in, and a model without them.

dynamize    `Result.dynamize` and its answer, with the constants and causes in it
judging     readings judged by named axes of outputs, by proofs about rows, and by runs on stacked rows
coinciding  numbers that may be an old size though nothing fails if they stay, alone or together with others
preparing   the axes that become symbols; symbols of one legal size, and initialisers that are inputs too
resizing    the symbols with their old sizes; tables whose shape carries one, as functions of it; changes
finding     rounds of repairing, the shape analysis with repaired constants, and searching, which leads a requirement
            back to a constant
choosing    the one combination of readings of targets that nothing refutes
alignment   the readings of a target of Reshape
rewriting   the copy of the model, with the nodes that compute sizes and tables
"""
