"""Secret pairs: of which two values an activity has must not be known, and how far apart they are.

A value is what an activity adds to a tick: a number, a place, or a set of places. An occurrence of
a policy with the pairs P changes a stream so: within its interval, in up to T ticks in a row, one
value of a pair stands where the other one stood. What else the person does stays as it is.

Claim. theta, the largest distance of a pair, covers P: whatever is promised of a policy with the
threshold theta in each of its T ticks is promised of one with P. For each tick changes by the
distance of a pair, which is theta at most; so these streams are among the neighbours of that policy
(Swellfish specification, section 1.1), and a promise about more neighbours is a promise about some.
More than P is hidden: also what lies between two values, as where an activity takes half of a tick.

Claim. Two values that are no pair are told apart by ceil(d / theta) epsilon at most, where d is
their distance. For numbers and sets, one step after the other changes the value by theta or less,
and so many steps lead from the one to the other; each stays in the interval, and takes each
occurrence once, so that it costs epsilon. Values that a chain of n pairs links are at most n theta
apart: they cost n epsilon or less, and not epsilon. Places are all one step apart.

>>> power = between([Fraction(0), Fraction(22, 10), Fraction(6)])
>>> len(power), threshold(power)
(3, Fraction(6, 1))
>>> chain = [(Fraction(0), Fraction(22, 10)), (Fraction(22, 10), Fraction(6))]
>>> threshold(chain), steps(chain)
(Fraction(19, 5), 2)
>>> threshold(between(["home", "gym", "work"])), steps([("home", "gym"), ("gym", "work")])
(Fraction(1, 1), 1)

Source: Swellfish paper, definitions 3.1 and 3.2 (pairs of patterns, with C empty); Swellfish
specification, section 1.1. Blowfish takes a graph of values instead of pairs, and counts its edges.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil

Value = Fraction | str | frozenset[str]
Pair = tuple[Value, Value]


def between(values: Sequence[Value]) -> list[Pair]:
    """Return all pairs of the values: nobody is to tell which of them it was."""
    return list(combinations(values, 2))


def distance(one: Value, other: Value) -> Fraction:
    """Return how far a statistic moves if one value takes the place of the other.

    A change of place counts as 1, as `Query` has it, which knows that it moves two bins.
    """
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return abs(one - other)
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return Fraction(len(one ^ other))
    return Fraction(one != other)


def threshold(pairs: Sequence[Pair]) -> Fraction:
    """Return theta, the largest distance of a pair."""
    return max(distance(*pair) for pair in pairs)


def flipped(pairs: Sequence[Pair]) -> frozenset[str]:
    """Return the names in which two sets of the pairs differ, whether they are a pair or not.

    The steps from one to the other go through these names, so that a policy has to be about all.
    """
    sets = [value for pair in pairs for value in pair if isinstance(value, frozenset)]
    return frozenset().union(*sets) - (frozenset.intersection(*sets) if sets else frozenset())


def steps(pairs: Sequence[Pair]) -> int:
    """Return by how many epsilon two values of the pairs are told apart, at most: 1 for pairs."""
    values = {value for pair in pairs for value in pair}
    return ceil(threshold(between(list(values))) / threshold(pairs))
