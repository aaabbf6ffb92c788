"""The origin of a size, node by node.

question       the value and the place asked for
explanation    the answer, which prints itself as text and JSON (text, document); derived has its parts, as data
steps          the derivation in names of the model
derivation     follows numbers back: dependence through operators, flow_sources through branches and loops
reasons        why a number has no expression; fresh has all symbols that stand for such numbers
places         a dim, an element or a length of a value
"""
