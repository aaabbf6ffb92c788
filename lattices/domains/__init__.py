"""Domains of plain values, ready for an analysis. The package is imported only by those who use it.

    sets         finite sets of values, up to a limit; with the limit 1 constants: FLAT; signs, an example in a page
    intervals    intervals of integers, with infinite ends and thresholds; `NumberDomain`, for `absint.ElementAnalysis`
    floats       intervals of floats: infinities, signed zeros, NaN, rounding to a format
    congruences  integers that leave a remainder
    bits         bits that are known, of integers in two's complement
    maps         an element for each key; intervals of differences of variables
    products     tuples of elements; reduced, by an operator, as STRIDED: intervals and congruences

Each is a `Lattice` with `text(element)`, `why_not_leq`, `allows(element, value)` for `check_laws`, and most have
`constant(value)`, the least element that allows a value. Those of numbers have the arithmetic that analyses need: an
operation gives an element that allows every result on values that its operands allow. docs/domains.md is an
introduction.

The numbers themselves are those of the analysis of shapes: `Interval` and `Congruence` of `terms.interval`, and
`Span` of `terms.ieee`.
"""

from __future__ import annotations

from absint.lattices.domains.bits import KnownBits, KnownBitsLattice
from absint.lattices.domains.congruences import CONGRUENCES, Congruences
from absint.lattices.domains.floats import FLOAT32, FLOAT64, FloatIntervals
from absint.lattices.domains.intervals import INTERVALS, Intervals, NumberDomain
from absint.lattices.domains.maps import Map, Maps, Zones
from absint.lattices.domains.products import STRIDED, Product, ReducedProduct, StridedIntervals
from absint.lattices.domains.sets import FLAT, SIGNS, FiniteSets, Signs, ValueSet
from absint.lattices.lattice import ValueDomain
from absint.lattices.terms.ieee import Span
from absint.lattices.terms.interval import Congruence, Interval

__all__ = [
    "CONGRUENCES", "FLAT", "FLOAT32", "FLOAT64", "INTERVALS", "SIGNS", "STRIDED", "Congruence", "Congruences",
    "FiniteSets", "FloatIntervals", "Interval", "Intervals", "KnownBits", "KnownBitsLattice", "Map", "Maps",
    "NumberDomain", "Product", "ReducedProduct", "Signs", "Span", "StridedIntervals", "ValueDomain", "ValueSet",
    "Zones",
]  # fmt: skip
