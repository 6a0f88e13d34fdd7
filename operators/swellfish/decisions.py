"""Decide on changes: what becomes of a policy, a new collection, and people who move."""

from collections.abc import Mapping
from dataclasses import replace

from fugu.operators.swellfish.admission import Decision, admit
from fugu.operators.swellfish.change import (
    AnyChange,
    Change,
    MovedKeys,
    NewCollection,
    noticed,
)
from fugu.operators.swellfish.changes import Standing, Standings
from fugu.operators.swellfish.coverage import goes_on
from fugu.operators.swellfish.occurrences import Admitted

MOST_MADE_BY_STRANGERS = 100
"""Collections that strangers make, in all: each of them costs time at every tick and change."""


def decided(
    standings: Standings, change: AnyChange, now: int, notice: int, tick_milliseconds: int
) -> tuple[Standings, Decision]:
    """Return how collections stand after a change, and what was decided.

    The number of a change by an owner must be larger than that of the last one, so that no change
    counts twice, or after it was refused. Where there are owners, a stranger can add policies and
    collections, and replace a policy by one that covers it; nothing else. Raises `ValueError`
    naming what the change is about, and the field.
    """
    if isinstance(change, NewCollection):
        return _made(standings, change, now, tick_milliseconds)
    standing = standings.get(change.collection)
    if standing is None:
        raise ValueError(
            f"{change.subject}: collection: {change.collection} is not known; make it first, by a "
            "record that has its id as key"
        )
    if change.owner and change.sequence <= standing.sequence:
        raise ValueError(
            f"{change.subject}: sequence: must be more than {standing.sequence}, that of the last "
            "change by an owner; write a larger one"
        )
    if isinstance(change, MovedKeys):
        moved, decision = _moved(standings, change, now, notice)
    else:
        after, decision = admit(standing.admitted, change, now, notice, tick_milliseconds)
        if standing.owned and not change.owner:
            _require_no_less(standing.admitted, after, change, tick_milliseconds)
        moved = {**standings, change.collection: replace(standing, admitted=after)}
    return numbered(moved, change), decision


def numbered(standings: Standings, change: AnyChange) -> Standings:
    """Return how collections stand when a change has been told, be it refused or not: whoever has
    its record, which an owner has signed, cannot use it later."""
    standing = standings.get(change.collection)
    if not change.owner or standing is None or change.sequence <= standing.sequence:
        return standings
    return {**standings, change.collection: replace(standing, sequence=change.sequence)}


def _made(
    standings: Standings, change: NewCollection, now: int, tick_milliseconds: int
) -> tuple[dict[str, Standing], Decision]:
    """Add a collection; nothing of it can be open, so its policies wait for nothing."""
    if change.collection in standings:
        raise ValueError(
            f"{change.subject}: is there already; add its policies one by one, each with a record "
            "of its own"
        )
    by_strangers = sum(_of_strangers(one) for one in standings.values())
    if not change.owner and by_strangers >= MOST_MADE_BY_STRANGERS:
        raise ValueError(
            f"{change.subject}: strangers have made {by_strangers} collections, and no more may "
            "be; let an owner of the document sign the change, or add policies to one that is there"
        )
    effective = max(change.effective, now)
    admitted = tuple(Admitted(policy, effective) for policy in change.policies)
    sequence = change.sequence if change.owner else 0
    made = Standing(admitted, owned=change.owner, sequence=sequence, made=True)
    spans = [one.next_span(effective, tick_milliseconds) for one in admitted]
    first = min((span for span in spans if span is not None), default=None)
    decision = Decision(effective, first, waits_for=None, until=None, runs_out=None)
    return {**standings, change.collection: made}, decision


def _of_strangers(standing: Standing) -> bool:
    return standing.made and not standing.owned


def _moved(
    standings: Standings, change: MovedKeys, now: int, notice: int
) -> tuple[dict[str, Standing], Decision]:
    """Move keys at the end of the notice; an earlier move that has not happened then never does."""
    if not change.owner and any(standing.owned for standing in standings.values()):
        raise ValueError(
            f"{change.subject}: keys: are moved by owners of the whole document only; let one of "
            "them sign the change"
        )
    since = noticed(change, now, notice)
    after = {
        name: replace(standing, keys=_kept(standing.keys, standings, change.keys, now, since))
        for name, standing in standings.items()
    }
    target = after[change.collection]
    keys = {**target.keys, **dict.fromkeys(change.keys, since)}
    after[change.collection] = replace(target, keys=keys)
    return after, Decision(since, first=None, waits_for=None, until=None, runs_out=None)


def _kept(
    moved: Mapping[str, int], standings: Standings, keys: tuple[str, ...], now: int, since: int
) -> dict[str, int]:
    """Return those moves to a collection that count at `now` or later, where keys move again."""

    def counts(key: str, tick: int) -> bool:
        others = (standing.keys.get(key, tick) for standing in standings.values())
        return tick < since and not any(tick < other <= now for other in others)

    return {key: tick for key, tick in moved.items() if key not in keys or counts(key, tick)}


def _require_no_less(
    before: tuple[Admitted, ...],
    after: tuple[Admitted, ...],
    change: Change,
    tick_milliseconds: int,
) -> None:
    """Raise `ValueError` if a change takes anything away, or that is not certain."""
    added = None if change.adds is None else after[-1]
    for old, kept in zip(before, after[: len(before)], strict=True):
        if old != kept and (added is None or not goes_on(old, kept, added, tick_milliseconds)):
            raise ValueError(
                f"{change.subject}: collection {change.collection} is owned, and only an owner "
                "removes a policy, or replaces it by one that does not cover it; let an owner sign "
                "the change"
            )
