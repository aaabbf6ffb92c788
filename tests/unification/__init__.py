"""Rules about symbolic dims judged by Z3 from the concrete semantics, and shown by runs: docs/unification.md.

formula    integer formulas: one text, a Z3 term and a computation
row        a rule with its model, and the sources that are judged
judging    proved, or refuted with the smallest sizes
runs       a row's model in onnxruntime; answers: what absint says of it
unifying broadcasting operators propagation arithmetic corners questions    the rows; `tables` has them all
policies readings points    the other tables of the page; `page` writes it
"""
