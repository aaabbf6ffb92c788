"""The abstract domains, from integers up to values. Standard library only.

    terms/         symbolic integers in normal form
    logic/         relations over them, and what is known
    text/          one grammar for both: parse and print
    domains/       domains of plain values for analyses of one's own: intervals, sets, maps, products
    operators      what Python's operators, `str()` and `Dim(text)` compute, for the classes in terms and logic
    deadline       a time limit that every layer looks at
    records        named tuples that cost little to define
    speed          the switch of what is there for speed alone
    limits         what one answer may take: seconds, steps and memory of Z3
    lattice        what a domain must offer
    laws           the laws of a domain, as tests
    rows           tuples of elements
    dim            the lattice of dims
    shape dtype    shapes and element types; shape_lattice, shape_texts
    shape_choice   a few shapes, of which sizes choose one
    starred        the known dims of shapes of unknown rank, `[N, *s, 64]`
    contents ramp  known elements of a tensor; elements that grow evenly along its axes
    block          elements in row-major order, moved about
    value          abstract values: tensors, sequences, optionals, maps
    value_lattice  their lattice
    unify          what two shapes become together, and the policies of other tools; policy_names: their names

To add a domain, read `lattice.py` for what it must offer and `dim.py` for an example of eighty lines; `laws.py` has the
laws that it must pass.
"""
