"""Every declared example in turn."""

from collections.abc import Callable

import pytest

from tests.conformance.example import Example
from tests.conformance.examples import examples_where
from tests.conformance.kinds import KINDS


@pytest.fixture(params=examples_where(lambda _: True))
def configure(request: pytest.FixtureRequest) -> Callable[[], Example]:
    """Configures the same example anew at each call."""
    kind, number = request.param
    return lambda: KINDS[kind].examples()[number]


@pytest.fixture
def example(configure: Callable[[], Example]) -> Example:
    return configure()
