"""For studies of soundness; a reader of the product need not open it.

specification   operators as integer formulas, written from their documents
obligations     rules proved against these
study           claims about many models, counted
"""
