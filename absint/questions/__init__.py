"""Questions about a model, each a function of an `Analysed`.

sizes         which sizes run? Legal ones, contracts, boxes, samples, the nearest
proofs        is it proved? Relations between dims, equal buffers
certificates  the lemmas of a proof, for other solvers
claims        are declared types true?
rows          may requests be batched? Row i depends on row i alone
costs         how much: arithmetic, traffic, memory
explain       why: the origin of a size
"""
