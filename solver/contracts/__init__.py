"""Contracts: the fewest and shortest clauses over input sizes that say when a model runs.

contract        Contract and its clauses, from the constraints of a first round
causes          the constraints behind a clause, the one that states it first
components      clauses in groups that share no symbol
simplification  clauses simplified by each other, without a query
shortening      clauses shortened and redundant ones dropped, by proof
case_split      clauses with max, min, broadcast or ite taken apart into cases
summaries       one short clause about a symbol for several long ones, guessed at small sizes
exclusion       relations over elements that no values meet together
samples         small sizes to try before a proof
premises        premises but for one, and sizes that show that this one is needed
"""
