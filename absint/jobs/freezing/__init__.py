"""Freezing: a copy of a model with some or all sizes of its inputs fixed, and everything folded that they decide.

freeze      the job: sizes checked, types written, graphs rewritten, the copy in a file or in memory
sizes       the sizes: checked, and those of further symbols that follow from them
exact       what every run at these sizes computes, whatever the data: elements, branches, nodes that cannot fail
differing   nodes on which runtimes differ: nothing that depends on them is folded
rewriting   graphs with constants in place of nodes, without what nothing needs; decided branches inline
dynamic     what is not fixed in a copy, and what it hangs on; the fewest symbols to fix so that every size is
"""
