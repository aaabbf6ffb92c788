"""Contracts: the fewest and shortest clauses over input sizes that say when a model runs.

contract     Contract and its clauses, from the constraints of a first round
shortening   clauses simplified by each other, redundant ones dropped
case_split   clauses with max, min, broadcast or ite taken apart into cases
summaries    one short clause about a symbol for several long ones, guessed at small sizes
samples      small sizes to try before a proof
"""
