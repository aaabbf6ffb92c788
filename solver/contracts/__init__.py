"""Contracts: the fewest and shortest clauses over input sizes that say when a model runs.

contract        Contract and its clauses, from the constraints of a first round, each with the constraints behind it
simplification  clauses simplified by each other, without a query; those with choices are taken apart into cases
shortening      clauses shortened and redundant ones dropped, by proof
summaries       one short clause about a symbol for several long ones, guessed at small sizes
premises        premises but for one, and sizes that show that this one is needed; small sizes to try before a proof
"""
