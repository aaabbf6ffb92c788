"""Studies over folders of models: what authors, unification policies and tools claim, and what the claims are worth.

sources      who makes claims
tasks        the pairs of a study, a model and a source, and how one is done
recorded     runs that are known of the models
running      jobs in processes of their own, of this machine; child is such a process
distributed  the same jobs on a Dask cluster
results      what became of each pair, in a file that a later run continues from
studying     the study
tables       its table as text, CSV and JSON; plots as pictures
queries      the equality queries of a pair as SMT-LIB scripts
exporting    a folder of them with an index; solvers asks Z3 and cvc5
"""

from absint.study.results import Record
from absint.study.study import Study, study
from absint.study.tables import Row

__all__ = ["Record", "Row", "Study", "study"]
