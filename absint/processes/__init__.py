"""The one way to run code that may crash, hang or eat all memory: in a process of its own. Standard library only.

process  the client: start, ask with a time limit, end; that the process died is an answer like any other
serving  the program of the process: it serves requests with a function
"""
