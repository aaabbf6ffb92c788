"""Speed only: every answer is the same without this folder, and a test says so.

switch       turns the room off
cache        rule results kept across nodes, analyses and models
known_facts  facts of earlier analyses
reuse        first-round results that a further round need not compute again
sweep        one loop over a graph without cycles, for nodes of which the result is known
gc_pause     no garbage collection while an analysis allocates
"""
