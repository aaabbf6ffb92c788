"""Soundness of whole models: the node models of the `onnx` package, made symbolic and held against real runs.

    models    a node test -> its symbolic variants, and the array that each input gets under a binding
    runs      execution: onnxruntime (in a process of its own: `child`), or onnx.reference where it has no kernel
    claims    what a run says about the claims of an analysis
    harness   one node test: analyse every variant, run every sampled binding, collect what is wrong
    limits    what the runtimes are known to do other than the spec says

`python -m tests.soundness --thorough` is the long fuzz; it prints the table of operators.

    constant_sweeps   every form of every operator on constants; constant_nodes: random ones (`constant_moves`,
                      `constant_values`)

`python -m tests.soundness.constant_sweeps` hunts for elements that onnxruntime computes otherwise.

    random_graphs   random models of many nodes (`graph_drafts`, `graph_moves`, `graph_operators`, `graph_shrinks`)

`python -m tests.soundness.random_graphs --seconds 60 --seed 0` hunts there for wrong claims.

    random_nodes    random models of one node, driven by the schemas (`node_sources`, `node_changes`, `node_drafts`,
                    `node_schemas`, `node_runs`, `node_inference`, `node_sweeps`, `node_rounds`, `node_shrinks`)

`python -m tests.soundness.random_nodes --count 500 --seed 0` hunts for wrong claims, and for nodes that are said to run
and do not; `--sweep 2` changes one thing of each node at a time, `--every 10` goes through all operators.

    function_nodes  operators that onnxruntime runs as the function that defines them

`python -m tests.soundness.function_nodes` hunts for what such a run contradicts, of every type.

    random_proofs   random questions about random models (`proof_graphs`, `proof_runs`, `proof_queries`, `proof_checks`)

`python -m tests.soundness.random_proofs --seconds 60 --seed 0` hunts for wrong proofs, checks and contracts.

    random_visits   random models of nested bodies and functions (`nested_drafts`, `nested_models`); `visits` interprets
                    them and records what each visit of a body computes

`python -m tests.soundness.random_visits --seconds 60 --seed 0` hunts for wrong claims about values inside bodies.

    random_rows     random models whose inputs have rows (`row_moves`); `row_runs` compares each row with a run on it
                    alone, `row_nodes` does so for the node tests

`python -m tests.soundness.random_rows 1000 0` hunts for false claims about rows, and `python -m
tests.soundness.row_nodes` holds those about all node tests against runs.
"""
