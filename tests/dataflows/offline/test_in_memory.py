"""A pipeline in memory publishes what the running one would."""

import orjson
import pytest

from fugu.dataflows.base.errors import BudgetExhausted
from fugu.dataflows.offline.in_memory import InMemory
from fugu.dataflows.pipeline.config import Pipeline
from fugu.dataflows.pipeline.mechanisms import Configured
from fugu.operators.budget import Budgeted, WhenExhausted
from fugu.operators.randomness import Secret
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from tests.dataflows.offline.auditing.records.pipelines import pipeline, symbols_of

SECRET = Secret(bytes(range(32)))
SECTION = pipeline(kind="grr", alphabet=["a", "b"], epsilon=1.0)


def running(when_exhausted: WhenExhausted = "repeat") -> InMemory:
    """Three releases can be paid for."""
    grr = GeneralizedRandomizedResponse(2, 1.0)
    configured: Configured = symbols_of(SECTION, Budgeted(grr, 3.0, None, when_exhausted))
    section: Pipeline = SECTION
    return InMemory.of(section, configured, SECRET)


def fed(pipeline: InMemory, letters: str, keys: str = "x") -> list[dict[str, object]]:
    values = [orjson.dumps({"value": letter}) for letter in letters]
    of_key = [keys[i % len(keys)].encode() for i in range(len(letters))]
    published = pipeline.feed(of_key, values, [1_000] * len(letters))
    return [orjson.loads(value) for value in published.values]


def test_records_that_cannot_be_read_are_dead_letters_and_offsets_go_on() -> None:
    pipeline = running()
    assert len(fed(pipeline, "a?b")) == 2
    assert fed(pipeline, "a")
    assert pipeline.dead.offsets == [1]
    assert pipeline.read == 4


def test_a_restart_changes_nothing_that_is_published_afterwards() -> None:
    plain, restarted = running(), running()
    assert fed(plain, "abab", "xy") == fed(restarted, "abab", "xy")
    restarted.restart()
    again = fed(restarted, "babababa", "xy")
    assert fed(plain, "babababa", "xy") == again
    assert any("repeated" in release for release in again)


def test_a_budget_that_stops_the_pipeline_does() -> None:
    with pytest.raises(BudgetExhausted):
        fed(running("stop"), "aaaa")
