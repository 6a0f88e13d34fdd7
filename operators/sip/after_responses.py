"""Continue streams that began with randomized responses by conditional randomized response
(CRR).

Every stream was released by generalized randomized response (GRR) first, all under one law. What
CRR believes at its own first position is then the exact posterior given these releases under its
model, which may itself have been learned from the releases of all streams (`learning`); and its
ledger continues with what they cost. So leakages go on adding up, relative to that model, as in a
cold start: GRR leaks no more than its epsilon under any prior. For any prior and without the model,
an early release counts its epsilon and a later one twice as much.

>>> from fugu.operators.sip.markov_model import MarkovModel
>>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.0)
>>> crr = ConditionalRandomizedResponse(model, epsilon=1.0)
>>> grr = GeneralizedRandomizedResponse(symbols=2, epsilon=1.0)
>>> state = after_responses(crr, grr, [np.array([1, 1]), np.array([], dtype=np.int64)])
>>> state["belief"].round(3).tolist(), state["releases"].tolist()
([[0.216, 0.784], [0.5, 0.5]], [2, 0])

Source: SIP specification, section 6 (cold start, and a model that is pooled), section 9 (GRR).
"""

from collections.abc import Sequence

import numpy as np

from fugu.operators.mechanism import Integers, State
from fugu.operators.release_digest import extended
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import normalised


def after_responses(
    crr: ConditionalRandomizedResponse,
    grr: GeneralizedRandomizedResponse,
    released: Sequence[Integers],
) -> State:
    """Return a state with one row per stream; `released` holds its symbols, oldest first."""
    if grr.symbols != crr.model.symbols:
        raise ValueError(
            f"{grr.symbols} symbols were released, but the model has {crr.model.symbols}"
        )
    count = np.array([len(symbols) for symbols in released], dtype=np.int64)
    state = crr.start(len(released))
    symbols = np.arange(grr.symbols)[:, None]
    for position in range(count.max(initial=0)):
        rows = np.flatnonzero(count > position)
        response = np.array([released[row][position] for row in rows.tolist()], dtype=np.int64)
        belief = np.ascontiguousarray(state["belief"][rows].T)
        likelihood = np.where(symbols == response, grr.reported_if_true, grr.reported_if_other)
        posterior = normalised(crr.model.marginal(belief) * likelihood)
        state["belief"][rows] = crr.model.advance(belief, posterior).T
        state["history"][rows] = extended(state["history"][rows], response + 1)
    state["releases"] = count
    state["spent"] = count * grr.largest_charge
    return state
