"""Observation of chosen streams: the real `step`, with keyed draws, nothing known about it."""

import numpy as np

from fugu.operators.mechanism import Array, Floats, Inputs, Kind, Mechanism, Releases
from fugu.operators.randomness import DrawScope, record_positions
from fugu.operators.secret import Secret


def observe(mechanism: Mechanism, truths: Array, secret: Secret) -> Floats:
    """Return all that is published about each stream of `truths (streams, steps, ...)`, as numbers.

    One row per stream; step after step its kind, its value and its annotations, 0 and NaN where
    nothing is published.

    >>> from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], smoothing=0.001)
    >>> crr = ConditionalRandomizedResponse(model, epsilon=1.0)
    >>> observe(crr, np.array([[0, 1], [1, 1]]), Secret(bytes(32))).round(2).tolist()
    [[0.0, 0.0, 0.82, 0.0, 1.0, 0.67], [0.0, 1.0, 0.82, 0.0, 0.0, 0.67]]
    """
    streams, steps = truths.shape[:2]
    scope = DrawScope(secret, "audit", mechanism.kind, 1, mechanism.law_digest())
    keys = [b"stream %d" % stream for stream in range(streams)]
    state = mechanism.start(streams)
    columns = []
    for step in range(steps):
        draws = scope.draws(keys, record_positions("audit", 0, [step] * streams))
        state, releases = mechanism.step(state, Inputs(truths[:, step]), draws)
        columns += _published(releases, streams)
    return np.concatenate(columns, axis=1)


def _published(releases: Releases, streams: int) -> list[Floats]:
    kinds = np.full(streams, Kind.FRESH) if releases.kinds is None else releases.kinds
    shown = ((kinds == Kind.FRESH) | (kinds == Kind.REPEATED))[:, None]
    values = np.where(shown, releases.values.reshape(streams, -1), 0)
    notes = [np.where(shown, note[:, None], np.nan) for note in releases.annotations.values()]
    return [kinds[:, None].astype(np.float64), values.astype(np.float64), *notes]
