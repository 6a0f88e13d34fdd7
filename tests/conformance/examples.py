"""Selections of examples to run a test on.

All but the first of each kind are slow; `make acceptance` alone runs those after the second.
"""

from collections.abc import Callable, Iterable

import pytest

from fugu.operators.mechanism import Mechanism
from tests.conformance.kinds import KINDS


def examples_where(
    holds: Callable[[Mechanism], object], kinds: Iterable[str] = tuple(KINDS)
) -> list[object]:
    """Return (kind, number) of every example of these kinds whose mechanism is concerned."""
    chosen: list[object] = []
    for kind in kinds:
        examples = KINDS[kind].examples()
        numbers = [i for i, one in enumerate(examples) if holds(one.mechanism)]
        for index, number in enumerate(numbers):
            name = f"{kind}-{number}"
            chosen.append(pytest.param((kind, number), id=name, marks=marks_of(index)))
    return chosen


def marks_of(index: int) -> list[pytest.MarkDecorator]:
    """Return the marks of the example of a kind that has this index among those chosen."""
    return [pytest.mark.slow] * (index > 0) + [pytest.mark.acceptance] * (index > 1)


def each_example(holds: Callable[[Mechanism], object]) -> pytest.MarkDecorator:
    """Run a test that takes an `example` on those that are concerned, instead of on all."""
    return pytest.mark.parametrize("configure", examples_where(holds), indirect=True)
