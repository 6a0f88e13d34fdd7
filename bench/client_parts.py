"""Measure what consuming and producing cost by themselves, in CPU time, on the real broker.

Twice: stock kafka-python calls, as in the baseline, and Fugu's reader and writer, which make and
take columns and check every acknowledgement. Nothing piles up: the memory is that of a run.
"""

import gc
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import cycle
from types import SimpleNamespace

from bench.stock_loop import MAX_BATCH, StockProducer, consumer_of
from fugu.dataflows.base.batches import Batch, Outgoing
from fugu.dataflows.kafka.client import Client


@dataclass(frozen=True)
class ClientParts:
    """CPU microseconds per record, all threads of the client included."""

    consume: float
    produce: float


def consume_stock(bootstrap: str, source: str, records: int) -> float:
    """Microseconds per record of the first half of the baseline."""
    count = 0
    with closing(consumer_of(bootstrap, source)) as consumer:
        began = time.process_time()
        while count < records:
            polled = consumer.poll(timeout_ms=100, max_records=MAX_BATCH)
            count += sum(map(len, polled.values()))
        return _per_record(began, count)


def produce_stock(bootstrap: str, sink: str, partitions: int, records: int) -> float:
    """Microseconds per record of the second half of the baseline."""
    timestamp = int(time.time() * 1000)
    count = 0
    with closing(StockProducer(bootstrap, sink)) as producer:
        began = time.process_time()
        for partition in cycle(range(partitions)):
            record = SimpleNamespace(partition=partition, timestamp=timestamp)
            producer.send([record] * MAX_BATCH)
            count += MAX_BATCH
            if count >= records:
                break
        producer.flush()
        return _per_record(began, count)


def consume_with_fugu(
    client: Client, source: str, partitions: int, records: int, kept: int
) -> tuple[float, list[Batch]]:
    """Microseconds per record, and the first batches of partition 0, for other measurements."""
    first: list[Batch] = []
    count = 0
    with closing(client.reader(source)) as reader:
        reader.assign(dict.fromkeys(range(partitions), 0))
        began = time.process_time()
        while count < records:
            polled = reader.poll(MAX_BATCH)
            for batch in polled:
                count += len(batch.offsets)
                if batch.partition == 0 and sum(len(one.offsets) for one in first) < kept:
                    first.append(batch)
            if not polled:
                time.sleep(0.02)
        return _per_record(began, count), first


def produce_with_fugu(client: Client, sink: str, outgoing: list[Outgoing], records: int) -> float:
    """Microseconds per record, for the same batches again and again.

    In a run batches come and go; the ones kept here would be scanned at each garbage collection.
    """
    gc.freeze()
    count = 0
    with closing(client.writer()) as writer:
        began = time.process_time()
        for item in cycle(outgoing):
            writer.write(sink, item)
            count += len(item.values)
            if count >= records:
                break
        writer.flush()
        microseconds = _per_record(began, count)
    gc.unfreeze()
    return microseconds


def _per_record(began: float, records: int) -> float:
    return (time.process_time() - began) / records * 1e6
