"""Brute force for cost and memory: a run taken apart node by node, and what is counted on the arrays that it shows.

execution    runs a graph, bodies trip by trip, and counts live bytes, arithmetic and traffic at each node
arithmetic   what one run of a node takes, from its arrays
models       small models with control flow, with sizes and data to run them
"""
