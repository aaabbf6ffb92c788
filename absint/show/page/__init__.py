"""One HTML file about a result, which needs no server and no network: a plain document, and with scripts a tool.

content        the data: nodes, values, sizes, contract, costs, lives of values
instructions   dims and relations as a table that a browser evaluates
groups         nodes folded by scopes, functions and repetition; what is said of a node
derivations    where sizes come from, as texts with links
page           the document that reads without scripts, section by section, and the data; the page in a notebook
frame          the file around a document: styles, scripts with their hashes, and the policy that allows nothing else
assets         styles and scripts, joined by frame: sizes, nearest legal ones, the graph (groups, graph, view), details,
               search, charts (memory, region); dagre (MIT licence) lays graphs out
"""
