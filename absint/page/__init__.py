"""One HTML file about a result, which needs no server and no network: a plain document, and with scripts a tool.

content        the data: nodes, values, sizes, contract, costs, lives of values
instructions   dims and relations as a table that a browser evaluates
groups         nodes folded by scopes, functions and repetition
page           the file: the document that reads without scripts, the data, the scripts with their hashes
assets         styles and scripts; dagre (MIT licence) lays graphs out
"""
