"""Analyses that run together: what they find is held against runs."""
