"""Rewriting: passes over the graphs of a copy of a model, which freeze and simplify have in common.

rounds         passes, repeated until nothing changes
exact          what every run computes, whatever the data: elements, branches, nodes that cannot fail; differing: nodes
               on which runtimes differ
knowledge      the same at all legal sizes, with what nodes before a node require
folding        graphs with constants in place of nodes, without what nothing needs; decided bodies inline
graphs         one walk over a graph and its bodies, in which every other pass does its part
body           one graph while it is rewritten; pairs: nodes that undo each other, or of which one does the work
noops          nodes that give back what they take
choosing       ways to compute the same sizes, chosen so that few nodes are left
targets        constants that do the same as a size in a target; size_emitting: the fewest nodes that compute sizes
emitting       nodes that compute expressions
numbered       the values of a model numbered by what computes them, by which a comparison finds equal ones
"""
