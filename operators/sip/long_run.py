"""Judge a model before any data are seen: its long run, and what CRR makes of it.

Nothing here is on the way of a release.

>>> model = MarkovModel.smoothed([0.5, 0.5], [[0.9, 0.1], [0.3, 0.7]], smoothing=0.0)
>>> law = stationary(model)
>>> law.round(4).tolist(), round(entropy_rate(model, law), 4)
([0.75, 0.25], 0.3965)
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Floats, Inputs, Integers
from fugu.operators.randomness import DrawScope, Secret, record_positions, unit_interval
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import Chain, MarkovModel
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

Model = MarkovModel | SparseMarkovModel | SecondOrderModel
_SETTLED = 1e-12
_MOST_STEPS = 20_000


def stationary(model: Chain) -> Floats:
    """Return the share of time in each state, as far as it is reached within 20,000 steps."""
    law = model.start[:, None]
    for _ in range(_MOST_STEPS):
        before, law = law, model.skip(law)
        if np.abs(law - before).sum() < _SETTLED:
            break
    return law[:, 0]


def rows_of(model: Model) -> SparseRows:
    """Return P(next symbol given the state), one row per state."""
    if not isinstance(model, MarkovModel):
        return model.rows
    n = model.symbols
    columns = np.tile(np.arange(n), n)
    starts = np.arange(0, n * n + 1, n)
    return SparseRows(n, starts, columns, model.transition.ravel(), np.zeros(n))


def entropy_rate(model: Model, law: Floats) -> float:
    """Return the nats per record that are new to somebody who knows the state: the sum over states
    of law times the entropy of what follows."""
    rows = rows_of(model)
    unlisted = rows.symbols - np.diff(rows.starts)
    spread = rows.restart / rows.symbols
    told = unlisted * _surprise(spread)
    told += np.bincount(rows.sources, _surprise(rows.probabilities), minlength=len(rows))
    return float((law * told).sum())


def strongest(model: Model, law: Floats, most: int) -> list[tuple[int, int, float, float]]:
    """Return (state, next symbol, its probability, share of records) of frequent moves."""
    rows = rows_of(model)
    shares = law[rows.sources] * rows.probabilities
    chosen = np.argsort(-shares, kind="stable")[:most]
    return [
        (int(rows.sources[i]), int(rows.columns[i]), float(rows.probabilities[i]), float(shares[i]))
        for i in chosen
    ]


@dataclass(frozen=True)
class LongRun:
    """Hold means over all simulated releases but those of the first quarter, and their number."""

    accuracy: float
    nats_per_release: float
    releases: int


def simulate(mechanism: ConditionalRandomizedResponse, streams: int, steps: int) -> LongRun:
    """Draw streams from the model and release them by the mechanism, with a fixed seed.

    The accuracy is the mean confidence, which is exact given the releases.
    """
    run, first = list(_run(mechanism, streams, steps)), steps // 4
    spent = [mechanism.start(streams)["spent"], *(spent for _, spent in run)]
    return LongRun(
        accuracy=float(np.mean([confidence for confidence, _ in run[first:]])),
        nats_per_release=in_nats(int((spent[-1] - spent[first]).sum()))
        / (streams * (steps - first)),
        releases=streams * (steps - first),
    )


def accuracy_up_to(
    mechanism: ConditionalRandomizedResponse, streams: int, steps: int, most: float
) -> float | None:
    """Return the accuracy that `simulate` finds; None, and soon, where it is above `most`.

    Confidences are not negative: what has added up to more than `most` allows stays so.
    """
    first, confidences, reached = steps // 4, list[Floats](), 0.0
    enough = most * streams * (steps - first) * (1.0 + _SETTLED)
    for step, (confidence, _) in enumerate(_run(mechanism, streams, steps)):
        if step < first:
            continue
        confidences.append(confidence)
        reached += float(confidence.sum())
        if reached > enough:
            return None
    accuracy = float(np.mean(confidences))
    return accuracy if accuracy <= most else None


def _run(
    mechanism: ConditionalRandomizedResponse, streams: int, steps: int
) -> Iterator[tuple[Floats, Integers]]:
    """Yield the confidences of each step, and what streams have spent after it."""
    model = mechanism.model
    scope = DrawScope(Secret(bytes(32)), "simulation", "crr", 1, mechanism.law_digest())
    keys = [b"stream %d" % stream for stream in range(streams)]
    truth, state = np.tile(model.start[:, None], streams), mechanism.start(streams)
    symbols = np.arange(model.symbols)[:, None]
    for step in range(steps):
        draws = scope.draws(keys, record_positions("simulation", 0, [step] * streams))
        words = draws.words("truth", [b""] * streams)
        value = _drawn(model.marginal(truth), unit_interval(words[:, 0, 0]))
        truth = model.advance(truth, np.where(symbols == value, 1.0, 0.0))
        state, releases = mechanism.step(state, Inputs(value), draws)
        yield releases.annotations["confidence"], state["spent"]


def _drawn(law: Floats, uniforms: Floats) -> Integers:
    cumulative = np.cumsum(law, axis=0)
    return np.asarray((cumulative <= uniforms * cumulative[-1]).sum(axis=0))


def _surprise(probabilities: Floats) -> Floats:
    """Return -p ln p, and 0 for 0."""
    some = np.where(probabilities > 0.0, probabilities, 1.0)
    return np.asarray(-some * np.log(some))
