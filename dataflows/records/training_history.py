"""Read the history that a model is learned from: which stream came to which symbol, oldest first.

It comes from JSON lines, one record a line, or from a Kafka topic, as a pipeline reads it.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson

from fugu.dataflows.base.batches import Batch
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.field_paths import flattened
from fugu.dataflows.records.codec import Codec
from fugu.dataflows.records.lenient_json import json_of, trouble
from fugu.operators.mechanism import Integers

Symbol = str | int
Alphabet = list[str] | list[int]
_LINES_AT_ONCE = 10_000


@dataclass
class History:
    """Hold records as numbers: streams and symbols in order of first appearance."""

    streams: dict[object, int] = field(default_factory=dict)
    symbols: dict[Symbol, int] = field(default_factory=dict)
    stream_of: "array[int]" = field(default_factory=lambda: array("q"))
    symbol_of: "array[int]" = field(default_factory=lambda: array("q"))
    refused: int = 0

    def add(self, stream: object, symbol: Symbol) -> None:
        """Add one record."""
        self.stream_of.append(self.streams.setdefault(stream, len(self.streams)))
        self.symbol_of.append(self.symbols.setdefault(symbol, len(self.symbols)))

    def read_lines(self, path: Path, key: str, value: str, advance: Callable[[int], None]) -> None:
        """Add a file of JSON lines; `advance` is told of bytes read. Errors name the line."""
        read = 0
        try:
            with path.open("rb") as lines:
                for number, line in enumerate(lines, start=1):
                    read += len(line)
                    if line.strip():
                        self._add_line(line, key, value, f"{path}:{number}")
                    if number % _LINES_AT_ONCE == 0:
                        advance(read)
                        read = 0
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be read ({error.strerror})") from None
        advance(read)

    def read_batches(
        self,
        batches: Iterable[Batch],
        codec: Codec,
        alphabet: Alphabet,
        advance: Callable[[int], None],
    ) -> None:
        """Add records of a topic; count and pass over those that a pipeline would refuse."""
        for batch in batches:
            decoded = codec.decode(batch)
            self.refused += len(decoded.dead.offsets)
            for stream, number in zip(decoded.keys, decoded.values.tolist(), strict=True):
                self.add(stream, alphabet[number])
            advance(len(batch.offsets))

    def columns(self, alphabet: Alphabet, other: Symbol | None) -> tuple[Integers, Integers]:
        """Return streams, and symbols as numbers of an alphabet or else that of `other`."""
        index: dict[object, int] = {symbol: number for number, symbol in enumerate(alphabet)}
        instead = None if other is None else index[other]
        numbers = [index.get(symbol, instead) for symbol in self.symbols]
        unknown = sum(number is None for number in numbers)
        if unknown:
            raise ConfigurationError(
                f"the history holds {unknown} symbols that are not in the alphabet; name the one "
                "that they become with --other, or in the pipeline file (operator.other)"
            )
        return np.array(self.stream_of), np.array(numbers)[np.array(self.symbol_of)]

    def frequent(self, min_count: int, other: Symbol | None) -> Alphabet:
        """Return the symbols that occur at least so often, sorted; `other` is last."""
        times = Counter(self.symbol_of)
        kept = {symbol for symbol, number in self.symbols.items() if times[number] >= min_count}
        used = other in kept or len(kept) < len(self.symbols)
        texts = sorted(symbol for symbol in kept - {other} if isinstance(symbol, str))
        numbers = sorted(symbol for symbol in kept - {other} if isinstance(symbol, int))
        if used and isinstance(other, str):
            texts.append(other)
        if used and isinstance(other, int):
            numbers.append(other)
        if texts and numbers:
            raise ConfigurationError(
                "symbols, and what others become, must be all text or all integers"
            )
        return texts or numbers

    def _add_line(self, line: bytes, key: str, value: str, place: str) -> None:
        try:
            record = json_of(line)
        except orjson.JSONDecodeError:
            raise ConfigurationError(
                f"{place}: is not valid JSON; write one object a line"
            ) from None
        if not isinstance(record, dict):
            raise ConfigurationError(f"{place}: write one JSON object a line")
        found = flattened(record, (key, value))
        for name in (key, value):
            if name not in found:
                raise ConfigurationError(f"{place}: field {name} is missing")
        symbol = found[value]
        for name in (key, value):
            if type(found[name]) not in (str, int) or trouble(found[name]) is not None:
                raise ConfigurationError(f"{place}: field {name} is neither text nor an integer")
        assert isinstance(symbol, str | int)
        self.add(found[key], symbol)
