"""Every rewrite of the constructors, and the modules that state them."""

from __future__ import annotations

from typing import Final

from absint.lattices.logic import comparisons, piecewise, relation, shortest
from absint.lattices.terms import broadcasting, division, extremes, periodic, sign
from absint.lattices.terms.rewriting import stated_in

MODULES: Final = (division, extremes, broadcasting, periodic, sign, comparisons, relation, piecewise, shortest)

REWRITES: Final = [rewrite for module in MODULES for rewrite in stated_in(module)]
