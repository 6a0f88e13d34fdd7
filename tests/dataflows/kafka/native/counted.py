"""Run compiled code as Python, with functions of librdkafka that count their calls."""

import ctypes
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from fugu.dataflows.kafka.native.library import library


class Counted:
    """Counts of calls by name, of those that returned something other than 0."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
        self.calls: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        for attribute, value in vars(module).copy().items():
            name = getattr(value, "symbol", "")
            if name.startswith("rd_kafka_"):
                monkeypatch.setattr(module, attribute, self._counting(name))
        memory = {"word_at": _word_at, "half_word_at": _half_word_at, "set_word_at": _set_word_at}
        for attribute, function in memory.items():
            monkeypatch.setattr(module, attribute, function, raising=False)

    def _counting(self, name: str) -> Any:
        function = getattr(library(), name)

        def call(*arguments: Any) -> int:
            self.calls[name] += 1
            result = function(*map(int, arguments)) or 0
            self.found[name] += result != 0
            return int(result)

        return call


def _word_at(place: Any) -> int:
    return ctypes.c_int64.from_address(int(place)).value


def _half_word_at(place: Any) -> int:
    return ctypes.c_int32.from_address(int(place)).value


def _set_word_at(place: Any, word: Any) -> None:
    ctypes.c_int64.from_address(int(place)).value = int(word)
