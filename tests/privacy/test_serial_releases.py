"""A pipeline that reads what another one has released, by enumeration of everything both release.

The attacker reads the second one alone. All other values are independent fair bits, so that nothing
but the two mechanisms ties a release to a value.
"""

from itertools import product
from math import exp, log

import numpy as np
import pytest

from fugu.operators.budget import Budgeted, WhenExhausted, memoryless
from fugu.operators.leakage.combined import (
    Telling,
    combined_after,
    combined_limit,
    in_series,
    per_value,
)
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.mechanism import EnumerableMechanism, Floats
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.operators.leakage.chains import UNIFORM
from tests.privacy.leakage import ROUNDING

RELEASES = 4
FIRST = GeneralizedRandomizedResponse(2, epsilon=1.0)
SECOND = GeneralizedRandomizedResponse(2, epsilon=0.5)


def laws(mechanism: EnumerableMechanism) -> Floats:
    """P(all symbols that are released | all symbols that are put in), in lexicographic order."""
    columns = []
    for released in product((0, 1), repeat=RELEASES):
        state = mechanism.start(1)
        law: Floats = np.ones(1)
        for symbol in released:
            one = mechanism.release_law(state)[0, :, symbol]
            law = np.outer(law, one).ravel()
            state = mechanism.follow(state, np.array([symbol]))
        columns.append(law)
    return np.array(columns).T


def about_a_value(first: EnumerableMechanism, second: EnumerableMechanism, position: int) -> float:
    """The most that all releases of the second tell about one value of the first."""
    given = laws(first) @ laws(second)
    assert given.sum(axis=1) == pytest.approx(1.0)
    zero, one = np.log(given.reshape(2**position, 2, -1, given.shape[1]).mean(axis=(0, 2)))
    return float(np.abs(zero - one).max())


@pytest.mark.parametrize("exhausted", [None, "constant", "repeat"])
def test_what_is_told_of_a_value_is_bounded_whether_the_first_pipeline_repeats_or_not(
    exhausted: WhenExhausted | None,
) -> None:
    first = Budgeted(FIRST, 1.0, when_exhausted=exhausted) if exhausted else FIRST
    bound = per_value("serial", 1.0, 0.5, memoryless=memoryless(first))
    leaked = [about_a_value(first, SECOND, position) for position in range(RELEASES)]
    assert max(leaked) <= bound + ROUNDING
    assert memoryless(first) == (exhausted != "repeat")
    if exhausted == "repeat":
        assert leaked[0] == pytest.approx(in_series(1.0, RELEASES * 0.5), rel=1e-9)
        assert leaked[0] > 1.4 * SECOND.epsilon, "the smaller epsilon is no bound"
    else:
        assert max(leaked) == pytest.approx(in_series(1.0, 0.5), rel=1e-9)


def test_a_hundred_copies_of_a_release_tell_nearly_all_that_it_tells() -> None:
    """All copies say the same: that is the worst case, and 100 times the nats of a copy."""
    fair = TemporalCorrelation.of(UNIFORM)
    release, copy = Telling(fair, 1.0), Telling(fair, 0.1)
    leaked = log((exp(1.0 + 100 * 0.1) + 1.0) / (exp(1.0) + exp(100 * 0.1)))
    assert leaked == pytest.approx(0.9999, abs=1e-5)
    assert leaked <= combined_after("serial", release, copy, 100) == 1.0
    assert leaked <= combined_limit("serial", release, copy)
