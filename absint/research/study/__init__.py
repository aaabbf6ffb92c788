"""Studies over folders of models: the claims of authors, unification policies and tools, and the verdicts on them.

tasks          the pairs of a study, a model and a source, and the work of one; `absint.runs.pool` runs them; the
               makers of claims; runs of the models that are known
results        the outcome of each pair, in a file that a later run continues from
study          the study, and its table as data, CSV, JSON and pictures
queries        the equality queries of a pair as SMT-LIB scripts
smtlib_export  a folder of them with an index; solvers asks Z3 and cvc5
"""

from absint.research.study.results import Record
from absint.research.study.study import Row, Study, study

__all__ = ["Record", "Row", "Study", "study"]
