"""Real runs beside the analysis, and the one process that may die.

process     the client of a process: start, ask with a time limit, end; its death is an answer like any other
serving     the program of the process: it serves requests with a function. Both use the standard library only

run         feeds for a model, and its run with onnxruntime, here or in a process of its own
session     the run itself, and the model on its way there
loading     loads a model and does not run it: the shapes that a runtime finds
statements  real tensors as users pass them; an abstract value as statements about one, each a row of a comparison
comparison  a solution compared with a run, at the sizes that the tensors show
pool        processes under the memory limit of runs, which allowance tells, and jobs that many share: these, or a Dask
            cluster
"""
