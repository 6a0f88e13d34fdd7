"""When something is noticed, what is said of it, and when it is over."""

from datetime import timedelta

import pytest

from fugu.dataflows.base.batches import ADVICE, Reason
from fugu.dataflows.base.metrics import (
    DEAD_LETTERS,
    FOREIGN_WRITES,
    RECORDS_IN,
    STREAMS,
    STREAMS_BY_BUDGET,
    STREAMS_LIMIT,
    Metrics,
    Standing,
    TimesRead,
    Told,
)
from fugu.dataflows.base.ticks import PEOPLE, StreamTime, Ticks
from fugu.dataflows.monitoring.figures_wait import FiguresWait, TicksWait, UsersWait
from fugu.dataflows.monitoring.notices import (
    Budgets,
    ClocksAhead,
    ForeignEntries,
    Kind,
    Notice,
    RefusedShare,
    Sentinel,
    StreamsLimit,
    StreamTimes,
    TimeUnits,
)
from fugu.dataflows.records.json_fields import Format
from fugu.dataflows.stages.stateful_step import Gate

HOUR = 3_600_000
TICKS = Ticks(width=HOUR, grace=0, max_jump=100)


def noticed(sentinel: Sentinel, now: float) -> Notice | None:
    """The only notice."""
    notices = list(sentinel.notices(now))
    assert len(notices) <= 1
    return notices[0] if notices else None


def test_every_reason_has_an_advice() -> None:
    assert ADVICE.keys() == set(Reason)


def test_figures_that_wait_for_a_partition_that_has_not_begun() -> None:
    standing = Standing(positions={("raw", 3): 7}, told=Told(4, {0: 11, 1: 11, 2: 10}))
    sentinel = FiguresWait("raw", standing, TICKS)
    assert noticed(sentinel, 100.0) is None
    assert noticed(sentinel, 130.0) is None
    notice = noticed(sentinel, 141.0)
    assert notice is not None
    assert notice.still
    assert notice.partition == 3
    assert notice.text == (
        "figures wait for partition 3 of raw, which has told no tick yet (others: up to "
        "1970-01-01 12:00:00). It has had no records for 41 s. Send heartbeats to every partition "
        "(ticks.stream_time.heartbeats)"
    )
    standing.told = Told(4, {0: 11, 1: 11, 2: 11, 3: 11})
    assert noticed(sentinel, 142.0) is None


def test_figures_that_move_on_do_not_wait() -> None:
    standing = Standing()
    sentinel = FiguresWait("raw", standing, TICKS)
    for second in range(200):
        standing.told = Told(2, {0: 500 + second // 20, 1: second // 20})
        assert noticed(sentinel, float(second)) is None


def test_figures_that_stopped_for_several_partitions_name_them() -> None:
    standing = Standing(told=Told(6, {0: 11, 1: 5, 2: 5, 3: 5, 4: 5, 5: 11}))
    sentinel = FiguresWait("raw", standing, TICKS)
    assert noticed(sentinel, 0.0) is None
    notice = noticed(sentinel, 31.0)
    assert notice is not None
    assert notice.partition is None
    said = "figures wait for partitions 1, 2, 3 and 1 others of raw, which have told ticks up to "
    assert notice.text.startswith(said + "1970-01-01 06:00:00 only")


@pytest.mark.parametrize(("stream_time", "said"), [(3_599, None), (3_601, "60 minutes ahead")])
def test_stream_time_ahead_of_the_clock(stream_time: int, said: str | None) -> None:
    standing = Standing(times={2: (1_000 + stream_time) * 1_000})
    sentinel = StreamTimes("raw", standing, timedelta(hours=1), PEOPLE, clock=lambda: 1_000.0)
    notice = noticed(sentinel, 0.0)
    assert (notice is None) == (said is None)
    if notice is not None and said is not None:
        assert said in notice.text
        assert (notice.partition, notice.still) == (2, False)


@pytest.mark.parametrize(
    ("moved_by", "said"),
    [
        (StreamTime(1), "One record does that (ticks.stream_time.distinct_keys: 1). Look at the"),
        (StreamTime(3), "3 people did that together (ticks.stream_time.distinct_keys). Look at"),
        (
            StreamTime(heartbeats=frozenset([b"beat"])),
            "Look at the clock of whoever sends heartbeats (ticks.stream_time.heartbeats)",
        ),
    ],
)
def test_who_moved_stream_time_ahead_is_said(moved_by: StreamTime, said: str) -> None:
    standing = Standing(times={2: 10**9})
    sentinel = StreamTimes("raw", standing, timedelta(hours=1), moved_by, clock=lambda: 0.0)
    notice = noticed(sentinel, 0.0)
    assert notice is not None
    assert said in notice.text


def test_records_far_ahead_of_kafka_are_said_for_five_minutes() -> None:
    standing = Standing()
    sentinel = ClocksAhead("raw", standing, "at", StreamTime(max_ahead=3_600_000))
    assert noticed(sentinel, 0.0) is None
    standing.ahead_of_kafka[3] = 2
    notice = noticed(sentinel, 1.0)
    assert notice is not None
    assert (notice.partition, notice.still) == (3, False)
    assert "2 records since the start had times more than 3,600 s after those in" in notice.text
    assert "too_far_ahead that name at" in notice.text
    assert noticed(sentinel, 300.0) is not None
    assert noticed(sentinel, 301.0) is None
    standing.ahead_of_kafka[3] = 3
    assert noticed(sentinel, 302.0) is not None


def test_users_who_are_not_asked() -> None:
    gate = Gate()
    gate.note(2, position=40, tick=7)
    [(_, since)] = gate.waiting.values()
    gate.note(2, position=40, tick=7)
    sentinel = UsersWait("raw", gate)
    assert noticed(sentinel, since + 29.0) is None
    notice = noticed(sentinel, since + 45.0)
    assert notice is not None
    assert (notice.kind, notice.partition, notice.still) == (Kind.FIGURES_WAIT, 2, False)
    assert "partition 2: records have waited for 45 s" in notice.text
    gate.note(2, position=60, tick=None)
    assert noticed(sentinel, since + 45.0) is None
    assert gate.positions == {2: 60}


def test_stream_time_that_does_not_begin() -> None:
    standing = Standing(not_begun={1})
    sentinel = StreamTimes("raw", standing, timedelta(hours=1), PEOPLE)
    assert noticed(sentinel, 0.0) is None
    notice = noticed(sentinel, 31.0)
    assert notice is not None
    assert notice.still
    standing.not_begun.clear()
    standing.times[1] = 5
    assert noticed(sentinel, 32.0) is None
    standing.times.clear()
    standing.not_begun.add(1)
    assert noticed(sentinel, 33.0) is None, "it counts anew"


def test_values_that_wait_while_nobody_sends_anywhere_are_no_fault() -> None:
    positions = {("raw", 2): 4, ("raw", 3): 7, ("changes", 0): 1}
    standing = Standing(positions=positions, times={3: 5_000}, holding={3})
    sentinel = TicksWait("raw", standing, Ticks(width=30_000, grace=5_000, max_jump=9))
    assert noticed(sentinel, 100.0) is None
    assert noticed(sentinel, 165.0) is None
    positions["changes", 0] = 2
    notice = noticed(sentinel, 166.0)
    assert notice is not None
    assert (notice.kind, notice.partition) == (Kind.NO_INPUT, 3)
    assert (notice.still, notice.quiet) == (False, True)
    assert notice.text == (
        "topic raw, partition 3: values wait for later records; no partition has had any for 66 s. "
        "They are published when records come; heartbeats would close ticks when nobody sends "
        "(ticks.stream_time.heartbeats)"
    )
    standing.holding.clear()
    assert noticed(sentinel, 167.0) is None, "nothing waits"
    standing.holding.add(3)
    standing.times[3] = 6_000
    assert noticed(sentinel, 168.0) is None, "time goes on"


def test_values_that_wait_in_one_partition_while_others_have_news() -> None:
    positions = {("raw", 2): 0, ("raw", 3): 7}
    standing = Standing(positions=positions, times={2: 0, 3: 5_000}, holding={3})
    sentinel = TicksWait("raw", standing, Ticks(width=30_000, grace=5_000, max_jump=9))
    for second in range(67):
        positions["raw", 2] = standing.times[2] = second
        notice = noticed(sentinel, float(second))
    assert notice is not None
    assert (notice.kind, notice.partition) == (Kind.PARTITION_IDLE, 3)
    assert (notice.still, notice.quiet) == (False, False)
    assert "nobody has sent any there for 66 s, while other partitions have news" in notice.text


def test_declared_heartbeats_that_stay_away_are_a_fault_also_where_nobody_sends() -> None:
    standing = Standing(positions={("raw", 3): 7}, times={3: 5_000}, holding={3})
    time = StreamTime(heartbeats=frozenset([b"beat"]))
    ticks = Ticks(width=30_000, grace=5_000, max_jump=9, time=time)
    sentinel = TicksWait("raw", standing, ticks)
    assert noticed(sentinel, 0.0) is None
    notice = noticed(sentinel, 66.0)
    assert notice is not None
    assert (notice.kind, notice.still) == (Kind.TICKS_WAIT, True)
    assert "nobody has sent any for 66 s. Send heartbeats" in notice.text


@pytest.mark.parametrize("heartbeats", [frozenset[bytes](), frozenset([b"beat"])])
def test_figures_that_wait_while_nobody_sends_anywhere(heartbeats: frozenset[bytes]) -> None:
    standing = Standing(positions={("raw", 0): 7}, told=Told(2, {0: 11, 1: 10}))
    ticks = Ticks(width=30_000, grace=5_000, max_jump=9, time=StreamTime(heartbeats=heartbeats))
    sentinel = FiguresWait("raw", standing, ticks)
    assert noticed(sentinel, 100.0) is None
    notice = noticed(sentinel, 140.0)
    assert notice is not None
    assert notice.still, "others may tell further ticks"
    notice = noticed(sentinel, 166.0)
    assert notice is not None
    assert (notice.still, notice.quiet) == (bool(heartbeats), not heartbeats)
    standing.told = Told(2, {0: 12, 1: 10})
    notice = noticed(sentinel, 167.0)
    assert notice is not None
    assert (notice.kind, notice.still) == (Kind.FIGURES_WAIT, True), "others go on"


@pytest.mark.parametrize(
    ("stream_time", "said"),
    [
        (StreamTime(3), "stream time has stood still for 66 s, because too few people move it. Se"),
        (StreamTime(heartbeats=frozenset([b"beat"])), "there was no heartbeat for 66 s. Send them"),
    ],
)
def test_values_that_wait_although_somebody_sends(stream_time: StreamTime, said: str) -> None:
    standing = Standing(times={3: 5_000}, holding={3})
    ticks = Ticks(width=30_000, grace=5_000, max_jump=9, time=stream_time)
    sentinel = TicksWait("raw", standing, ticks)
    for second in range(66):
        standing.positions["raw", 3] = second
        assert noticed(sentinel, float(second)) is None
    notice = noticed(sentinel, 66.0)
    assert notice is not None
    assert said in notice.text


class Traffic:
    """Records of a topic, some of them refused."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.sentinel = RefusedShare("raw", self.metrics, 0.05, 1_000)

    def __call__(self, now: float, records: int, refused: int = 0) -> str | None:
        self.metrics.add(RECORDS_IN, records, "raw", 0)
        self.metrics.add(RECORDS_IN, records, "sums", 0)
        if refused:
            self.metrics.add(DEAD_LETTERS, refused, "raw", 0, Reason.WRONG_PARTITION)
        notice = noticed(self.sentinel, now)
        return None if notice is None else notice.text


def test_a_share_of_refused_records_is_said_with_its_reason() -> None:
    traffic = Traffic()
    assert traffic(0.0, 0) is None
    assert traffic(1.0, 999, 500) is None, "too few to tell"
    text = traffic(2.0, 1, 1)
    assert text is not None
    assert text.startswith("topic raw: 501 of the last 1,000 records were refused, most as wrong_")
    assert "fugu state repartition" in text
    assert traffic(3.0, 500) is not None, "the last thousand still hold many"
    assert traffic(4.0, 1_000) is None


def test_few_refused_records_are_no_news() -> None:
    traffic = Traffic()
    assert traffic(0.0, 0) is None
    for second in range(1, 100):
        assert traffic(float(second), 1_000, 50) is None
    assert traffic(100.0, 1_000, 51) is not None


def test_refused_records_of_long_ago_are_no_news() -> None:
    traffic = Traffic()
    assert traffic(0.0, 0) is None
    assert traffic(1.0, 2_000, 2_000) is not None
    assert traffic(599.0, 0) is not None
    assert traffic(602.0, 0) is None
    assert traffic(4_999.0, 0) is None
    assert traffic(5_000.0, 1_000, 1_000) is not None, "the next ones are"


@pytest.mark.parametrize(("streams", "said"), [(8_999, False), (9_000, True)])
def test_a_partition_that_is_nearly_full(streams: int, said: bool) -> None:
    metrics = Metrics()
    metrics.put(STREAMS, streams, "raw", 0)
    metrics.put(STREAMS_LIMIT, 10_000, "raw", 0)
    notice = noticed(StreamsLimit("raw", metrics), 0.0)
    assert (notice is not None) == said
    if notice is not None:
        assert (notice.partition, notice.still) == (0, False)
        assert "9,000 of 10,000 keys" in notice.text


def test_records_of_others_in_the_internal_log_are_said_for_ten_minutes() -> None:
    metrics = Metrics()
    sentinel = ForeignEntries("sums", metrics)
    assert noticed(sentinel, 0.0) is None
    metrics.add(FOREIGN_WRITES, 1_200, "sums", 0)
    notice = noticed(sentinel, 10.0)
    assert notice is not None
    assert (notice.kind, notice.still) == (Kind.FOREIGN_ENTRIES, False)
    assert "something else writes to it, 1,200 records so far" in notice.text
    assert noticed(sentinel, 609.0) is not None
    assert noticed(sentinel, 611.0) is None
    metrics.add(FOREIGN_WRITES, 1, "sums", 0)
    assert noticed(sentinel, 700.0) is not None


def test_rows_of_people_who_count_run_out_and_no_number_is_said() -> None:
    metrics = Metrics(show_streams=False)
    assert noticed(StreamsLimit("raw", metrics), 0.0) is None
    metrics.standing.crowded.add(2)
    notice = noticed(StreamsLimit("raw", metrics), 0.0)
    assert notice is not None
    assert (notice.kind, notice.partition, notice.still) == (Kind.STREAMS_LIMIT, 2, False)
    assert "producers who make up keys can shut everybody else out" in notice.text
    metrics.standing.forget("raw", 2)
    assert noticed(StreamsLimit("raw", metrics), 0.0) is None


@pytest.mark.parametrize(
    ("exhausted", "nearly", "others", "said"),
    [
        (11, 0, 89, "11 of 100 streams have no budget left: a constant is released for them"),
        (1_204, 0, 8_796, "1,204 of 10,000 streams have no budget left"),
        (5, 6, 89, "11 of 100 streams have spent nine tenths of their budget or more; when nothi"),
        (10, 0, 90, None),
        (99, 0, 0, None),
    ],
)
def test_budgets_that_are_spent(exhausted: int, nearly: int, others: int, said: str | None) -> None:
    metrics = Metrics()
    for partition, (spent, count) in enumerate(
        [("exhausted", exhausted), ("9", nearly // 2), ("10", nearly - nearly // 2), ("3", others)]
    ):
        metrics.put(STREAMS_BY_BUDGET, count, "raw", partition, spent)
    notice = noticed(Budgets("raw", metrics, 0.1, "constant"), 0.0)
    assert (notice is None) == (said is None)
    if notice is not None and said is not None:
        assert said in notice.text
        assert (notice.partition, notice.still) == (None, False)


@pytest.mark.parametrize(
    ("unit", "small", "large", "said"),
    [
        (
            "epoch-ms",
            500,
            0,
            "before 1973. Look at field at: it looks like seconds; write source",
        ),
        ("epoch-ms", 0, 500, "refused. Look at field at: it looks like microseconds; producers mu"),
        ("epoch-s", 0, 500, "beyond the year 9999, and are refused. Look at field at: it looks l"),
        ("epoch-ms", 499, 0, None),
        ("epoch-ms", 0, 0, None),
    ],
)
def test_times_in_another_unit(unit: Format, small: int, large: int, said: str | None) -> None:
    standing = Standing(times_read={0: TimesRead(1_000, small, large)})
    notice = noticed(TimeUnits("raw", standing, "at", unit), 0.0)
    assert (notice is None) == (said is None)
    if notice is not None and said is not None:
        assert said in notice.text


def test_few_odd_times_are_no_news_and_good_ones_end_it() -> None:
    times = TimesRead()
    sentinel = TimeUnits("raw", Standing(times_read={0: times}), "at", "epoch-ms")
    times.add(19, 19, 0)
    assert noticed(sentinel, 0.0) is None
    times.add(1, 1, 0)
    assert noticed(sentinel, 1.0) is not None
    times.add(990, 0, 0)
    assert noticed(sentinel, 2.0) is None
