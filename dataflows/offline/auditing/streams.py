"""Choose streams to compare: those whose releases differ most, among those a claim is about."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.dataflows.offline.auditing.audited import Leaks
from fugu.dataflows.offline.auditing.subject import Subject
from fugu.operators.auditing.enumeration import Sequences, log_mixture, stream_probabilities
from fugu.operators.mechanism import Floats
from fugu.operators.sip.chain import Chain

Stream = tuple[int, ...]
"""The input at each position."""

_ALMOST_IMPOSSIBLE = -1e6


@dataclass(frozen=True, eq=False)
class KnownStreams:
    """Choose the streams of the largest Kullback-Leibler divergence, all sequences being known."""

    paths: tuple[Sequences, ...]
    model: Chain | None

    @property
    def steps(self) -> int:
        return len(self.paths)

    @property
    def _inputs(self) -> int:
        return self.paths[0].inputs

    def neighbours(self, position: int) -> tuple[Stream, Stream]:
        """Return two streams that differ at one position only."""
        before, after = self._inputs**position, self._inputs ** (self.steps - position - 1)
        sides = (before, self._inputs, after)
        among = np.einsum("bxabya->bxay", self._divergence.reshape(sides * 2))
        b, x, a, y = np.unravel_index(np.argmax(among), among.shape)
        return self._stream((b * sides[1] + x) * after + a), self._stream(
            (b * sides[1] + y) * after + a
        )

    def strangers(self) -> tuple[Stream, Stream]:
        """Return two streams that have nothing to do with each other."""
        one, other = np.unravel_index(np.argmax(self._divergence), self._divergence.shape)
        return self._stream(one), self._stream(other)

    def against_model(self, length: int) -> Stream:
        """Return the stream that differs most from what the declared model expects."""
        likelihood = _finite(self.paths[length - 1].log_likelihood)
        mixture = _finite(self._mixtures[length - 1])
        told = (np.exp(likelihood) * (likelihood - mixture)).sum(axis=1)
        return self._stream(np.argmax(told), length)

    def exact(self, one: Stream, other: Stream | None) -> Leaks:
        """Return the exact leakage; without `other`, against the model."""
        likelihood = self.paths[len(one) - 1].log_likelihood
        shape = (self._inputs,) * len(one)
        first = likelihood[np.ravel_multi_index(one, shape)]
        if other is None:
            second = self._mixtures[len(one) - 1]
        else:
            second = likelihood[np.ravel_multi_index(other, shape)]
        return _largest_ratio(first, second), _largest_ratio(second, first)

    @cached_property
    def _divergence(self) -> Floats:
        """Return the divergence from each truth (row) to each other one; the diagonal is lowest."""
        likelihood = _finite(self.paths[-1].log_likelihood)
        probability = np.exp(likelihood)
        entropy = (probability * likelihood).sum(axis=1)
        divergence = np.asarray(entropy[:, None] - probability @ likelihood.T)
        np.fill_diagonal(divergence, -1.0)
        return divergence

    @cached_property
    def _mixtures(self) -> list[Floats]:
        assert self.model is not None
        return [
            log_mixture(some.log_likelihood, stream_probabilities(self.model, some.steps))
            for some in self.paths
        ]

    def _stream(self, number: np.integer[Any], length: int | None = None) -> Stream:
        shape = (self._inputs,) * (length or self.steps)
        return tuple(map(int, np.unravel_index(number, shape)))


@dataclass(frozen=True, eq=False)
class GuessedStreams:
    """Choose streams with nothing known: one input everywhere, the most different one elsewhere."""

    subject: Subject
    steps: int

    def neighbours(self, position: int) -> tuple[Stream, Stream]:
        usual, unusual = self.strangers()
        return usual, usual[:position] + unusual[:1] + usual[position + 1 :]

    def strangers(self) -> tuple[Stream, Stream]:
        first, last = int(self.subject.inputs[0]), int(self.subject.inputs[-1])
        return (first,) * self.steps, (last,) * self.steps

    def against_model(self, length: int) -> Stream:
        """Return the stream that always goes to the least likely symbol."""
        model = self.subject.model
        assert model is not None
        belief, symbols = model.start[:, None], []
        for _ in range(length):
            symbols.append(int(np.argmin(model.marginal(belief))))
            belief = model.advance(belief, np.eye(model.symbols)[:, symbols[-1:]])
        return tuple(symbols)

    def exact(self, one: Stream, other: Stream | None) -> None:
        return None


Streams = KnownStreams | GuessedStreams
"""A way to choose streams of `steps` positions."""


def _finite(log_likelihood: Floats) -> Floats:
    return np.maximum(log_likelihood, _ALMOST_IMPOSSIBLE)


def _largest_ratio(shown: Floats, other: Floats) -> float:
    possible = ~np.isneginf(shown)
    return float((shown[possible] - other[possible]).max())
