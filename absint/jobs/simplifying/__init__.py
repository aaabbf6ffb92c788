"""Simplifying: a smaller copy of a model whose sizes stay symbolic, proved equal by a comparison of the two.

simplify  the job: rounds of passes, the proof, the copy in a file or in memory; nodes that compute with sizes alone;
          runs of the model and of its copy, compared
"""
