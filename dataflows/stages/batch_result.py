"""What a batch became: releases at their records, and how the batch goes on from there."""

from dataclasses import dataclass, replace

import numpy as np

from fugu.dataflows.base.batches import Decoded, Reason, Sanitized, Spending
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.operators.mechanism import Array, Integers, Kind, Releases

NOTHING: Integers = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Advanced:
    """Indices of the records that were released, and their releases; then indices of the records
    at which a stream reached another level of its budget, and the levels."""

    index: Integers
    releases: Releases
    reached: Integers
    levels: Integers


def in_input_order(rounds: list[Advanced]) -> Advanced:
    """Several rounds as one."""
    indices = np.concatenate([one.index for one in rounds])
    order = np.argsort(indices)

    def column(parts: list[Array]) -> Array:
        return np.concatenate(parts)[order]

    released = [one.releases for one in rounds]
    return Advanced(
        indices[order],
        Releases(
            column([releases.values for releases in released]),
            {
                name: column([releases.annotations[name] for releases in released])
                for name in released[0].annotations
            },
            column([_kinds(releases) for releases in released]),
        ),
        np.concatenate([one.reached for one in rounds]),
        np.concatenate([one.levels for one in rounds]),
    )


def picked(decoded: Decoded, index: Integers) -> Decoded:
    """Some of the records, in the order of their indices; the same if it is all of them."""
    if len(index) == len(decoded.offsets):
        return decoded
    at = index.tolist()
    events = decoded.events
    return replace(
        decoded,
        offsets=[decoded.offsets[i] for i in at],
        timestamps=[decoded.timestamps[i] for i in at],
        keys=[decoded.keys[i] for i in at],
        values=decoded.values[index],
        events=None if events is None else [events[i] for i in at],
    )


def without(decoded: Decoded, refused: dict[int, Reason]) -> Decoded:
    """The records that are not refused; those that are become dead letters."""
    if not refused:
        return decoded
    for index, reason in refused.items():
        decoded.dead.add(decoded.offsets[index], decoded.timestamps[index], reason)
    return picked(decoded, np.delete(np.arange(len(decoded.offsets)), list(refused)))


def sanitized(accepted: Decoded, advanced: Advanced) -> Sanitized:
    """What is published of it; records that were not released are duplicates."""
    fresh, kinds = _without_duplicates(accepted, advanced.index), _kinds(advanced.releases)
    releases = replace(advanced.releases, kinds=kinds)
    if (kinds == Kind.STOPPED).any():
        offset = fresh.offsets[int(np.argmax(kinds == Kind.STOPPED))]
        raise BudgetExhausted(
            f"budget exhausted: the stream of the record at partition {accepted.partition}, offset "
            f"{offset} cannot pay for another release, and budget.when_exhausted is stop. Nothing "
            "was published for it."
        )
    suppressed = kinds == Kind.SUPPRESSED
    if suppressed.any():
        shown = np.flatnonzero(~suppressed)
        fresh = picked(fresh, shown)
        notes = {name: column[shown] for name, column in releases.annotations.items()}
        releases = Releases(releases.values[shown], notes, kinds[shown])
    return Sanitized(
        accepted.partition,
        fresh.offsets,
        fresh.timestamps,
        fresh.keys,
        releases,
        accepted.dead.in_order(),
        _spending(accepted, advanced),
    )


def _without_duplicates(accepted: Decoded, released: Integers) -> Decoded:
    if len(released) == len(accepted.offsets):
        return accepted
    again = np.ones(len(accepted.offsets), dtype=bool)
    again[released] = False
    return without(accepted, dict.fromkeys(np.flatnonzero(again).tolist(), Reason.DUPLICATE))


def _spending(accepted: Decoded, advanced: Advanced) -> Spending:
    if not len(advanced.reached):
        return Spending()
    order = np.argsort(advanced.reached)
    at = advanced.reached[order].tolist()
    return Spending(
        [accepted.offsets[i] for i in at],
        [accepted.timestamps[i] for i in at],
        [accepted.keys[i] for i in at],
        advanced.levels[order].tolist(),
    )


def _kinds(releases: Releases) -> Integers:
    if releases.kinds is not None:
        return releases.kinds
    return np.full(len(releases.values), Kind.FRESH)
