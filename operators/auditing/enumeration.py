"""Enumeration of every sequence of releases over a few positions, for every truth."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.operators.budget_units import UNITS_PER_NAT
from fugu.operators.columns import taken
from fugu.operators.mechanism import EnumerableMechanism, Floats, State
from fugu.operators.sip.markov_model import Chain


@dataclass(frozen=True, eq=False)
class Sequences:
    """Hold all sequences of `steps` releases that some truth can cause.

    `log_likelihood[x, y]` is ln P(releases y given truth x), truths in lexicographic order; `state`
    is where the mechanism stands after each sequence of releases.
    """

    steps: int
    inputs: int
    log_likelihood: Floats
    state: State

    @property
    def spent(self) -> Floats:
        """Return what the ledger of a mechanism that keeps one says, in nats."""
        return np.asarray(self.state["spent"] / UNITS_PER_NAT)

    def about_one_position(self, position: int) -> Floats:
        """Return the worst ratio between truths that differ at `position` (0, 1, ...) alone."""
        later = self.inputs ** (self.steps - position - 1)
        grouped = self.log_likelihood.reshape(-1, self.inputs, later, self.log_likelihood.shape[1])
        gap = _gap(grouped.max(axis=1), grouped.min(axis=1))
        return np.asarray(gap.max(axis=(0, 1)))

    def about_streams(self) -> Floats:
        """Return the worst ratio between any two truths."""
        return _gap(self.log_likelihood.max(axis=0), self.log_likelihood.min(axis=0))

    def about_truth(self, probabilities: Floats) -> Floats:
        """Return the worst ratio between P(truth given releases) and P(truth).

        It is for a reader to whom truths have these prior `probabilities`; Sequence Information
        Privacy bounds it.
        """
        possible = probabilities > 0.0
        likelihood = self.log_likelihood[possible]
        released = log_mixture(likelihood, probabilities[possible])
        return np.maximum(
            _gap(likelihood.max(axis=0), released), _gap(released, likelihood.min(axis=0))
        )


def sequences(
    mechanism: EnumerableMechanism, steps: int, start: State | None = None
) -> Iterator[Sequences]:
    """Yield the sequences of 1 release, of 2, ... and of `steps`: exact worst cases.

    They begin at the state of one row, `start`, or with a fresh stream.

    From the mechanism this takes the law at a state and how a release moves the state, ledger
    included. The joint law of truths and releases it adds up by itself, so that a wrong belief
    shows as leakage. (`fugu.operators.auditing.step_check` compares the law with what `step`
    draws.) Figures are natural logarithms of ratios of probabilities, the worst over all truths,
    one per sequence of releases.

    >>> from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
    >>> from fugu.operators.sip.markov_model import MarkovModel
    >>> model = MarkovModel(np.array([0.1, 0.9]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    >>> for paths in sequences(ConditionalRandomizedResponse(model, epsilon=1.0), steps=4):
    ...     leaked = paths.about_truth(stream_probabilities(model, paths.steps))
    ...     print(paths.steps, leaked.max().round(3), paths.spent.max().round(3))
    1 0.0 0.0
    2 0.0 0.0
    3 1.0 1.0
    4 1.809 2.0
    """
    inputs, _ = mechanism.outcomes
    state = mechanism.start(1) if start is None else start
    likelihood = np.zeros((1, 1))
    for step in range(1, steps + 1):
        law = mechanism.release_law(state)
        path, released = np.nonzero(law.max(axis=1) > 0.0)
        with np.errstate(divide="ignore"):
            added = np.log(law[path, :, released]).T
        likelihood = (likelihood[:, None, path] + added).reshape(inputs**step, len(path))
        state = mechanism.follow(taken(state, path), released)
        yield Sequences(step, inputs, likelihood, state)


def deepest(mechanism: EnumerableMechanism, *, entries: int) -> int:
    """Return for how many releases at most `entries` pairs of truth and releases are followed."""
    inputs, releases = mechanism.outcomes
    pairs = max(2, inputs * releases)
    steps = 0
    while inputs and pairs ** (steps + 1) <= entries:
        steps += 1
    return steps


def stream_probabilities(model: Chain, steps: int, start: Floats | None = None) -> Floats:
    """Return how likely each truth of `steps` symbols is, in lexicographic order.

    `start` is the belief before them, where it is not that of a fresh stream.
    """
    first = model.start if start is None else start
    belief, probabilities = first[:, None], np.ones(1)
    for step in range(steps):
        marginal = model.marginal(belief)
        probabilities = (probabilities[:, None] * marginal.T).ravel()
        if step + 1 < steps:
            told = np.tile(np.eye(model.symbols), marginal.shape[1])
            belief = model.advance(np.repeat(belief, model.symbols, axis=1), told)
    return probabilities


def log_mixture(log_likelihood: Floats, probabilities: Floats) -> Floats:
    """Return ln P(releases) where each truth has its probability."""
    largest: Floats = log_likelihood.max(axis=0)
    finite = np.where(np.isneginf(largest), 0.0, largest)
    with np.errstate(divide="ignore"):
        mixed = np.log((probabilities[:, None] * np.exp(log_likelihood - finite)).sum(axis=0))
    return np.asarray(finite + mixed)


def _gap(larger: Floats, smaller: Floats) -> Floats:
    """Return the logarithm of a ratio, 0 of what is impossible on both sides."""
    impossible = np.isneginf(larger) & np.isneginf(smaller)
    return np.where(impossible, 0.0, larger - np.where(impossible, 0.0, smaller))
