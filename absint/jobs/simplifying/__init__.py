"""Simplifying: a smaller copy of a model whose sizes stay symbolic, proved equal by a comparison of the two.

simplify     the job: rounds of passes until nothing changes, the proof, the copy in a file or in memory
knowledge    what is known of values at all legal sizes, and which nodes cannot fail
graphs       one walk over a graph and its bodies, in which every pass does its part
body         one graph while it is rewritten; pairs: nodes that undo each other, or of which one does the work
choosing     ways to compute the same sizes, chosen so that few nodes are left
targets      constants that do the same as a size in a target; emitting: the fewest nodes that compute sizes
running      runs of the model and of its copy, compared
shape_nodes  the nodes that compute with sizes alone
"""
