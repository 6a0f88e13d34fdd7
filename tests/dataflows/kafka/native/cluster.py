"""librdkafka's mock cluster, with faults to order: what a real broker does not do when asked."""

import ctypes

from fugu.dataflows.base.batches import Outgoing
from fugu.dataflows.kafka.connection import Connection
from fugu.dataflows.kafka.native.library import LoginTroubles, library
from fugu.dataflows.kafka.native.self_test import MockCluster
from fugu.dataflows.kafka.native.settings import WRITING, Settings, settings_of
from fugu.dataflows.kafka.native.writer import NativeTransactionalWriter, NativeWriter

TOPIC = "topic"
PARTITIONS = 4
PRODUCE, INIT_PRODUCER, END_TRANSACTION = 0, 22, 26
_BROKER = 1


class FaultyCluster(MockCluster):
    """A cluster whose next answers are errors, and whose broker goes away."""

    def answer(self, request: int, *errors: int) -> None:
        """Answer the next requests of a kind with these errors."""
        push = library().rd_kafka_mock_push_request_errors_array
        push.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.c_void_p]
        push.restype = None
        codes = (ctypes.c_int32 * len(errors))(*errors)
        push(self._cluster, request, len(errors), ctypes.addressof(codes))

    def lose_leader(self, partition: int) -> None:
        """Let nobody lead a partition."""
        move = library().rd_kafka_mock_partition_set_leader
        move.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32]
        assert move(self._cluster, TOPIC.encode(), partition, -1) == 0

    def go_down(self) -> None:
        self._broker("down")

    def come_up(self) -> None:
        self._broker("up")

    def writer(self, **settings: object) -> NativeWriter:
        troubles = LoginTroubles(self.bootstrap)
        return NativeWriter(self._settings(settings), troubles, self.writer)

    def owner(self, identity: str, **settings: object) -> NativeTransactionalWriter:
        troubles = LoginTroubles(self.bootstrap)
        return NativeTransactionalWriter(self._settings(settings), troubles, identity, self.writer)

    def _settings(self, others: Settings) -> Settings:
        return {**settings_of(Connection(self.bootstrap)), **WRITING, **others}

    def _broker(self, where: str) -> None:
        move = getattr(library(), f"rd_kafka_mock_broker_set_{where}")
        move.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        assert move(self._cluster, _BROKER) == 0


def outgoing(*values: bytes, partition: int = 0) -> Outgoing:
    count = len(values)
    return Outgoing(partition, [b"key"] * count, list(values), [[]] * count, [1_000] * count)
