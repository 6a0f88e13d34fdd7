"""Every registered example in turn."""

from collections.abc import Callable

import pytest

from fugu.operators.registry import KINDS, Example

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
