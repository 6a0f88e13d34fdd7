"""delta(J): a bound on the ticks of an interval in which two neighbours differ."""

from collections.abc import Iterable

from fugu.operators.swellfish.occurrence import Occurrence


def affected_ticks(start: int, end: int, occurrences: Iterable[Occurrence]) -> int:
    """Bound in how many ticks of [start, end] two neighbours differ: delta(J).

    Claim. delta(J) = min(|J|, sum over all occurrences phi of the person that overlap J of
    min(|J & J_phi|, T_phi)) is an upper bound: each occurrence is used at most once, and then
    changes at most T_phi ticks in a row, all within J_phi. The occurrence whose interval J is
    counts like the others. `occurrences` are all that overlap J, and maybe others.

    >>> short, long = Occurrence(2, 3, (10,)), Occurrence(3, 6, (22, 22))
    >>> affected_ticks(3, 6, [short, long]), affected_ticks(2, 3, [short, long])
    (3, 2)

    Source: Swellfish specification, section 4.
    """
    ticks, affected = end - start + 1, 0
    for occurrence in occurrences:
        affected += occurrence.affected_in(start, end)
        if affected >= ticks:
            return ticks
    return affected
