"""Which ticks the merge holds back until policies are known, and which changes each of them knows.

A second implementation says both from the whole log at once; the merge reads it entry by entry and
is stopped anywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from fugu.dataflows.stages.log_entries import (
    Entry,
    PartialSums,
    PoliciesCovered,
    PolicyChange,
    read_entry,
)
from fugu.dataflows.stages.merging import MergeState, Merging, OpenTicks
from fugu.operators.guarantee import Guarantee
from fugu.operators.mechanism import Draws, Inputs, Integers, Releases, State
from fugu.operators.randomness import DrawScope, Secret

PARTITIONS, TICKS = 3, 12
REFUSED = b"refused"
GROUPS = 2
Released = dict[int, tuple[int, list[bytes], list[int]]]
"""For every tick: the entry of the log with which it was released, the changes so far, and sums."""


@dataclass(frozen=True)
class Listening:
    """Remember every change, with the tick that is the first to know of it."""

    kind = "listening"
    implementation = 1
    tick_milliseconds = 1

    def start(self, rows: int) -> State:
        return {"tick": np.zeros(rows, dtype=np.int64), "told": np.full(rows, b"", dtype=object)}

    def elapse(self, state: State, ticks: Integers) -> State:
        return {**state, "tick": np.maximum(state["tick"], ticks)}

    def explained(self, state: State, change: bytes) -> str:
        if change == REFUSED:
            raise ValueError("it is refused")
        return "it is told"

    def settled(self, state: State) -> int:
        return int(state["tick"][0]) - 1

    def after_change(self, state: State, change: bytes) -> State:
        told = b"%b %b@%d" % (state["told"][0], change, state["tick"][0])
        return {**state, "told": np.array([told], dtype=object)}

    def step(self, state: State, inputs: Inputs, draws: Draws) -> tuple[State, Releases]:
        after = {**state, "tick": state["tick"] + 1}
        return after, Releases(inputs.values, {"told": state["told"]})

    def guarantees(self) -> tuple[Guarantee, ...]:
        return ()

    def audit(self) -> dict[str, object]:
        return {}

    def law_digest(self) -> bytes:
        return bytes(32)


def merging(*, partitions: int = PARTITIONS, waits: bool = True) -> Merging:
    scope = DrawScope(Secret(bytes(32)), "town", "listening", 1, bytes(32))
    return Merging(Listening(), scope, "topic-id", partitions, GROUPS, waits=waits)


def again(merge: Merging, state: MergeState) -> MergeState:
    """Write the state, and read it back."""

    def load(_: str) -> OpenTicks:
        sums = OpenTicks()
        sums.apply(state.open.take_everything())
        return sums

    return merge.restored(state.encoded(), load)


def released(merge: Merging, log: Sequence[Entry], stops: Sequence[int] = ()) -> Released:
    state, found = merge.start(), Released()
    for offset, entry in enumerate(log):
        read = read_entry(entry.encoded(), "log")
        for tick, releases in merge(state, read, offset):
            assert tick not in found
            told = releases.annotations["told"][0].split()
            found[tick] = offset, told, releases.values[0].tolist()
        if offset in stops:
            state = again(merge, state)
    return found


def expected(log: Sequence[Entry]) -> Released:
    """Look at the whole log for each tick."""
    found, told, changes = Released(), list[bytes](), list[tuple[int, bytes]]()
    seen = set[int]()
    for place, entry in enumerate(log):
        if isinstance(entry, PolicyChange) and entry.offset not in seen:
            seen.add(entry.offset or 0)
            changes.append((place, entry.content))
    first = [first_tick(log, partition) for partition in range(PARTITIONS)]
    for tick in range(min(first), TICKS):
        complete = max(
            first_place(log, partition, max(tick, first[partition]))
            for partition in range(PARTITIONS)
        )
        marks = [
            place
            for place, entry in enumerate(log)
            if isinstance(entry, PoliciesCovered) and place > complete and entry.offset >= complete
        ]
        if complete >= len(log) or not marks:
            return found
        known = [content for place, content in changes if place < marks[0]]
        told = [*told, *(b"%b@%d" % (content, tick) for content in known[len(told) :])]
        those = [partition for partition in range(PARTITIONS) if tick >= first[partition]]
        total = sum(amount(partition, tick) for partition in those)
        found[tick] = marks[0], told, [total, len(those)]
    return found


def first_place(log: Sequence[Entry], partition: int, tick: int) -> int:
    """The places where a partition tells a tick first; behind the log if it does not."""
    places = (
        place
        for place, entry in enumerate(log)
        if isinstance(entry, PartialSums) and (entry.partition, entry.tick) == (partition, tick)
    )
    return next(places, len(log))


def first_tick(log: Sequence[Entry], partition: int) -> int:
    ticks = [
        entry.tick
        for entry in log
        if isinstance(entry, PartialSums) and entry.partition == partition
    ]
    return min(ticks, default=TICKS)


def random_log(random: Random) -> list[Entry]:
    """Partitions that are ahead of each other, marks for any entry before them, and copies."""
    log, changes = list[Entry](), 0
    told = [random.choice([0, 0, 3, 7]) for _ in range(PARTITIONS)]
    for _ in range(random.randrange(20, 120)):
        match random.choice(["sums", "sums", "change", "mark", "copy"]):
            case "sums":
                partition = random.randrange(PARTITIONS)
                if told[partition] < TICKS:
                    log.append(sums(partition, told[partition]))
                    told[partition] += 1
            case "change":
                content = random.choice([b"change-%d" % changes, REFUSED])
                log.append(PolicyChange(content, offset=changes))
                changes += random.randrange(1, 3)
            case "mark" if log:
                log.append(PoliciesCovered(random.randrange(len(log))))
            case "copy" if log:
                log.append(random.choice(log))
    return log


def sums(partition: int, tick: int) -> PartialSums:
    return PartialSums(partition, tick, np.arange(GROUPS), np.array([amount(partition, tick), 1]))


def amount(partition: int, tick: int) -> int:
    return 100 * tick - 7 * partition


@pytest.mark.parametrize("seed", range(100))
def test_ticks_and_what_they_know_are_as_the_whole_log_says(seed: int) -> None:
    random = Random(seed)
    log = random_log(random)
    stops = random.sample(range(len(log)), 3)
    assert released(merging(), log) == released(merging(), log, stops) == expected(log)


def test_random_logs_release_and_hold_back() -> None:
    ticks = [len(expected(random_log(Random(seed)))) for seed in range(100)]
    assert min(ticks) == 0
    assert max(ticks) > 5


def test_without_a_topic_of_policies_nothing_waits() -> None:
    log = [sums(partition, tick) for tick in range(TICKS) for partition in range(PARTITIONS)]
    assert sorted(released(merging(waits=False), log)) == list(range(TICKS))
    assert released(merging(), log) == {}


def test_changes_before_the_first_tick_are_told_at_it() -> None:
    log: list[Entry] = [PolicyChange(b"early", 0), sums(0, 1_000), PoliciesCovered(1)]
    assert released(merging(partitions=1), log) == {1_000: (2, [b"early@1000"], [100_000, 1])}


def test_a_change_is_told_once_where_a_late_request_left_a_copy() -> None:
    add, remove = PolicyChange(b"add", 0), PolicyChange(b"remove", 1)
    entries: list[Entry] = [add, remove, add, sums(0, 5), PoliciesCovered(3)]
    told = released(merging(partitions=1), entries)
    assert told == {5: (4, [b"add@5", b"remove@5"], [500, 1])}


def test_a_change_that_somebody_copies_out_of_an_aborted_transaction_hides_none_before_it() -> None:
    """The one before was aborted, too; both come again, in their order."""
    add, remove = PolicyChange(b"add", 0, after=0), PolicyChange(b"remove", 1, after=1)
    entries: list[Entry] = [remove, add, remove, sums(0, 5), PoliciesCovered(3)]
    told = released(merging(partitions=1), entries)
    assert told == {5: (4, [b"add@5", b"remove@5"], [500, 1])}


def test_waiting_for_long_takes_little_state_and_releases_no_tick_early() -> None:
    """Marks come when all ticks are complete; each lets out those that it is for, or fewer."""
    merge = merging(partitions=1)
    state, count, found = merge.start(), 5_000, dict[int, int]()
    for tick in range(count):
        assert not list(merge(state, sums(0, tick), tick))
    assert len(state.encoded()) < 20_000
    state = again(merge, state)
    for number, covers in enumerate(range(0, count, 500)):
        for tick, _ in merge(state, PoliciesCovered(covers), count + number):
            assert tick <= covers
            found[tick] = number
    last = [tick for tick, _ in merge(state, PoliciesCovered(count - 1), 2 * count)]
    assert [*found, *last] == list(range(count))
    assert len(found) > count - 1_000


def test_one_sum_is_kept_of_a_tick_that_waits_however_many_partitions_there_are() -> None:
    merge = merging()
    state = merge.start()
    for offset, tick in enumerate(np.repeat(range(50), PARTITIONS).tolist()):
        assert not list(merge(state, sums(offset % PARTITIONS, tick), offset))
    kept = len(state.open.take_everything())
    one = sum(len(sums(0, tick).encoded()) for tick in range(50))
    assert kept < 1.2 * one
    assert len(again(merge, state).open.take_everything()) == kept
