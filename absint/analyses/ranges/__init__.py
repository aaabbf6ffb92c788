"""Ranges of the values of tensors, for inputs in given ranges, and what can go wrong with them.

analysis    the analysis, the rule of each operator, and the answer of Result.ranges
seen        what a rule sees of a node, and what it notes of its values; what can go wrong with them
rules       what rules are made of: rounding, sums; what an operand was computed from
functions   arithmetic, functions and truths of elements
tensors     parts and stacks, indices, other types, quantised numbers; trees, linear models, encoders, scalers
sums        products of matrices, convolutions, reductions
norms       normalisation, recurrent layers
fused       operators of onnxruntime; means of values, weighed by a Softmax; pools, and images in other sizes
"""

from absint.analyses.ranges.analysis import Ranges, ValueRanges
from absint.analyses.ranges.seen import DOMAIN, Certainty, NumberRanges, RangeFinding

__all__ = ["DOMAIN", "Certainty", "NumberRanges", "RangeFinding", "Ranges", "ValueRanges"]
