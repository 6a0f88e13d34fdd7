"""Run a pipeline again, under the same name and secret, over a source that has lost its beginning.

A record that both runs release meets two beliefs, since its stream has two histories. Given those,
the two releases must be independent: one more charge, and not one word for both laws.
"""

import numpy as np
import pytest
from scipy import stats

from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from tests.privacy.attacks.pipelines import Record, Victim

USERS = 4000
UNLIKELY = 1e-5
MODEL = MarkovModel(np.array([0.44, 0.56]), np.array([[0.15, 0.85], [0.33, 0.67]]))
VICTIM = Victim("crr", lambda: ConditionalRandomizedResponse(MODEL, epsilon=1.0), 0, 1)


def pairs(truth: int, first_release: int) -> Floats:
    """Count each pair that was released for the second record, by the long and the short run."""
    keys = [b"user-%d" % user for user in range(USERS)]
    first = [Record(user, key, user % 2) for user, key in enumerate(keys)]
    second = [Record(USERS + user, key, truth) for user, key in enumerate(keys)]
    whole, late = VICTIM.pipeline(), VICTIM.pipeline()
    before, one, other = whole.publish(first), whole.publish(second), late.publish(second)
    counts = np.zeros((2, 2))
    for user in range(USERS):
        if before[user][0] == first_release:
            offset = USERS + user
            counts[int(one[offset][0]), int(other[offset][0])] += 1
    return counts


@pytest.mark.parametrize("truth", [0, 1])
@pytest.mark.parametrize("first_release", [0, 1])
def test_two_histories_of_one_truth_have_no_word_in_common(truth: int, first_release: int) -> None:
    counts = pairs(truth, first_release)
    assert stats.chi2_contingency(counts).pvalue > UNLIKELY
