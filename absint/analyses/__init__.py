"""Analyses of a solved program, run by the engine.

forward        the base class of forward analyses of values; write your own with it
liveness       when each value dies
regions        the graphs of a program as a tree: branches and bodies of loops
value_sizes    elements and bytes of a value
"""
