"""Take what librdkafka reports about written records, on a thread without the interpreter's lock.

Each record carries the address of a number, the acknowledged end of its partition: the thread
writes there, and Python reads it when it wants to know.
"""

import atexit
import os
from threading import RLock, Thread
from weakref import WeakSet

import numpy as np

from fugu.dataflows.kafka.native.library import compiled, library
from fugu.dataflows.kafka.native.login_troubles import LoginTroubles
from fugu.dataflows.kafka.native.memory import half_word_at, set_word_at, word_at
from fugu.dataflows.kafka.native.structures import (
    EVENT_DELIVERY_REPORTS,
    EVENT_ERROR,
    MESSAGE_ERROR,
    MESSAGE_OFFSET,
    MESSAGE_OPAQUE,
    WORD,
)
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.mechanism import Integers

_poll = compiled("rd_kafka_queue_poll")
_event_type = compiled("rd_kafka_event_type")
_event_error = compiled("rd_kafka_event_error")
_event_destroy = compiled("rd_kafka_event_destroy")
_next_message = compiled("rd_kafka_event_message_next")

_WAIT_MILLISECONDS = 1_000
_JOIN_SECONDS = 5.0

_LEFT, _FAILURE = range(2)
_STATE = 2


class Reports:
    """Serve a producer until `end`, and destroy it then.

    Every record is reported: with a report about errors only, the ends of partitions would not be
    known, and librdkafka frees a record on one of its own threads instead of this one.
    """

    def __init__(self, producer: int, troubles: LoginTroubles) -> None:
        self.producer = producer
        self._queue: int = library().rd_kafka_queue_get_main(producer)
        self._topics: dict[str, int] = {}
        self._ends: dict[tuple[str, int], Integers] = {}
        self._state = np.zeros(_STATE, dtype=np.int64)
        self._troubles = troubles
        self._leaving = RLock()
        self._destroys = False
        self._process = os.getpid()
        self._compile()
        self._thread = Thread(target=self._serve, name="reports", daemon=True)
        self._thread.start()
        _SERVING.add(self)

    def topic(self, name: str) -> int:
        """Return librdkafka's handle of a topic."""
        if name not in self._topics:
            self._topics[name] = library().rd_kafka_topic_new(self.producer, name.encode(), None)
        return self._topics[name]

    def place_of_end(self, topic: str, partition: int) -> int:
        """Return the address that records of a partition must carry."""
        end = self._ends.setdefault((topic, partition), np.zeros(1, dtype=np.int64))
        return int(end.ctypes.data)

    def acknowledged_end(self, topic: str, partition: int) -> int | None:
        """Return the offset after the last acknowledged record of a partition, if any."""
        end = self._ends.get((topic, partition))
        return None if end is None or not end[0] else int(end[0])

    @property
    def failure(self) -> int:
        """Return the error of the first record that was not written, 0 if there is none."""
        return int(self._state[_FAILURE])

    def forget_failure(self) -> None:
        """Take a failure for one of records that nobody wants any more."""
        self._state[_FAILURE] = 0

    def end(self) -> None:
        """Destroy the producer, without waiting for it; nobody may use it any more."""
        self._destroys = True
        self.leave()

    def leave(self) -> None:
        """Take no more reports, without waiting."""
        if os.getpid() != self._process:
            return  # after a fork, librdkafka's threads are not there
        with self._leaving:
            if not self._state[_LEFT]:
                self._state[_LEFT] = 1
                library().rd_kafka_queue_yield(self._queue)

    def join(self) -> None:
        """Wait for the thread."""
        self._thread.join(_JOIN_SECONDS)

    def _compile(self) -> None:
        """Compile what the thread runs before any report can wait for it."""
        _take_reports(self._queue, np.ones(_STATE, dtype=np.int64))

    def _serve(self) -> None:
        while error := _take_reports(self._queue, self._state):
            self._troubles.heard(error)
        with self._leaving:  # whoever said so is done with the queue
            pass
        if self._destroys:
            self._destroy()

    def _destroy(self) -> None:
        calls = library()
        calls.rd_kafka_queue_destroy(self._queue)
        for topic in self._topics.values():
            calls.rd_kafka_topic_destroy(topic)
        calls.rd_kafka_destroy(self.producer)


_SERVING: WeakSet[Reports] = WeakSet()


@atexit.register
def _leave_all() -> None:
    """End all threads before the interpreter does: compiled code cannot be cut off.

    Producers stay, since somebody may still use them; they end with the process.
    """
    serving = list(_SERVING)
    for reports in serving:
        reports.leave()
    for reports in serving:
        reports.join()


@entry_point
def _take_reports(queue: int, state: Integers) -> int:
    """Take reports; return an error that is none of a record, or 0 where nobody wants any more."""
    while state[_LEFT] == 0:
        event = _poll(np.uint64(queue), np.int32(_WAIT_MILLISECONDS))
        if event == 0:
            continue
        kind, error = _event_type(event), 0
        if kind == EVENT_DELIVERY_REPORTS:
            _note(event, state)
        elif kind == EVENT_ERROR:
            error = int(_event_error(event))
        _event_destroy(event)
        if error != 0:
            return error
    return 0


@part
def _note(event: int, state: Integers) -> None:
    """Note where partitions end, or the first failure."""
    while True:
        message = _next_message(event)
        if message == 0:
            return
        error = half_word_at(message + np.uint64(MESSAGE_ERROR * WORD))
        if error == 0:
            place = word_at(message + np.uint64(MESSAGE_OPAQUE * WORD))
            last = word_at(message + np.uint64(MESSAGE_OFFSET * WORD))
            move_end(np.uint64(place), last + 1)
        elif state[_FAILURE] == 0:
            state[_FAILURE] = error


@part
def move_end(place: np.uint64, end: int) -> None:
    """Move an end forward: reports can arrive in another order than their records were written."""
    if end > word_at(place):
        set_word_at(place, end)
