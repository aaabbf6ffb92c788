"""Specifications of operators: what a node computes as integer formulas, written from the documents of ONNX.

They share no code with the rules, and no analysis imports them: rules are proved against them, for all sizes.

    terms        integer terms and formulas
    formulas     formulas made of others
    node         a node as a specification sees it, and its meaning: sizes that are defined by what is true of them
    choices      attributes that name one of a few ways
    specs        the specifications by operator; the grid of instances at which each is compared

    elementwise    each element from elements at the same place; broadcasting; products of matrices and tensors
    reductions     axes that become one element; normalisations and softmax; losses; spectra
    windows        convolutions and pools
    images         transposed convolutions, columns, regions, samples; Resize and Upsample
    layout         elements rearranged: transpose, concat, split, pad
    reshaping      Reshape; Slice
    indexing       elements read or written at given places
    generators     new tensors; sizes; quantisation
    recurrent      layers in time, and with a state
    learning       classical machine learning: ai.onnx.ml
    attention      attention by heads, positions
    fused          com.microsoft: operators that fuse or extend those of ONNX
    gates          com.microsoft: streams, their norms and gates; layers on packed or quantised tensors
    tokens         com.microsoft: experts, hashes of n-grams, vectors of words; attention over a memory
    extended       com.microsoft: operators of ONNX, packed products, embeddings; quantised layers; images of old
    sequences      sequences and optional values: their number and sizes; maps; strings
    old_forms      forms before opset 8

    contents       elements of small tensors of integers and truths: arithmetic, known floats
    placing        elements at other places, and read and written at indices
    arrays         arrays of terms, and the registry of both
    data_dependent sizes that hang on data: bounds
    edges          nodes whose elements are compared, and nodes at the edge of what is legal
    attributes     attributes that the grids leave out, set at nodes of several kinds
"""
