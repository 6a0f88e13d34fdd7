"""Every declared example in turn."""

from collections.abc import Callable

import pytest

from tests.conformance.example import Example
from tests.conformance.kinds import KINDS

EXAMPLES = [
    (kind, number) for kind, entry in KINDS.items() for number in range(len(entry.examples()))
]


@pytest.fixture(params=EXAMPLES, ids=[f"{kind}-{number}" for kind, number in EXAMPLES])
def configure(request: pytest.FixtureRequest) -> Callable[[], Example]:
    """Configures the same example anew at each call."""
    kind, number = request.param
    return lambda: KINDS[kind].examples()[number]


@pytest.fixture
def example(configure: Callable[[], Example]) -> Example:
    return configure()
