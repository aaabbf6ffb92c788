"""Every version of every operator, and what shows that its rule is right.

`history` lists the versions, `schemas` says what changed between two, `boundaries` why one rule serves both. `evidence`
finds runs: `old_forms` and `later` are cases, `maps` and `scan_8` models. Where no runtime has a form, `definitions`
says in numpy what it computes, and `converted` asks onnx's version converter.
"""
