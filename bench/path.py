"""The whole path: `fugu run` beside the stock loop, in turn, over the same source topic."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from bench.child import Measured, measure
from bench.pipeline import Workplace
from fugu.dataflows.pipeline.topics import find_topics
from tests.kafka.topics import TopicFactory


@dataclass(frozen=True)
class Round:
    """One measurement of each."""

    stock: Measured
    fugu: Measured


def measure_path(
    place: Workplace, partitions: int, records: int, rounds: int, say: Callable[[str], None]
) -> list[Round]:
    """Alternate, so that a machine that slows down slows both."""
    measured = []
    for number in range(1, rounds + 1):
        say(f"round {number} of {rounds}: stock loop")
        stock = _stock(place, partitions, records)
        say(f"round {number} of {rounds}: fugu run")
        measured.append(Round(stock, _fugu(place, partitions, records, number)))
    return measured


def _stock(place: Workplace, partitions: int, records: int) -> Measured:
    sink = TopicFactory(place.bootstrap)("stock-loop", partitions=partitions)
    arguments = ["-m", "bench.stock_loop", place.bootstrap, place.source, sink]
    return _measure(place, sink, partitions, records, arguments)


def _fugu(place: Workplace, partitions: int, records: int, number: int) -> Measured:
    file = place.pipeline(f"fugu-run-{number}")
    sink = find_topics(place.client, file.pipeline).sink.name
    return _measure(place, sink, partitions, records, ["-m", "fugu", "run", str(file.path)])


def _measure(
    place: Workplace, sink: str, partitions: int, records: int, arguments: list[str]
) -> Measured:
    with closing(place.client.reader(sink)) as reader:

        def published() -> int:
            return sum(bounds.end for bounds in reader.bounds(list(range(partitions))).values())

        return measure(arguments, place.folder / f"{sink}.log", records, published)
