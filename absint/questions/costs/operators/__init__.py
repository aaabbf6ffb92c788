"""The table of costs: one run of each operator.

rules       the table: operator -> rule, the operators that have none, and rules that count elements
instance    what a rule sees: one operator instance, with its inputs and outputs as abstract values
products    rules of operators that multiply and accumulate: products, convolutions, recurrent layers, attention
"""
