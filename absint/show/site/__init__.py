"""A static page that runs absint in the browser: it needs a server of files, and none that computes.

files          what the folder holds: the page, absint as an archive, and Pyodide, whose files are known by their hashes
answers        the answers of the page; they are computed in Pyodide, in a Web Worker
assets         the page, its style and script, and the worker
"""
