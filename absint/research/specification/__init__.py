"""Specifications of operators: what a node computes as integer formulas, written from the documents of ONNX.

They share no code with the rules, and no analysis imports them: rules are proved against them, for all sizes.

    formulas     integer terms and formulas; sizes that are defined by what is true of them
    node         a node as a specification sees it, and its meaning
    specs        the specifications by operator; the grid of instances at which each is compared
    families     the files below, imported when a specification is asked for

    elementwise    each element from elements at the same place; broadcasting
    reductions     axes that become one element
    products       products of matrices and tensors
    windows        convolutions; pools: pools
    images         transposed convolutions, columns, regions, samples
    resizing       Resize and Upsample
    normalisation  normalisations and softmax
    layout         elements rearranged: transpose, concat, split, pad; slicing: Slice
    reshaping      Reshape
    indexing       elements read or written at given places
    generators     new tensors; quantisation
    texts          strings
    recurrent      layers in time
    losses         losses; spectra
    learning       classical machine learning: ai.onnx.ml
    attention      attention by heads, positions; states: layers with a state
    fused          com.microsoft: operators that fuse or extend those of ONNX
    gates          com.microsoft: streams, their norms and gates; layers on packed or quantised tensors
    tokens         com.microsoft: experts, hashes of n-grams, vectors of words
    memory         com.microsoft: attention over a memory, a packed table
    quantised      layers on quantised tensors
    extended       com.microsoft: operators of ONNX, packed products, embeddings; images of old
    sequences      sequences and optional values: their number and sizes; maps
    old_forms      forms before opset 8

    contents       elements of small tensors of integers and truths: arithmetic; placing: elements at other places
    picking        elements read and written at indices; rounding: floats that are known
    arrays         arrays of terms, and the registry of both
    data_dependent sizes that hang on data: bounds
    followed       the instances at which elements are compared
"""
