"""Arithmetic on known elements: exact, under numeric premises, or not at all.

premises     when a kernel's integers and floats equal the expression, and under which premises; floats as terms that
             round as the run does
arithmetic   sums, products, quotients, extremes, roundings: one function for each operation, by element type
logic        case distinctions over dims, extremes, signs; comparisons, connectives, and choices by a condition
conversion   casts between types, and the bits of integers
folding      contents of a result: elements broadcast, combined and moved; ramps that grow along the axes
"""
