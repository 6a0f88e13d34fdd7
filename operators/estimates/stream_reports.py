"""Read the releases of many streams, and estimate how many users have each symbol.

>>> estimate = estimated_counts(np.array([[2.1, -0.5], [-0.4, 2.2], [np.nan, np.nan]]))
>>> estimate.counts.round(2).tolist(), estimate.standard_errors.round(2).tolist()
([2.2, 2.2], [1.69, 1.84])
"""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fugu.operators.estimates.shares import DifferenceReader, PredictingReader, ShareReader
from fugu.operators.mechanism import Floats, Integers, Releases, State, TimedMechanism


@dataclass(frozen=True, eq=False)
class CountEstimate:
    """Hold counts of all symbols, `(n,)`, with standard errors.

    Let e_ij estimate without a bias whether user i has symbol j (`share_reader`), whatever the
    budgets of users are. The sum over users is unbiased, and so is the sum of e_ij^2 - e_ij for
    its variance, because e_ij^2 has the mean of a variance and of what is true.

    Not in the bars: a user without a report counts as 1 / n of each symbol, a guess that is wrong
    by up to 1, and there are `without_report` of them; and an estimate may be about an earlier
    record. A count may be below 0: leave it so, or sums of counts are too large.

    Source: PBA specification, section 3 (estimator at the server, mixed budgets).
    """

    counts: Floats
    standard_errors: Floats
    without_report: int

    def intervals(self, confidence: float = 0.95) -> Floats:
        """Return the lower and the upper end for each symbol, `(n, 2)`, by the normal law.

        Each by itself holds the true count with about this probability, if there are many users.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: must be between 0 and 1, not {confidence}")
        margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * self.standard_errors
        return np.stack([self.counts - margin, self.counts + margin], axis=1)


def estimated_counts(told: Floats) -> CountEstimate:
    """Count from one row of estimates of each user, `(users, n)`; NaN: a user without a report."""
    if told.ndim != 2:
        raise ValueError("told: one row of estimates for each user is needed")
    there = np.asarray(~np.isnan(told).any(axis=1))
    symbols, without = told.shape[1], int(len(there) - there.sum())
    some = told[there]
    variance = (some * some - some).sum(axis=0)
    counts = some.sum(axis=0) + without / symbols
    return CountEstimate(counts, np.sqrt(np.maximum(variance, 0.0)), without)


_NUMBERS_AT_ONCE = 400_000
"""The most numbers of beliefs that are held at once, for streams that are read together."""
_TOLD_AT_ONCE = 16_000_000
"""The most numbers that all releases of those streams tell, which are held until they are added."""


@dataclass(frozen=True, eq=False)
class Told:
    """Hold what the releases of some streams tell, stream by stream, each in its order.

    `places` are those of the releases in what was given. A release tells `reports (n, symbols)`, a
    sum over `records`, of which there are 0 where it says nothing new. `noise` estimates the
    variance of what was drawn to make the report, summed in the same way. `surprises` are
    indicators of what was released minus the probability that it had under the model, and
    `variances` those of the indicators; both are empty where the mechanism predicts nothing.
    """

    places: Integers
    reports: Floats
    records: Integers
    noise: Floats
    surprises: Floats
    variances: Floats


def told_by_streams(
    reader: ShareReader, streams: Integers, releases: Releases, ticks: Integers | None = None
) -> Iterator[Told]:
    """Yield what releases tell; all of one stream come together, at any number of streams.

    `streams` numbers the stream of every release; those of a stream are in their order. `ticks`
    are their times in ticks of the mechanism, for one that takes time into account.
    """
    order = np.argsort(streams, kind="stable")
    _, begins, lengths = np.unique(streams[order], return_index=True, return_counts=True)
    if not reader.start(1):
        yield from _without_state(reader, order, releases)
        return
    by_length = np.argsort(-lengths, kind="stable")
    for first, end in _blocks(reader, lengths[by_length], _numbers_told(reader, releases)):
        chosen = by_length[first:end]
        yield _stepped(reader, order, begins[chosen], lengths[chosen], releases, ticks)


def _numbers_told(reader: ShareReader, releases: Releases) -> int:
    """Return how many numbers one release tells: estimates, noise, surprises and variances."""
    nobody, nothing = reader.start(0), _taken(releases, np.arange(0))
    if isinstance(reader, PredictingReader):
        _, told, *predicted = reader.read_and_predict(nobody, nothing)
    else:
        (_, told), predicted = reader.read(nobody, nothing), []
    numbers = sum(int(np.prod(column.shape[1:])) for column in (told, *predicted))
    return int(told.shape[-1]) + numbers


def _blocks(reader: ShareReader, lengths: Integers, told: int) -> Iterator[tuple[int, int]]:
    """Yield which streams are read together: few where they are long, or releases tell much."""
    width = sum(column.size for column in reader.start(1).values())
    at_once, first = max(1, _NUMBERS_AT_ONCE // width), 0
    reached = np.concatenate([[0], np.cumsum(lengths * told)])
    while first < len(lengths):
        held = int(np.searchsorted(reached, reached[first] + _TOLD_AT_ONCE, side="right")) - 1
        end = max(first + 1, min(first + at_once, held, len(lengths)))
        yield first, end
        first = end


def _without_state(reader: ShareReader, order: Integers, releases: Releases) -> Iterator[Told]:
    """Read many releases at once, where none depends on those before."""
    width = max(1, int(np.prod(releases.values.shape[1:])))
    at_once = max(1, _NUMBERS_AT_ONCE // width)
    for first in range(0, len(order), at_once):
        places = order[first : first + at_once]
        _, told = reader.read({}, _taken(releases, places))
        yield _summed(places, told, np.zeros((0, 0)), np.zeros((0, 0)))


def _stepped(
    reader: ShareReader,
    order: Integers,
    begins: Integers,
    lengths: Integers,
    releases: Releases,
    ticks: Integers | None,
) -> Told:
    """Read the first release of every stream, then the second, and so on; longest streams first."""
    state: State = reader.start(len(begins))
    parts: list[Told] = []
    for step in range(int(lengths.max(initial=0))):
        going = int(np.searchsorted(-lengths, -step, side="left"))
        if going < len(next(iter(state.values()))):
            state = {name: column[:going] for name, column in state.items()}
        places = order[begins[:going] + step]
        if ticks is not None:
            state = _elapsed(reader, state, ticks[places])
        shown = _taken(releases, places)
        if isinstance(reader, PredictingReader):
            state, told, surprises, variances = reader.read_and_predict(state, shown)
            parts.append(_summed(places, told, surprises, variances))
        else:
            state, told = reader.read(state, shown)
            parts.append(_summed(places, told, np.zeros((0, 0)), np.zeros((0, 0))))
    return Told(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


_COLUMNS = ("places", "reports", "records", "noise", "surprises", "variances")


def _elapsed(reader: ShareReader, state: State, ticks: Integers) -> State:
    mechanism = getattr(reader, "mechanism", None)
    if isinstance(reader, DifferenceReader):
        return reader.elapse(state, ticks)
    if isinstance(mechanism, TimedMechanism) and mechanism.tick_milliseconds is not None:
        return mechanism.elapse(state, ticks)
    return state


def _summed(places: Integers, told: Floats, surprises: Floats, variances: Floats) -> Told:
    """Sum what a release tells about several records; what it says nothing about does not count.

    A report r that is unbiased for a truth of 0 or 1 has a mean square of that truth and of its
    variance, so r^2 - r is unbiased for the variance. A posterior is drawn from nothing: below 0.
    """
    if told.ndim == 2:
        told = told[:, None, :]
    says = ~np.isnan(told[..., 0])
    told = np.where(says[..., None], told, 0.0)
    noise = (told * told - told).sum(axis=1)
    return Told(places, told.sum(axis=1), says.sum(axis=1), noise, surprises, variances)


def _taken(releases: Releases, places: Integers) -> Releases:
    notes = {name: column[places] for name, column in releases.annotations.items()}
    kinds = None if releases.kinds is None else releases.kinds[places]
    return Releases(releases.values[places], notes, kinds)
