"""Read the releases of many streams, each in its order, and return what every one of them tells."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fugu.operators.estimates.difference_reader import DifferenceReader
from fugu.operators.estimates.share_reader import PredictingReader, ShareReader
from fugu.operators.mechanism import Floats, Integers, Releases, State, TimedMechanism

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
