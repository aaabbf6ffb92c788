"""Real runs beside the analysis, and the processes that carry them.

run         feeds for a model, and its run with onnxruntime, here or in a process of its own; session is the run itself
arrays      real tensors as users hand them over
statements  an abstract value taken apart into statements about a real one
comparison  holds a solution against a run, a row for each claim; shown_sizes are those that the tensors show
worker      who asks a process that may crash or hang; serve is the process that answers
pool        many of them, and the jobs that they share
allowance   how much memory a process that runs a model may hold
"""
