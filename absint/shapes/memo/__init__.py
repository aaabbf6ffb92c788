"""Speed only: every answer is the same without this folder, and a test says so.

switch       turns the room off
cache        rule results kept across nodes, analyses and models
known_facts  facts of earlier analyses
reuse        first-round results that a further round need not compute again
gc_pause     no garbage collection while an analysis allocates
"""
