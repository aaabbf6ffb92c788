"""Jobs on analysed models: copies, comparisons, gates.

copies       types written into a copy (annotate); the gate and the writer that every copy goes through
rewriting    passes over graphs, which freezing and simplifying have in common
freezing     a copy at fixed sizes, simplified there
simplifying  a smaller copy whose sizes stay symbolic, proved equal
dynamizing   sizes as symbols: a copy without the constants that hold old sizes
profiles     ranges of sizes for engines, proved legal
diffing      two models side by side
linting      one gate for many models
auditing     the claims of others, held against proofs and runs

Jobs on one analysis stand below `absint.result`; those on several models (the last three) call `absint.api`.
"""
