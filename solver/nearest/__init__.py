"""Sizes that meet relations and are nearest to given ones, in order.

domain      the sizes of one symbol that facts leave, by distance
search      sizes of symbols that relations tie together: all points by distance, then questions to Z3; the parts,
            which share no symbol, in one order
"""
