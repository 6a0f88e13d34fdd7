"""Add several promises about the same data."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from operator import add as add_losses

from fugu.operators.composition.spend import NEVER_ADDED, NotAddable, Spend
from fugu.operators.guarantee import CONTRIBUTIONS, PRESENCE, Notion
from fugu.operators.time_spans import periods_touched, windows_touched

_OF_WINDOWS: dict[Notion, Notion] = {"dp": "w-event-dp", "ldp": "w-event-ldp"}
"""State what a promise about a whole stream promises about every window."""


def add(spends: Sequence[Spend]) -> Spend:
    """Add the promises of several pipelines about the same source; one alone is its own sum.

    Claim. Pipelines over one source that draw independently, and that promise the same notion about
    the same neighbours, leak at most the sum of their epsilons, with the sum of their deltas. Two
    steps bring promises to the same neighbours first:

    *Presence.* To replace a contribution is to take it away and to put another one in its place.
    What promises (epsilon, delta) for presence promises (2 epsilon, (1 + e^epsilon) delta) for
    replacement.

    *Windows in time.* Windows of different ticks are compared over one stretch of time: the longest
    window of all. What one person does in it is covered by c windows of another pipeline
    (`stretches`), and costs c epsilon there. The deltas of c windows add up if releases are made
    tick by tick: then those of one window are (epsilon, delta)-private whatever came before.
    Otherwise one window is changed after the other, which costs delta (1 + e^epsilon + ... + e^((c
    - 1) epsilon)). A promise about a whole stream holds for every stretch of it. Ticks without a
    length in time have no sum.

    *Releases.* A release may be about several records, which are released one by one, or in other
    groups, elsewhere. So a sum of figures per release is about one record, which is in one release
    of every pipeline. `records` is the most that a release of any of them is about.

    Not everything may be added. SIP bounds P(z given x) / P(z) for readers who know the releases z
    of one mechanism. Its own releases add up, because its belief is the posterior given all of
    them. A reader who knows the releases y of another pipeline too learns P(z given x) / P(z given
    y), and that may be as large as the figure without a model: two pipelines that each release one
    fair bit with epsilon leak ln(1 + 2 e^(2 epsilon) - 2 e^epsilon), which is more than 2 epsilon.

    Raises `NotAddable` for promises of different notions, neighbours or extents that cannot be
    brought together, and for notions that have no sum over pipelines. The pipelines must draw
    independently: under secrets or names of their own.

    >>> from fugu.operators.budget_units import in_nats
    >>> from fugu.operators.wevent.spread_strategies import Uniform
    >>> quarter, day = 15 * 60_000, 24 * 3_600_000
    >>> def spend(tick: int) -> Spend:
    ...     return Spend.of(Uniform(1, 10, 1.0, 1, tick_milliseconds=tick).guarantees()[0])
    >>> both = add([spend(quarter), spend(day)])
    >>> in_nats(both.epsilon), both.window, both.tick_milliseconds == day
    (97.0, 10, True)
    >>> windows_of([spend(quarter), spend(day)])
    [96, 1]

    Source: SIP specification, section 7 (Theorem 2, corrected); Kellaris et al. 2014 (w-event
    sums).
    """
    if not spends:
        raise ValueError("spends: needs at least one")
    if len(spends) == 1:
        return spends[0]
    alike = _alike(spends)
    longest = _longest(alike)
    if longest is not None:
        counts = windows_of(spends)
        alike = [
            spend.times(number, apart=spend.tick_by_tick)
            for spend, number in zip(alike, counts, strict=True)
        ]
    delta = sum((spend.delta for spend in alike), Fraction(0))
    if delta >= 1:
        raise NotAddable(
            f"{alike[0].notion}: together no delta below 1 is left. Lower epsilon of a pipeline, "
            "or give pipelines windows of about the same length in time"
        )
    return replace(
        alike[0] if longest is None else longest,
        epsilon=sum(spend.epsilon for spend in alike),
        delta=delta,
        loss=reduce(add_losses, (spend.loss for spend in alike)),
        tick_by_tick=all(spend.tick_by_tick for spend in alike),
        delta_per_release=min(
            Fraction(1), sum((spend.delta_per_release for spend in alike), Fraction(0))
        ),
        count=sum(spend.count for spend in alike),
        records=max(spend.records for spend in alike),
    )


def windows_of(spends: Sequence[Spend]) -> list[int]:
    """Return how many windows of each cover the stretch of time of their sum."""
    alike = _alike(spends)
    longest = _longest(alike)
    if longest is None:
        return [1] * len(alike)
    step = _tick(longest)
    length = step * _ticks(longest)
    return [_covering(spend, length, step) for spend in alike]


def _covering(spend: Spend, length: int, step: int) -> int:
    if spend.per == "stream":
        return 1
    touched = periods_touched if spend.per == "period" else windows_touched
    return touched(length, _tick(spend), _ticks(spend), step)


def _alike(spends: Sequence[Spend]) -> list[Spend]:
    """Return the same promises of one notion, about the same neighbours."""
    timed = any(spend.per in ("window", "period") for spend in spends)
    alike = [
        replace(spend, notion=_OF_WINDOWS.get(spend.notion, spend.notion))
        if timed and spend.per == "stream"
        else spend
        for spend in spends
    ]
    _require_one_notion(alike)
    _require_one_extent(alike)
    known = {spend.neighbours for spend in alike}
    if known == {CONTRIBUTIONS, PRESENCE}:
        return [
            replace(spend.times(2, apart=False), neighbours=CONTRIBUTIONS)
            if spend.neighbours == PRESENCE
            else spend
            for spend in alike
        ]
    if len({(one.whose, one.change, one.kept) for one in known}) > 1:
        raise NotAddable(
            "promises whose neighbours differ in other things do not add up: "
            + " and ".join(sorted({f"{one.whose}, {one.change}" for one in known}))
            + ". Compare pipelines that protect the same change"
        )
    return alike


def _require_one_notion(spends: Sequence[Spend]) -> None:
    notions = list(dict.fromkeys(spend.notion for spend in spends))
    if len(notions) > 1:
        raise NotAddable(
            f"{' and '.join(notions)} are different promises and do not add up. Add the figures "
            "of one notion that every pipeline states"
        )
    if notions[0] in NEVER_ADDED:
        raise NotAddable(NEVER_ADDED[notions[0]])


def _require_one_extent(spends: Sequence[Spend]) -> None:
    extents = list(dict.fromkeys(spend.per for spend in spends))
    in_time = {"window", "period", "stream"}
    if len(extents) > 1 and not set(extents) <= in_time:
        raise NotAddable(
            f"a figure per {' and one per '.join(extents)} do not add up: they bound different "
            "things. Give every pipeline a total over a stream's life, or none of them"
        )
    timed = [spend for spend in spends if spend.per in ("window", "period")]
    if any(spend.tick_milliseconds is None for spend in timed):
        raise NotAddable(
            "windows of ticks whose length in time is not known do not add up: nobody can tell how "
            "many windows of one pipeline meet those of another"
        )


def _longest(spends: Sequence[Spend]) -> Spend | None:
    """Return the promise with the longest window in time; None where all have the same extent."""
    timed = [spend for spend in spends if spend.per in ("window", "period")]
    extents = {(spend.per, spend.window, spend.tick_milliseconds) for spend in spends}
    if not timed or len(extents) == 1:
        return None
    longest = max(timed, key=lambda spend: (_tick(spend) * _ticks(spend), _tick(spend)))
    return replace(longest, per="window")


def _tick(spend: Spend) -> int:
    assert spend.tick_milliseconds is not None
    return spend.tick_milliseconds


def _ticks(spend: Spend) -> int:
    assert spend.window is not None
    return spend.window
