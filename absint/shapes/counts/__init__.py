"""Sizes that data decide, related to one another, for whoever asks; the analysis does where it adds some up.

numbering       values that are the same computation on the same operands
masks           truth values of tensors as functions of comparisons, and the places in a tensor where they hold
relations       what equal values, and masks of one shape, say of the sizes that they decide; sums of counts as sizes
"""
