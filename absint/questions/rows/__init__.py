"""May requests be batched? For each output, whether its row i depends on row i of the inputs alone.

answer     the axes that are followed, what is found of each output, and the first node where rows meet
evidence   where rows are, where they meet, and a run that shows it
witness    runs that show two rows in one place
"""

from absint.questions.rows.answer import OutputRows, RowPath, Rows, is_called_batch, proved, row_path, rows, rows_along

__all__ = ["OutputRows", "RowPath", "Rows", "is_called_batch", "proved", "row_path", "rows", "rows_along"]
