"""Freezing: a copy of a model with some or all sizes of its inputs fixed, simplified at these sizes.

freeze      the job: sizes checked, types written, rounds of passes, the copy in a file or in memory
sizes       the sizes: checked, and those of further symbols that follow from them
dynamic     what is not fixed in a copy, and what it hangs on; the fewest symbols to fix so that every size is
"""
