"""Speed only: `absint.lattices.limits` turns it off, every answer is the same then, and a test says so.

cache        rule results kept across nodes, analyses and models
known_facts  facts of earlier analyses
reuse        first-round results that a further round need not compute again
gc_pause     no garbage collection while an analysis allocates
"""
