"""Queries with the verdict that each must get, and what real runs say of them.

rows        one query: the model, the text, the verdict, why
graphs      the handwritten models
handwritten the queries about them
corpus      the queries about models of real exporters, where the corpus lies beside the checkout
truth       what a query says of one run, computed without absint
"""
