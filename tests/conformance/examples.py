"""Selections of examples to run a test on.

All but the first of each kind are slow; `make acceptance` alone runs those after the second, or
after the first where a test is about what stands around a mechanism.
"""

from collections.abc import Callable, Iterable
from functools import cache

import pytest

from fugu.operators.mechanism import Mechanism
from tests.conformance.example import Example
from tests.conformance.kinds import KINDS


def examples_where(
    holds: Callable[[Mechanism], object], kinds: Iterable[str] = tuple(KINDS), in_test: int = 2
) -> list[object]:
    """Return (kind, number) of every example of these kinds whose mechanism is concerned.

    Of each kind, those after the first `in_test` are for `make acceptance` alone.
    """
    chosen: list[object] = []
    for kind in kinds:
        numbers = [i for i, one in enumerate(_shared(kind)) if holds(one.mechanism)]
        for index, number in enumerate(numbers):
            name = f"{kind}-{number}"
            chosen.append(pytest.param((kind, number), id=name, marks=marks_of(index, in_test)))
    return chosen


@cache
def _shared(kind: str) -> tuple[Example, ...]:
    """Configure the examples of a kind once for all selections: they are only looked at."""
    return KINDS[kind].examples()


def marks_of(index: int, in_test: int) -> list[pytest.MarkDecorator]:
    """Return the marks of the example of a kind that has this index among those chosen."""
    return [pytest.mark.slow] * (index > 0) + [pytest.mark.acceptance] * (index >= in_test)


def each_example(holds: Callable[[Mechanism], object]) -> pytest.MarkDecorator:
    """Run a test that takes an `example` on those that are concerned, instead of on all."""
    return pytest.mark.parametrize("configure", examples_where(holds), indirect=True)
