"""Costs of a run, as expressions over the input symbols.

cost, totals         arithmetic, traffic and parameters: per node, and over all runs of the nodes; amounts as text
memory, schedule     the peak of live memory, and the order of steps behind it
dominance            drops sums that another one is never below
bindings             sizes given to symbols, and the value of a term at them
operators/           the cost of each operator
"""
