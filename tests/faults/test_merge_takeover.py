"""A merge, and the internal log that it reads, go to other copies, and nothing counts twice."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

import pytest

from fugu.dataflows.base.errors import GivenAway, ReleaseMismatch, ShutOut, StartRefused
from fugu.dataflows.base.metrics import FOREIGN_WRITES
from fugu.dataflows.copies import transaction
from fugu.dataflows.copies.copy import Copy
from fugu.dataflows.copies.dataflow import CopySourcePart
from fugu.dataflows.copies.others import Others
from fugu.dataflows.copies.owned import Owned, Taken
from fugu.dataflows.flows.merging import MergingPlan
from fugu.dataflows.kafka.client import Client
from fugu.dataflows.kafka.native.copy_writer import NativeCopyWriter
from fugu.dataflows.records.published import RELEASE_HEADER
from tests.faults.copied_city import City, Led
from tests.faults.feeding import PARTITIONS
from tests.kafka.pipelines import PATIENCE_SECONDS, write_pipeline
from tests.kafka.records import Placed, produce
from tests.kafka.topics import TopicFactory

TICKS = 12
pytestmark = pytest.mark.slow


@pytest.fixture
def city(bootstrap: str, topics: TopicFactory, in_process: None) -> City:
    return City.moving(bootstrap, topics, parts=2, ticks=TICKS)


@pytest.fixture
def copies(city: City, tmp_path: Path) -> Iterator[Led]:
    with closing(Led(write_pipeline(tmp_path, city.copied), Random(28))) as led:
        yield led


def bound(city: City, copies: Led, parts: int = 1) -> Copy:
    """One that bounds, and has committed what it made of the first parts."""
    bounder = copies.add(merges=False)
    for part in range(parts):
        city.produce(part)
    copies.take_in([one for part in city.parts[:parts] for one in part], bounder)
    return bounder


def merge(copies: Led, copy: Copy) -> None:
    """Let one that merges make figures of all that is in the log, once it is committed."""
    log = copy.plan.fingerprint.source_topic
    end = reader_end(copies.planned.client, log, committed=False)
    copies.until(lambda: 0 in copy.owned and (copy._reader.position(0) or 0) >= end)


def reader_end(client: Client, topic: str, *, committed: bool) -> int:
    """Return where a topic of one partition ends, with or without what is not committed."""
    with closing(client.reader(topic, committed=committed)) as reader:
        return reader.bounds([0])[0].end


def next_batches(copy: Copy) -> list[Taken]:
    """Return what arrives next for a copy that nobody else leads."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (batches := copy.next_batch()):
        assert time.monotonic() < deadline, "nothing arrives"
        time.sleep(0.002)
    return batches


def count_out(copy: Copy) -> None:
    """Take a copy out of its group as if it stood still, and let it believe that it is in it."""
    before, owned = copy._member.metadata(), dict(copy.owned)
    copy.owned.clear()
    copy._member.close()
    copy.owned.update(owned)
    copy._member.metadata = lambda: before  # type: ignore[method-assign]


def finish(city: City, copies: Led, bounder: Copy, merger: Copy) -> None:
    """Read all that there is; every figure counts, once."""
    city.produce(1)
    read_all(city, copies, bounder, merger)
    city.require_one_draw_each()


def read_all(city: City, copies: Led, bounder: Copy, merger: Copy) -> None:
    copies.take_in([one for part in city.parts for one in part], bounder)
    merge(copies, merger)
    merger.cut()
    figures = city.counted("topic")
    assert len(figures) >= city.whole.released
    names = [dict(one.headers)[RELEASE_HEADER] for one in figures]
    assert len(set(names)) == len(names)


def test_a_merge_that_stood_still_commits_nothing_once_another_copy_goes_on(
    city: City, copies: Led
) -> None:
    bounder, zombie = bound(city, copies), copies.add(merges=True)
    merge(copies, zombie)
    zombie._writer.acknowledge()
    seen = city.read(city.copied, "topic", "read_uncommitted")[0]
    assert seen
    assert not city.read(city.copied, "topic")[0]
    copies.running.remove(zombie)
    count_out(zombie)
    heir = copies.add(merges=True)
    merge(copies, heir)
    heir.cut()
    assert city.counted("topic") == seen
    with pytest.raises(ShutOut):
        zombie.cut()
    zombie.close()
    assert city.counted("topic") == seen
    finish(city, copies, bounder, heir)


def test_a_merge_that_another_copy_owns_commits_no_figure_even_where_nobody_shut_it_out(
    city: City, copies: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes its figures late, when nobody can have found a transaction of it."""
    zombie = copies.add(merges=True)
    copies.until(lambda: 0 in zombie.owned)
    copies.running.remove(zombie)
    bounder = bound(city, copies)
    batches = next_batches(zombie)
    count_out(zombie)
    heir = copies.add(merges=True)
    merge(copies, heir)
    heir.cut()
    released = city.counted("topic")
    assert released
    for taken in batches:
        made = zombie.sanitized(taken, zombie.decoded(taken))
        zombie.write(taken, zombie.published(made))
    monkeypatch.setattr(transaction, "others_between", lambda *_: Others())
    with pytest.raises(GivenAway, match="UNKNOWN_MEMBER_ID"):
        zombie.cut()
    zombie.close()
    assert city.counted("topic") == released
    finish(city, copies, bounder, heir)


def test_a_figure_that_is_drawn_anew_after_an_abort_stops_the_merge(
    city: City, copies: Led
) -> None:
    bound(city, copies)
    dead = copies.add(merges=True)
    merge(copies, dead)
    dead._writer.acknowledge()
    copies.running.remove(dead)
    dead.close()

    def other_noise(plan: MergingPlan) -> MergingPlan:
        scope = replace(plan.merge.scope, law=bytes(32))
        return replace(plan, merge=replace(plan.merge, scope=scope))

    heir = copies.join_merge("heir", other_noise)
    with pytest.raises(ReleaseMismatch, match="release_mismatch"):
        merge(copies, heir)
    heir.close()
    assert not city.read(city.copied, "topic")[0]


@pytest.mark.acceptance
def test_a_state_of_the_merge_that_is_committed_without_positions_is_two_owners(
    city: City, copies: Led
) -> None:
    """Play a merge that has lost the log, and does not send its position."""
    bound(city, copies)
    merger = copies.add(merges=True)
    merge(copies, merger)
    merger.cut()
    with closing(copies.planned.client.copy_writer("fugu-test-zombie", 10_000)) as zombie:
        copies.planned.state.put(zombie, {PARTITIONS: [(b"1/9/0/1", b"a block")]})
        zombie.commit()
    figures = city.counted("topic")
    city.produce(1)
    copies.take_in([one for part in city.parts for one in part], copies.running[0])
    merge(copies, merger)
    with pytest.raises(StartRefused, match=f"two_owners.*partition {PARTITIONS}"):
        merger.cut()
    copies.running.remove(merger)
    merger.close()
    heir = copies.add(merges=True)
    with pytest.raises(StartRefused, match="somebody else wrote to it"):
        copies.until(lambda: 0 in heir.owned)
    assert city.counted("topic") == figures


def test_a_merge_is_read_back_behind_an_open_transaction_and_counts_no_sum_twice(
    city: City, copies: Led
) -> None:
    """A reader that stops where one of committed records ends would miss the newest block."""
    bounder = bound(city, copies)
    merger = copies.add(merges=True)
    copies.until(lambda: 0 in merger.owned)
    merger.cut()
    state = copies.planned.state.topic.name
    foreign = copies.planned.client.copy_writer("fugu-test-foreign", 60_000)
    foreign.put(state, PARTITIONS, [(b"open", b"transaction")])
    foreign.acknowledge()
    merge(copies, merger)
    merger.cut()
    position = merger.owned[0].position
    copies.running.remove(merger)
    merger.close()
    heir = copies.add(merges=True)
    with closing(foreign):
        Timer(2.0, foreign.abandon).start()
        began = time.monotonic()
        copies.until(lambda: 0 in heir.owned)
    assert time.monotonic() - began > 1.5
    assert heir.owned[0].position >= position
    finish(city, copies, bounder, heir)


def test_copies_of_entries_that_strangers_write_count_once_and_stop_nobody(
    city: City, copies: Led
) -> None:
    """Exact ones, also of what a copy had open when it died, in another order."""
    bounder = bound(city, copies)
    log = city.copied["sink"]["partials"]
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(NativeCopyWriter, "commit", _die)
        city.produce(1)
        with pytest.raises(_Died):
            copies.take_in([one for part in city.parts for one in part], bounder)
    copies.running.remove(bounder)
    bounder.close()
    committed = city.read(city.copied, "partials")[0]
    seen = city.read(city.copied, "partials", "read_uncommitted")[0]
    assert len(seen) > len(committed) > 0
    produce(city.bootstrap, log, [Placed(0, one) for one in reversed(seen)])
    heir, merger = copies.add(merges=False), copies.add(merges=True)
    copies.until(lambda: 0 in heir.owned)
    read_all(city, copies, heir, merger)
    assert set(city.read(city.copied, "partials")[0]) >= set(seen)
    assert merger.metrics.values(FOREIGN_WRITES)[log, "0"] >= len(committed)


class _Died(Exception):
    """Stand for the end of a process."""


def _die(writer: NativeCopyWriter) -> None:
    raise _Died


def test_a_partition_is_taken_over_while_another_copy_writes_to_the_internal_log(
    city: City, copies: Led
) -> None:
    """End partial sums, for readers, before the place that the state goes on from."""
    log = city.copied["sink"]["partials"]
    copy = copies.add(merges=False)
    other = copies.planned.client.copy_writer("fugu-test-other", 60_000)
    with closing(other):
        other.put(log, 0, [(b"other", b"")])
        other.acknowledge()
        city.produce(0)
        copies.take_in(city.parts[0], copy)
        copies.kill(copy)
        [copy] = copies.running
        copies.until(lambda: len(copy.owned) == PARTITIONS)
        assert not city.read(city.copied, "partials")[0]
        other.abandon()
    assert city.counted("partials")
    finish(city, copies, copy, copies.add(merges=True))


def test_partial_sums_that_a_dead_copy_left_open_hold_up_nobody_once_it_has_a_successor(
    city: City, copies: Led
) -> None:
    """Though it has died before its first cut: it claimed its partitions before it wrote."""
    log, client = city.copied["sink"]["partials"], copies.planned.client
    dead = copies.add(merges=False)
    copies.until(lambda: len(dead.owned) == PARTITIONS)
    city.produce(0)
    copies.until(lambda: dead.owned[0].accounts[0].published > 0)
    dead._writer.acknowledge()
    dead.owned.clear()
    dead._member.close()
    copies.running.clear()
    heir = copies.add(merges=False)
    copies.until(lambda: len(heir.owned) == PARTITIONS)
    ends = [reader_end(client, log, committed=committed) for committed in (True, False)]
    assert ends[0] == ends[1] > 0
    heir.plan.stop.request()
    with pytest.raises(StopIteration):
        heir.next_batch()
    copies.running.clear()
    with closing(client.copy_writer("fugu-test-other", 60_000)) as other:
        other.put(log, 0, [(b"other", b"")])
        other.acknowledge()
        third = copies.add(merges=False)
        copies.until(lambda: len(third.owned) == PARTITIONS)
    tried = third._takeover.predecessors.tried
    assert not tried, "what was given up properly has nothing open"


def test_a_takeover_that_may_last_finds_nothing_open_of_the_other_copies_of_its_process(
    city: City, copies: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction of theirs would expire meanwhile. It waits while batches are on their way."""
    gone, merger = bound(city, copies), copies.add(merges=True)
    merge(copies, merger)
    assert not city.read(city.copied, "topic")[0]
    bounder = copies.add(merges=False)
    found, owned = list[int](), bounder._takeover.owned

    def taken_over(*given: Any) -> list[Owned[Any]]:
        found.append(len(city.counted("topic")))
        return owned(*given)

    monkeypatch.setattr(bounder._takeover, "owned", taken_over)
    part = CopySourcePart([bounder, merger])
    gone.close()
    merger.in_flight += 1
    lead(part, lambda: bounder.is_given)
    lead(part, lambda: bounder.is_given, times=3)
    assert found == []
    merger.in_flight -= 1
    lead(part, lambda: len(bounder.owned) == PARTITIONS)
    assert found
    assert found[0] == len(city.read(city.copied, "topic", "read_uncommitted")[0]) > 0
    copies.running.remove(gone)
    finish(city, copies, bounder, merger)


def lead(part: CopySourcePart, reached: Callable[[], bool], times: int = 1) -> None:
    """Do what bytewax does, so often that this is reached so many times."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while times:
        assert time.monotonic() < deadline, "it is not reached"
        for copy, taken in part.next_batch():
            copy.write(taken, copy.published(copy.sanitized(taken, copy.decoded(taken))))
        times -= reached()
