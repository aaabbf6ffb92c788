"""Two models side by side: what a caller of the first finds other in the second.

comparison      `absint.diff`, its answer `Diff` and its document; answers: the parts, findings among them
correspondence  inputs and outputs in pairs; symbols of one model over those of the other, read off the axes of inputs
legality        does each requirement of one model follow from those of the other, with all that is known of the sizes?
outputs         names, types and sizes of inputs and outputs
witness         runs of both models on the same inputs; the computed values that are the same in both
figures         costs, peak memory, coverage; opsets, operators, diagnostics; computed values of one name
report          a comparison as text, as tables for a notebook and as a page
"""
