"""Arithmetic on known elements: exact, under numeric premises, or not at all.

premises     when a kernel's integers and floats equal the expression, and under which premises
arithmetic   sums, products, quotients, extremes, roundings: one function for each operation, by element type
logic        comparisons, connectives, and choices by a condition
rounded      floats as terms that round as the run does
conversion   casts between types, and the bits of integers
ramps        elements that grow along the axes, through arithmetic
folding      contents of an elementwise result: elements broadcast and combined
rearrange    contents of a tensor with its elements moved
cases        case distinctions over dims: choices that collapse, extremes, signs
"""
