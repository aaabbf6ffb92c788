"""Every rewrite of the constructors, and the modules that state them."""

from __future__ import annotations

from typing import Final

from absint.lattices.logic import comparisons, piecewise, relation
from absint.lattices.terms import division, extremes, normal, periodic, polynomials
from absint.lattices.terms.evaluation import stated_in

MODULES: Final = (division, extremes, normal, periodic, polynomials, comparisons, relation, piecewise)

REWRITES: Final = [rewrite for module in MODULES for rewrite in stated_in(module)]
