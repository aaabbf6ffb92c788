"""Transfer functions: what each operator does to abstract values, and what it requires in order to run.

To add an operator, write one decorated function in its family below (`linalg` is a short one to read first), one case
in `tests/transfer` that holds it against real runs, and its name in the line of its family in `families`. A rule says
what ONNX says; what onnxruntime asks for beside that has a `by=`, what it computes otherwise an overlay above the rule.

The machinery:

    stated       Statement, PossibleFailure, Applied: what one application of a rule gives; errors; a rule as Ops see it
    ordinary     which numeric premises may be assumed: those that hold for all ordinary sizes
    stating      attributes by type; the verbs by which a rule states: require, define, assume, may_fail, reject
    op           Op: inputs, attributes, statements, broadcasting; all that a rule sees
    forms        an operator in one line, `X[N, M] w[M]? -> Y[N]`: inputs and outputs, and how dims move
    rule         Rule, @rule, @overlay; `shaped`: rules that are forms alone; Table: (domain, operator, version) -> rule
    semantics    the runs that an analysis is about: those of ONNX's documents, of onnxruntime, or of either
    application  apply: run a rule on an Op and check what it returns; restate: for the inputs of another operator
    traits       which operators draw random numbers, keep their elements in order, or read a shape alone
    families     which family has the rules of an operator, and the shipped table

Shared by several families:

    elements/    arithmetic on known elements: sizes computed in the graph
    conditions   what inputs must be and how they must agree, also beyond the documents, in the same words
    window       sliding windows, of convolutions and pools
    heads        inputs of attention by heads, also where onnxruntime runs the function that defines it

The families:

    element by element     elementwise (with quantisation) broadcasting
    products               linalg (with Einsum) attention
    windows and images     convolution pooling (with sampling) padding resize
    statistics             reduction (with losses and training) normalisation
    shapes and layout      shape_ops reshape layout concat (with Split)
    reading and writing    slicing gather (with scatter) selection (with strings, boxes, images)
    new tensors            generators
    sequences, optionals   sequences
    layers in time         recurrent (with LinearAttention and Fourier transforms)
    other domains          contrib/
"""
