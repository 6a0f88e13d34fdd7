"""Subsets of a fixed size in lexicographic order, and the rank of each."""

from fugu.operators.compiled.either import part
from fugu.operators.mechanism import Integers


@part
def first_subset(chosen: Integers, size: int) -> None:
    """Write the first subset: 0, 1, 2, ..."""
    for place in range(size):
        chosen[place] = place


@part
def next_subset(chosen: Integers, size: int, count: int) -> bool:
    """Write the next subset of `count` things. Return False after the last."""
    place = size - 1
    while place >= 0 and chosen[place] == count - size + place:
        place -= 1
    if place < 0:
        return False
    chosen[place] += 1
    for after in range(place + 1, size):
        chosen[after] = chosen[after - 1] + 1
    return True


@part
def subset_of_rank(choose: Integers, count: int, size: int, rank: int, subset: Integers) -> None:
    """Write the subset that so many of `count` things come before."""
    thing = 0
    for place in range(size):
        behind = choose[count - 1 - thing, size - place - 1]
        while rank >= behind:
            rank -= behind
            thing += 1
            behind = choose[count - 1 - thing, size - place - 1]
        subset[place] = thing
        thing += 1
