"""Questions about a model, each a function of an `Analysed`. `sizes` decides which sizes run.

limits    the limits of an answer, checked
"""
