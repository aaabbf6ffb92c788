"""The origin of a size, node by node.

question       the value and the place asked for; the derivation in names of the model
explanation    the answer, which prints itself as text (text) and JSON; derived has its parts, as data,
               and places: a dim, an element or a length of a value; why a number has no expression
derivation     follows numbers back through branches and loops; dependence: through operators
fresh          all symbols that stand for such numbers
"""
