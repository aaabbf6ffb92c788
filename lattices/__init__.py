"""The abstract domains, from integers up to values. Standard library only.

    terms/         symbolic integers in normal form
    logic/         relations over them, and what is known
    text/          one grammar for both: parse and print
    domains/       domains of plain values for analyses of one's own: intervals, sets, maps, products
    operators      what Python's operators, `str()` and `Dim(text)` compute, for the classes in terms and logic
    limits         what one answer may take: seconds, Z3's steps and memory; the switch of shortcuts
    records        named tuples that cost little to define
    lattice        what a domain must offer; the base of domains of plain values; tuples of elements
    laws           the laws of a domain, as tests
    shape dtype    shapes and element types
    shape_lattice  the lattices of dims and of shapes
    shape_choice   a few shapes, of which sizes choose one
    starred        the known dims of shapes of unknown rank, `[N, *s, 64]`; the text of a shape, read
    contents ramp  known elements of a tensor; elements that grow evenly along its axes
    block          elements in row-major order, moved about
    value          abstract values: tensors, sequences, optionals, maps
    value_lattice  their lattice
    unify          what two shapes become together, and the policies of other tools; policy_names: their names

To add a domain, read `lattice.py` for what it must offer and `DIMS` for an example of fifty lines; `laws.py` has the
laws that it must pass.
"""
