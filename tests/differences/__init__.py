"""Where ONNX's documents, onnx.reference, onnxruntime and this package differ: docs/differences.md, executed.

    outcomes  one node at given sizes: by the documents, in each runtime, and by the analysis
    rows      rows of the page: the smallest nodes that were found, and nodes of operators without a specification
    search    looks for differences on the grids of the specifications, and writes `found.json`
    page      the page

python -m tests.differences writes the page; --check compares it; --search looks for rows first (some minutes).
"""
