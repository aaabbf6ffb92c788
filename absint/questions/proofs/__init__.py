"""Questions that need proof, each a function of an `Analysed`.

text              relations and dims that name values of the model
proofs            is a relation true in every run? proof: the answer, and the numeric premises that it rests on;
                  the provers, one for each set of premises
evidence          runs of the model at the sizes of a counterexample
clauses           those of a contract, in the order in which they matter, and what long ones mean
requirements      what nodes require of the sizes of the inputs, in few and short relations; numeric premises
equivalence       dims, shapes and buffers in classes of proved equality
smt_refinement    open choices in dims that Z3 settles if it is asked for; another round uses them

To add a question, write a function of an `Analysed` in the room that it belongs to, and a method of one line in
`absint.result.Result`.
"""
