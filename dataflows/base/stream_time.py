"""Declare stream time: how far a partition has come in event time, by clocks that may be wrong.

No person may move it alone, because it decides whose records are late and which ticks close. So it
is the `distinct_keys`-th latest of the latest times of all keys, or the latest time of declared
heartbeats, keys that belong to no user. Every record counts whose key and time can be read, also
one whose value is refused; but for one whose time is further ahead of what Kafka says of the same
record than `max_ahead`. That is a function of the record alone, so a wrong clock decides about
nobody else.
"""

from dataclasses import dataclass
from datetime import timedelta

from fugu.dataflows.base.durations import MILLISECOND

DISTINCT_KEYS = 3
"""The default of pipeline files."""
IN_A_ROW = 20
"""Records beyond what a tick may be ahead that show that a partition was silent."""
MAX_AHEAD = timedelta(days=1)
"""Say how far a time may be ahead of Kafka's, unless a pipeline file says otherwise."""

_LIMITED = (
    "ticks.stream_time.max_ahead limits it where Kafka's timestamp comes of another clock than the "
    "time in the record"
)


@dataclass(frozen=True)
class StreamTime:
    """Say whose records move stream time: those of several people together, or heartbeats.

    A record counts if the time in its field is at most `max_ahead` milliseconds after the timestamp
    that it has in Kafka; None stands for a day.

    >>> StreamTime(3).in_words
    'the latest time that records of 3 people have reached'
    """

    distinct_keys: int = DISTINCT_KEYS
    heartbeats: frozenset[bytes] = frozenset()
    max_ahead: int | None = None

    @property
    def most_ahead(self) -> int:
        """Return how many milliseconds a time may be after that of the same record in Kafka."""
        return MAX_AHEAD // MILLISECOND if self.max_ahead is None else self.max_ahead

    @property
    def has_one_mover(self) -> bool:
        """Return whether a single clock moves stream time."""
        return self.distinct_keys == 1 or bool(self.heartbeats)

    @property
    def in_words(self) -> str:
        """Return what it is, for people."""
        if self.heartbeats:
            return "the latest time of a heartbeat (ticks.stream_time.heartbeats)"
        if self.distinct_keys == 1:
            return (
                "the latest time of any record: ONE PERSON MOVES IT, and so decides whose records "
                "are late; write ticks.stream_time: {distinct_keys: 3} where there are more"
            )
        return f"the latest time that records of {self.distinct_keys} people have reached"

    @property
    def remark(self) -> str | None:
        """Return who may make everybody's records late, where it is not several people together."""
        late = "makes the records of everybody late, for as long as it is ahead"
        if self.heartbeats:
            return (
                "ticks.stream_time.heartbeats: whoever may write to the source topic can send one, "
                f"and a heartbeat with a wrong clock {late}. Let nobody write there who may choose "
                f"keys and is not trusted with that (topic ACLs). {_LIMITED}"
            )
        if self.distinct_keys == 1:
            return (
                "ticks.stream_time.distinct_keys: 1 lets every record move stream time for all: "
                f"one with a wrong clock {late}. Write 3 or more, or declare heartbeats. {_LIMITED}"
            )
        return None

    @property
    def after_a_silence(self) -> str:
        """Return how it goes on when everything is too far ahead, for people."""
        if self.heartbeats:
            return "three heartbeats that agree move stream time there"
        most = 2 * self.distinct_keys - 1
        if most == 1:
            return f"{IN_A_ROW} such records in a row move stream time there"
        return (
            f"{IN_A_ROW} such records of {most} people, or {IN_A_ROW * most} of "
            f"{self.distinct_keys}, and of no two people in time between them, move stream time "
            "there"
        )


PEOPLE = StreamTime()
"""The default: records of several people."""
