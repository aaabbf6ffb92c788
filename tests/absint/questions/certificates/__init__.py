"""Certificates: rechecked with solvers outside of absint, and changed in every part, which must be found.

checking   a certificate as its reader checks it
"""
