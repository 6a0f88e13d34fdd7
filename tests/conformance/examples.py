"""Selections of examples to run a test on; all but the first of each kind are slow."""

from collections.abc import Callable

import pytest

from fugu.operators.mechanism import Mechanism
from tests.conformance.kinds import KINDS


def examples_where(holds: Callable[[Mechanism], object]) -> list[object]:
    """Return (kind, number) of every example whose mechanism is concerned."""
    chosen: list[object] = []
    for kind, entry in KINDS.items():
        numbers = [i for i, one in enumerate(entry.examples()) if holds(one.mechanism)]
        for number in numbers:
            marks = () if number == numbers[0] else pytest.mark.slow
            chosen.append(pytest.param((kind, number), id=f"{kind}-{number}", marks=marks))
    return chosen


def each_example(holds: Callable[[Mechanism], object]) -> pytest.MarkDecorator:
    """Run a test that takes an `example` on those that are concerned, instead of on all."""
    return pytest.mark.parametrize("configure", examples_where(holds), indirect=True)
