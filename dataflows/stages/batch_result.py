"""Put releases at their records, and publish the batch from there."""

from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.base.batches import Decoded, Reason, Sanitized, Spending
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.operators.columns import joined, taken
from fugu.operators.mechanism import Integers, Kind, Releases

NOTHING: Integers = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Advanced:
    """Hold the indices of records that were released, and their releases; then the indices of
    records at which a stream reached another level of its budget, and the levels."""

    index: Integers
    releases: Releases
    reached: Integers
    levels: Integers


def in_input_order(rounds: list[Advanced]) -> Advanced:
    """Return several rounds as one."""
    indices = np.concatenate([one.index for one in rounds])
    order = np.argsort(indices)
    released = [one.releases for one in rounds]
    releases = Releases(
        np.concatenate([one.values for one in released]),
        joined([one.annotations for one in released]),
        np.concatenate([_kinds(one) for one in released]),
    )
    return Advanced(
        indices[order],
        _taken(releases, order),
        np.concatenate([one.reached for one in rounds]),
        np.concatenate([one.levels for one in rounds]),
    )


def without(decoded: Decoded, refused: dict[int, Reason]) -> Decoded:
    """Return the records that are not refused; those that are become dead letters."""
    if not refused:
        return decoded
    for index, reason in refused.items():
        decoded.dead.add(decoded.offsets[index], decoded.timestamps[index], reason)
    return decoded.at(np.delete(np.arange(len(decoded.offsets)), list(refused)))


def sanitized(accepted: Decoded, advanced: Advanced) -> Sanitized:
    """Return what is published; records that were not released are duplicates."""
    again = np.delete(np.arange(len(accepted.offsets)), advanced.index).tolist()
    fresh = without(accepted, dict.fromkeys(again, Reason.DUPLICATE))
    kinds = _kinds(advanced.releases)
    releases = replace(advanced.releases, kinds=kinds)
    if (kinds == Kind.STOPPED).any():
        offset = fresh.offsets[int(np.argmax(kinds == Kind.STOPPED))]
        raise BudgetExhausted(
            f"budget exhausted: the stream of the record at partition {accepted.partition}, offset "
            f"{offset} cannot pay for another release, and budget.when_exhausted is stop. Nothing "
            "was published for it."
        )
    shown = np.flatnonzero(kinds != Kind.SUPPRESSED)
    if len(shown) < len(kinds):
        fresh, releases = fresh.at(shown), _taken(releases, shown)
    at = np.argsort(advanced.reached)
    reached = accepted.at(advanced.reached[at])
    levels = advanced.levels[at].tolist()
    return Sanitized(
        accepted.partition,
        fresh.offsets,
        fresh.timestamps,
        fresh.keys,
        releases,
        accepted.dead.in_order(),
        Spending(list(reached.offsets), reached.timestamps, reached.keys, levels),
    )


def _taken(releases: Releases, index: Integers) -> Releases:
    """Return some of the releases, whose kinds are known."""
    return Releases(
        releases.values[index], taken(releases.annotations, index), _kinds(releases)[index]
    )


def _kinds(releases: Releases) -> Integers:
    if releases.kinds is not None:
        return releases.kinds
    return np.full(len(releases.values), Kind.FRESH)
