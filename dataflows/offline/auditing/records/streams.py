"""Choose streams to compare: those whose releases differ most, among those a claim is about."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fugu.dataflows.offline.auditing.audited import Leaks
from fugu.dataflows.offline.auditing.records.subject import Subject
from fugu.operators.auditing.enumeration import Sequences, log_mixture, stream_probabilities
from fugu.operators.mechanism import Floats

Stream = tuple[int | None, ...]
"""The value of each record; None: there is no such record."""

_ALMOST_IMPOSSIBLE = -1e6


@dataclass(frozen=True, eq=False)
class KnownStreams:
    """Choose the streams of the largest Kullback-Leibler divergence, all sequences being known.

    Inputs of a release are numbered as its records are, in lexicographic order.
    """

    subject: Subject
    paths: tuple[Sequences, ...]

    @property
    def steps(self) -> int:
        return len(self.paths)

    @property
    def _inputs(self) -> int:
        return self.paths[0].inputs

    def neighbours(self, release: int) -> tuple[Stream, Stream]:
        """Return two streams that differ in the records of one release only."""
        before, after = self._inputs**release, self._inputs ** (self.steps - release - 1)
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

    def against_model(self, releases: int) -> Stream:
        """Return the stream that differs most from what the declared model expects."""
        likelihood = _finite(self.paths[releases - 1].log_likelihood)
        mixture = _finite(self._mixture(releases))
        told = (np.exp(likelihood) * (likelihood - mixture)).sum(axis=1)
        return self._stream(np.argmax(told), releases)

    def exact(self, one: Stream, other: Stream | None) -> Leaks | None:
        """Return the exact leakage; without `other`, against the model."""
        if None in one or None in (other or ()):
            return None
        releases = len(one) // self.subject.records
        likelihood = self.paths[releases - 1].log_likelihood
        first = likelihood[self._number(one)]
        second = self._mixture(releases) if other is None else likelihood[self._number(other)]
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

    def _mixture(self, releases: int) -> Floats:
        """Return ln P(releases) where streams are drawn from the model."""
        subject, paths = self.subject, self.paths[releases - 1]
        assert subject.model is not None
        records = releases * subject.records
        truths = stream_probabilities(subject.model, records, subject.belief)
        return log_mixture(paths.log_likelihood, truths)

    @cached_property
    def _values(self) -> int:
        """Return how many values a record may have."""
        values: int = round(float(self._inputs) ** (1.0 / self.subject.records))
        return values

    def _stream(self, number: np.integer[Any], releases: int | None = None) -> Stream:
        records = (releases or self.steps) * self.subject.records
        return tuple(map(int, np.unravel_index(number, (self._values,) * records)))

    def _number(self, stream: Stream) -> int:
        values = [value for value in stream if value is not None]
        number = 0
        for value in values:
            number = number * self._values + value
        return number


@dataclass(frozen=True, eq=False)
class GuessedStreams:
    """Choose streams with nothing known: one input everywhere, the most different one elsewhere.

    `losses (inputs, inputs)` is what one release tells of one input against another, where
    releases are independent of each other and that is known.
    """

    subject: Subject
    steps: int
    losses: Floats | None = None

    def neighbours(self, release: int) -> tuple[Stream, Stream]:
        usual, unusual = self.strangers()
        first, end = release * self.subject.records, (release + 1) * self.subject.records
        return usual, usual[:first] + unusual[first:end] + usual[end:]

    def strangers(self) -> tuple[Stream, Stream]:
        first, last = int(self.subject.inputs[0]), int(self.subject.inputs[-1])
        records = self.steps * self.subject.records
        return (first,) * records, (last,) * records

    def against_model(self, releases: int) -> Stream:
        """Return the stream that always goes to the least likely symbol."""
        model = self.subject.model
        assert model is not None
        belief, symbols = self.subject.belief[:, None], list[int]()
        for _ in range(releases * self.subject.records):
            symbols.append(int(np.argmin(model.marginal(belief))))
            belief = model.advance(belief, np.eye(model.symbols)[:, symbols[-1:]])
        return tuple(symbols)

    def exact(self, one: Stream, other: Stream | None) -> Leaks | None:
        if self.losses is None or other is None or None in one or None in other:
            return None
        forth = np.array([one, other], dtype=np.int64)
        return float(self.losses[*forth].sum()), float(self.losses[*forth[::-1]].sum())


Streams = KnownStreams | GuessedStreams
"""A way to choose streams of `steps` releases."""


def _finite(log_likelihood: Floats) -> Floats:
    return np.maximum(log_likelihood, _ALMOST_IMPOSSIBLE)


def _largest_ratio(shown: Floats, other: Floats) -> float:
    possible = ~np.isneginf(shown)
    return float((shown[possible] - other[possible]).max())
