"""Mutation check: faults put into rules, rewrites, engine and solver, and the tests that must see each of them.

    mutant      a fault as data: what it breaks, the text that it replaces, a witness, its oracles
    catalogue   the faults, by the part that they are in
    planting    puts a fault into a process as its module is imported; no file changes
    startup     does so in every Python that starts with the environment of `planting`
    witnesses   a fault really changes behaviour: one expression, evaluated with it and without
    sound_only  a pytest plugin that switches the precision expectations of rule cases off
    hunting     runs the oracles, without a fault and with one
    generated   small faults in rules, made from their source: nobody chose them
    effects     what a fault changes of what rules say of the cases in tests/transfer
    swapping    replaces the code of functions in a process that has the rules imported
    copies      each fault in a copy of one process
    by_proof    whether the obligations of a rule see a fault, without any run
    specifications  whether proofs and runs see a fault in a specification
    argued      faults in specifications that nothing can see, and why

`python -m tests.mutants [--only NAME] [--jobs N]` runs the catalogue: a fault that no oracle sees is a hole
in the suite. `--by-proof` asks the obligations of rules alone. `--specifications` plants faults in specifications.
"""
