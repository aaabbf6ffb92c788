"""The table of costs: one run of each operator.

rules       the table: operator -> rule, and the operators that have none
instance    what a rule sees: one operator instance, with its inputs and outputs as abstract values
counted     rules that count elements: element-wise operators, reductions, normalisations, windows
products    rules of operators that multiply and accumulate: products, convolutions, recurrent layers, attention
"""
