"""Transfer functions: what each operator does to abstract values, and what it needs in order to run.

    op rule table                what a rule sees and states; how it is declared; how it is found
    attributes stated returned   parts of op: attributes by type, what is stated of a node, what a rule gave back
    families                     the list of modules that make up the shipped table
    ramps                        elements that grow along the axes, through arithmetic
    contrib/                     operators of other domains than ai.onnx

Every other module is one family of operators. To add an operator, read `rule.py` and a short family such as
`linalg.py`: one decorated function, and one case in `tests/transfer` that holds it against real runs.
"""
