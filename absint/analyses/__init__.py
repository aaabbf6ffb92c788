"""Analyses of a solved program, run by the engine.

forward        the base class of forward analyses of values, and `@on`, which marks methods that handle operators
arithmetic     a forward analysis of elements, for a domain of numbers
backward       the same backward: what users need of a value
queries        questions that analyses ask each other; bounds of elements, from what the shape analysis knows;
               states of nodes, and an analysis as others see it; the comparisons that a condition is made of
values         what forward and backward analyses have in common; their findings about nodes, as diagnostics
frame          a program, and what analyses see of each other while they run over it; folded calls, run once
exchange       several analyses in one solver, which ask each other, in turns; what they found, by name
advising       what they tell the shape analysis
liveness       when each value dies; the graphs of a program as a tree: branches and bodies of loops; elements and
               bytes of a value
devices      where nodes run beside an accelerator, and what is copied; which kernels CUDA has, a table
independence/  where rows go, and whether they stay apart
ranges/      ranges of values, and what can go wrong with them
"""
