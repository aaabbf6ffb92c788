"""What one run of an operator costs, operator by operator.

instance    what a rule sees: one operator instance, with its inputs and outputs as abstract values
rules       the table: operator -> rule, and the operators that have none
counted     rules that count elements: element-wise operators, reductions, normalisations, windows
products    rules of operators that multiply and accumulate: products, convolutions, recurrent layers, attention
"""
