"""Formulas that are made of others: equalities, negations, conjunctions; what is true and what is false."""

from typing import Final

from absint.research.specification.terms import Formula, Int, term


def equal(a: Int, b: Int) -> Formula:
    """Both are the same number."""
    return Formula("=", (term(a), term(b)))


def negated(formula: Formula) -> Formula:
    """The formula does not hold."""
    return Formula("not", (formula,))


def both(*formulas: Formula) -> Formula:
    """All hold; true of none."""
    return formulas[0] if len(formulas) == 1 else Formula("and", formulas)


def either(*formulas: Formula) -> Formula:
    """One holds at least; false of none."""
    return formulas[0] if len(formulas) == 1 else Formula("or", formulas)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """The conclusion holds where the premise does."""
    return either(negated(premise), conclusion)


TRUE: Final = Formula("and", ())
FALSE: Final = Formula("or", ())
