"""Speed only: `absint.lattices.limits` turns it off, every answer is the same then, and a test says so.

cache        rule results kept across nodes, analyses and models; first-round results that a further round keeps
known_facts  facts of earlier analyses
gc_pause     no garbage collection while an analysis allocates
"""
