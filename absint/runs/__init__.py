"""Real runs beside the analysis, and the one process that may die.

process     the client of a process: start, ask with a time limit, end; that it died is an answer like any other
serving     the program of the process: it serves requests with a function. Both use the standard library only

run         feeds for a model, and its run with onnxruntime, here or in a process of its own
loading     loads a model and does not run it: the shapes that a runtime finds
handed      a model on its way there
arrays      real tensors as users pass them
statements  an abstract value taken apart into statements about a real one
comparison  a solution compared with a run, a row for each claim; shown_sizes are those that the tensors show
session     the run itself
worker      a process under the memory limit of runs
pool        many of them, and the jobs that they share; jobs: these, or distributed on a Dask cluster
build       the identity of this installation
allowance   the memory limit of a process that runs a model
"""
