"""Let rows follow releases that were published, where nobody knows the records any more."""

import numpy as np

from fugu.operators.budget import Budgeted
from fugu.operators.mechanism import (
    EnumerableMechanism,
    Kind,
    Mechanism,
    Releases,
    RepeatingMechanism,
    State,
)


def followed(mechanism: EnumerableMechanism, state: State, releases: Releases) -> State:
    """Return the rows after one release each; `ValueError` where one could not come next.

    A release that is fresh was paid for, and one that is repeated was not, unless the mechanism
    repeats by itself: then the number of the release in its law says which it is.
    """
    own = isinstance(mechanism, Budgeted) and isinstance(mechanism.mechanism, RepeatingMechanism)
    outcomes = releases.values
    if isinstance(mechanism, RepeatingMechanism):
        outcomes = mechanism.outcome_of(releases)
    laws = np.swapaxes(mechanism.release_law(state), 1, 2)
    possible = laws[np.arange(len(outcomes)), outcomes].any(axis=1)
    if isinstance(mechanism, Budgeted) and not own:
        assert releases.kinds is not None
        possible &= (releases.kinds == Kind.FRESH) == mechanism.pays(state)
    if not possible.all():
        raise ValueError("a release is none that a row could have made next")
    return mechanism.follow(state, outcomes)


def refuse_hidden_positions(mechanism: Mechanism) -> None:
    """Raise `ValueError` where a position without a release moves a row, and nothing shows it.

    Without a window a stream that could not pay releases nothing any more, so none follows.
    """
    if (
        isinstance(mechanism, Budgeted)
        and mechanism.window is not None
        and mechanism.when_exhausted == "suppress"
    ):
        raise ValueError(
            "budget.window with when_exhausted: suppress: positions without a release are not in "
            "the sanitized topic, so what was spent in the last positions cannot be known"
        )
