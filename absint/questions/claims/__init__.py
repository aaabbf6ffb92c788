"""Declared types held against the inferred ones.

claims         what a claim is, what may be used to judge it, and the verdict
reading        declarations, equal ones together; claims of any source as relations between inferred dims
judging        the verdicts: by facts and legal sizes (conditions), as far as the effort goes by proving; false
               declarations, each with sizes at which it is false; all diagnostics of an analysis
conditions     where a claim is made, in which graph and which trip of a loop, and legal sizes that make it false
proving        claims judged by runs of the model, at sizes that tell them apart, and by the solver
trust          declared shapes as premises, on request
"""
