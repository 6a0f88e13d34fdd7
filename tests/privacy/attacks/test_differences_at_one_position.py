"""Make one position be released twice, with another value, and subtract.

A snapshot is restored and the records after it hold corrected values: the noise is drawn anew for
the new value, so the difference of the two releases is as noisy as either. Where draws are not
bound to the data, the noise cancels out and the difference is exact.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from fugu.operators.mechanism import Floats
from fugu.operators.noise.number_release import LaplaceRelease
from fugu.operators.randomness import DrawScope
from tests.privacy.attacks.broken_draws import unbound
from tests.privacy.attacks.pipelines import FIRST, VICTIMS, Record, Victim

CRR, LAPLACE = VICTIMS
USERS = 4000
UNLIKELY = 1e-5
"""A sound pipeline fails one of the four statistics below with probability 4e-5; keys are fixed."""

Change = Callable[[DrawScope], DrawScope]


def sound(scope: DrawScope) -> DrawScope:
    """As it is."""
    return scope


def both_releases(
    victim: Victim, change: Change, value: int, corrected: int
) -> tuple[Floats, Floats]:
    """Publish the second record of every user, before and after the correction."""
    pipeline = victim.pipeline(change)
    keys = [b"user-%d" % user for user in range(USERS)]
    pipeline.publish([Record(user, key, victim.low) for user, key in enumerate(keys)])
    snapshot = pipeline.snapshot()
    second = [Record(FIRST + USERS + user, key, value) for user, key in enumerate(keys)]
    once = pipeline.publish(second)
    pipeline.restore(snapshot)
    again = pipeline.publish([replace(record, value=corrected) for record in second])
    one, other = (np.array([seen[record.offset][0] for record in second]) for seen in (once, again))
    return one, other


def exactly_right(one: Floats, other: Floats, difference: float) -> float:
    """Share of differences that are the true one, up to the rounding of both values to the grid."""
    mechanism = LAPLACE.configure()
    assert isinstance(mechanism, LaplaceRelease)
    return float(np.mean(np.abs(other - one - difference) <= float(mechanism.noise.grid.step)))


NEARBY = pytest.mark.parametrize("corrected", [701, 1100, 2000])


@NEARBY
def test_no_difference_of_two_noisy_numbers_is_exact(corrected: int) -> None:
    """By chance, one of the 12,000 would be with probability 4e-4."""
    one, other = both_releases(LAPLACE, sound, 700, corrected)
    assert exactly_right(one, other, corrected - 700) == 0.0


@NEARBY
def test_the_noise_of_two_values_at_one_position_is_independent(corrected: int) -> None:
    one, other = both_releases(LAPLACE, sound, 700, corrected)
    assert stats.spearmanr(one, other).pvalue > UNLIKELY


@NEARBY
def test_without_the_binding_every_difference_is_exact(corrected: int) -> None:
    one, other = both_releases(LAPLACE, unbound, 700, corrected)
    assert exactly_right(one, other, corrected - 700) == 1.0
    assert stats.spearmanr(one, other).pvalue < UNLIKELY


def test_an_equal_value_at_the_same_position_is_released_as_before() -> None:
    """So averaging does not help, either."""
    one, other = both_releases(LAPLACE, sound, 700, 700)
    assert one.tolist() == other.tolist()


def test_two_symbols_at_one_position_are_released_independently() -> None:
    one, other = both_releases(CRR, sound, 0, 1)
    assert stats.chi2_contingency(pairs(one, other)).pvalue > UNLIKELY


def test_without_the_binding_a_pair_of_symbols_gives_both_truths_away() -> None:
    """One word decides both: 1 then 0 cannot come from truths 0 and 1, but 0 then 1 can."""
    one, other = both_releases(CRR, unbound, 0, 1)
    counts = pairs(one, other)
    assert counts[1, 0] == 0 < counts[0, 1]
    assert stats.chi2_contingency(counts).pvalue < UNLIKELY


def pairs(one: Floats, other: Floats) -> Floats:
    """Count how often each pair of symbols was released."""
    counts = np.zeros((2, 2))
    np.add.at(counts, (one.astype(int), other.astype(int)), 1)
    return counts
