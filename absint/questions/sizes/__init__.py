"""Which sizes run? Everything that says so asks here.

outcomes, neighbours   the answers
checking               one size of each symbol: the model analysed at these sizes, the first broken requirement;
                       `judge` keeps the checks of a model
boxes                  all sizes of a box, by proof and by checks
contracts              the legal sizes as clauses; legal sizes to try a model at
nearest                the legal sizes nearest to given ones
start                  sizes to begin with where nobody gives any; the smallest at which a relation is false
falsifying             legal sizes at which conditions are false, found without a solver

A size is *illegal* if no data let the model run, it *runs* if all data do, and else it is *legal* as far as is known:
the nodes that may fail are named. What data and what rules leave open is a `PossibleFailure`.
"""
