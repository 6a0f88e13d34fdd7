"""Decisions on changes of policies, in words for those who run the pipeline."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

from fugu.operators.swellfish.admission import Decision
from fugu.operators.swellfish.change import AnyChange, MovedKeys, NewCollection

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def in_words(
    change: AnyChange, decision: Decision, tick_milliseconds: int, zone: tzinfo = UTC
) -> str:
    """Tell in one line what was decided on a change of policies, by the clock of a zone.

    >>> from fugu.operators.swellfish.admission import Decision
    >>> from fugu.operators.swellfish.change import Change
    >>> gone = Change("family", effective=3, removes="sauna", adds=None)
    >>> decided = Decision(3, first=None, waits_for=None, until=3, runs_out=(2, 4))
    >>> in_words(gone, decided, 3_600_000)
    'family/sauna is removed from 1970-01-01T03:00Z on; what has begun is protected until \
1970-01-01T05:00Z'
    """
    return "; ".join(_parts(change, decision, tick_milliseconds, zone))


def _parts(
    change: AnyChange, decision: Decision, tick_milliseconds: int, zone: tzinfo
) -> Iterator[str]:
    def time(tick: int) -> str:
        if tick <= 0:
            return "the first tick"
        try:
            at = (_BEGINNING + timedelta(milliseconds=tick * tick_milliseconds)).astimezone(zone)
        except OverflowError:
            return f"tick {tick}"
        written = at.isoformat(timespec="seconds" if at.second else "minutes")
        return written.replace("+00:00", "Z")

    since = time(decision.effective)
    if isinstance(change, MovedKeys):
        keys = f"{len(change.keys):,} keys" if len(change.keys) > 1 else "a key"
        yield f"{keys} moved to {change.collection} from {since} on"
        return
    if isinstance(change, NewCollection):
        whose = "owned" if change.owner else "not owned"
        yield f"collection {change.collection}, {whose}, is made from {since} on"
        name, adds = change.key, bool(change.policies)
    else:
        name, adds = change.key, change.adds is not None
        if adds:
            yield f"{name} is added from {since} on"
    if adds:
        if decision.first is None:
            yield "nothing is protected by it: it has no interval left that can count"
        elif decision.effective > 0:
            yield f"its first interval begins at {time(decision.first[0])}"
        if decision.waits_for is not None:
            why = "overlap an interval that is open until " + time(decision.waits_for[1] + 1)
            never = decision.first is None
            yield f"those that it has {why}" if never else f"earlier ones do not count: they {why}"
    if decision.until is not None:
        gone = "the one that it replaces" if adds else name
        yield f"{gone} is removed from {time(decision.until)} on"
    if decision.runs_out is not None:
        yield f"what has begun is protected until {time(decision.runs_out[1] + 1)}"
