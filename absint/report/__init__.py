"""What commands print. `summary` gathers rows and totals from a result, `text` and `document` render them, `tracing`
records how a value changes. Nothing here is imported before a command needs it.
"""
