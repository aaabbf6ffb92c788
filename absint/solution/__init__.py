"""The findings of an analysis, without questions about them. Questions import `analysed`, never the facade in api.

analysed            a model, its program, the states of its nodes, and a memo for what questions derive from them
constraints         statements of the nodes, each with its origin and the condition of its path
loading             errors that keep a runtime from loading the model, whether or not a run meets them; nodes that
                    cannot run, and operators without a rule
loader_view         what a loader sees of nodes, also where no run gets; loops that may make no trip
described           values as text; values and shapes of one graph by name
naming              names for dims that are too long to read in place; what documents about a result begin with, and
                    the one about a model that has none; relations and the nodes that state them, in one line each
author_names        names that the author declares for fresh sizes
verify              the states are a post-fixpoint
"""
