"""The lowered program, as data: one graph for the main graph, all subgraphs and all inlined functions.

    graph       Program, Scope; digraph is the program for NetworkX
    nodes       Node, the columns in which the nodes of a program lie, and the operations that equal nodes share
    steps       what If, Loop, Scan and SequenceMap become, as data: gates, heads, joins and exits

From a model to a program:

    lowering          walks the bodies; lowering_control lowers control flow
    lowered           Lowered, the program with the types that the author declares; bodies and calls under way, and the
                      diagnostics
    sources           inputs and initialisers as nodes
    legality          names, imports and versions for which loaders refuse a model
    instances         which operation an operator instance gets, also in a function of other opsets
    shared_prefix     speed only: first nodes that an earlier model had too, copied
    folded            calls that stay one node, with a program of their own; functions named as operators
    rules             which rule an operator gets
    limits            deadlines and node budgets
"""
