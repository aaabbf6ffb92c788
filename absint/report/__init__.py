"""What commands print; nothing here is imported before a command needs it.

summary      rows and totals of a result; text and document render them, tracing records how a value changes
proofs, contracts, checks, feeds, constraints, classes, explaining, explanation     the answers of the other commands
relations    relations and who states them, in one line each
study        the table of a study
text, plain  lines that fit a terminal, and texts of strangers made safe
"""
