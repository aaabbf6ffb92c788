"""May requests be batched? For each output, whether its row i depends on row i of the inputs alone.

answer     the axes that are followed, what is found of each output, and the first node where rows meet
witness    runs that show two rows in one place
"""

from absint.questions.rows.answer import OutputRows, Rows, rows

__all__ = ["OutputRows", "Rows", "rows"]
