"""Rewriting: passes over the graphs of a copy of a model, which freeze and simplify have in common.

rounds     passes, repeated until nothing changes, in one walk over a graph and its bodies
exact      what every run computes, whatever the data: elements, branches, nodes that cannot fail; the same at all legal
           sizes, with what nodes before a node require; differing: nodes on which runtimes differ
folding    graphs with constants in place of nodes, without what nothing needs; decided bodies inline
body       one graph while it is rewritten; pairs: nodes that undo each other, or of which one does the work
noops      nodes that give back what they take
targets    constants that do the same as a size in a target; ways to compute sizes, chosen so that few nodes are left
emitting   nodes that compute expressions, the fewest that are found
numbered   the values of a model numbered by what computes them, by which a comparison finds equal ones
"""
