"""Read the rows of each stage as the version of Fugu before wrote them."""

from collections.abc import Callable, Mapping

from fugu.dataflows.base.ticks import CLOSED, Ticks
from fugu.dataflows.flows.sections import aggregate_of
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import columns_of
from fugu.dataflows.state.fingerprint import Fingerprint
from fugu.dataflows.state.former_rows import FormerRows, Start
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Array, Mechanism, State
from fugu.operators.realtime import older_states
from fugu.operators.realtime.local_release import LocalRealTimeRelease
from fugu.operators.sip.belief_radius import PREDICTIONS, Radius

CONTRIBUTIONS = ("tick", "group", "amount")
"""Hold what a user contributes, with a place for each tick that may be open."""
HELD = ("values", "present")
"""Hold the values of a stream, with a place for each tick that may be open."""
_OF_STAGES = ("ahead", "seen")
"""Columns that were added to rows over ticks."""

Convert = Callable[[State], State]


def former_rows(
    pipeline: Pipeline, mechanism: Mechanism, stored: Fingerprint, partition: int
) -> FormerRows | None:
    """Return what the version before may have left in the row log of a partition."""
    records = stored.upgraded_at.get(str(partition))
    if records is None:
        return None
    now, ticks = columns_of(pipeline, mechanism), pipeline.operator.in_ticks()
    aggregate = aggregate_of(pipeline)
    if aggregate is not None:
        return former_ticks(now, aggregate.in_ticks(), CONTRIBUTIONS, (), _seen)
    if ticks is None:
        return former_records(now, mechanism, records)
    if isinstance(mechanism, LocalRealTimeRelease):
        return former_ticks(now, ticks, HELD, older_states.ADDED, older_states.continued)
    return former_ticks(now, ticks, HELD, (), dict)


def former_records(now: Start, mechanism: Mechanism, records: int) -> FormerRows | None:
    """Return the rows of a stage over records, where `records` have been read of the partition.

    Predictions were not counted before. No stream has more of them than its partition has records,
    times the steps that a gap between two of them may take.
    """
    inner = without_budget(mechanism)
    radius, gaps = getattr(inner, "radius", None), getattr(inner, "gaps", None)
    if not isinstance(radius, Radius):
        return None
    most = records * (1 if gaps is None else gaps.longest)

    def start(rows: int) -> State:
        return {name: column for name, column in now(rows).items() if name != PREDICTIONS}

    def upgraded(rows: State, _: Mapping[str, int]) -> State:
        return radius.counted_from(rows, most)

    return FormerRows(start, upgraded)


def former_ticks(
    now: Start, ticks: Ticks, cells: tuple[str, ...], added: tuple[str, ...], convert: Convert
) -> FormerRows:
    """Return the rows of a stage over ticks; `convert` makes the columns that a mechanism `added`.

    Columns in `cells` had as many places as ticks that stream time had come to, and no others.
    """

    def start(rows: int) -> State:
        return {
            name: column[:, : ticks.reached] if name in cells else column
            for name, column in now(rows).items()
            if name not in added and name not in _OF_STAGES
        }

    def upgraded(rows: State, clock: Mapping[str, int]) -> State:
        count = len(next(iter(rows.values())))
        state = {**now(count), **convert(rows)}
        for name in cells:
            state[name] = _placed(rows[name], now(count)[name], ticks, clock)
        return state

    return FormerRows(start, upgraded)


def _placed(former: Array, empty: Array, ticks: Ticks, clock: Mapping[str, int]) -> Array:
    """Return the places of open ticks, each at its new place."""
    if CLOSED in clock:
        first = clock[CLOSED] + 1
        for tick in range(first, first + ticks.reached):
            empty[:, tick % ticks.open] = former[:, tick % ticks.reached]
    return empty


def _seen(rows: State) -> State:
    """Return rows with the last tick in which each user contributed."""
    return {**rows, "seen": rows["tick"].max(axis=1)}
