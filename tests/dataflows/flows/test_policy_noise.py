"""Compare what `/metrics` says of policies with what they ask of the newest tick."""

from pathlib import Path

import numpy as np
import orjson

from examples.household.example import CHANGE, CHANGE_KEY
from examples.household.meters import FIRST_TICK, PER_DAY
from fugu.dataflows.base.metrics import (
    COLLECTION_AFFECTED,
    COLLECTION_NOISE,
    COLLECTION_SENSITIVITY,
    POLICY_NOISE,
    Metrics,
)
from fugu.dataflows.flows.merging import MergeStep
from fugu.dataflows.flows.policy_noise import PolicyNoise
from fugu.dataflows.flows.sections import policies_of
from fugu.dataflows.kinds import PolicyOperator
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.mechanisms import configure
from fugu.dataflows.policies.changes import change
from fugu.dataflows.stages.log_entries import Entry, PartialSums, PolicyChange
from fugu.dataflows.stages.merging import Merging
from fugu.operators.randomness import DrawScope, Secret
from tests.dataflows.policies.documents import EXAMPLE

TOPIC = "power.unicorn"
FILE = PipelineFile.read(EXAMPLE.with_name("pipeline.yaml"))


def sums(minute: int, since: int) -> PartialSums:
    """The sums of a tick on Wednesday; the ticks since another minute were skipped."""
    first, tick = (FIRST_TICK + PER_DAY + one // 10 for one in (since, minute))
    return PartialSums(0, tick, np.array([0]), np.array([20_000]), skipped=tick - first)


def shown(metrics: Metrics) -> dict[str, list[float]]:
    """Sensitivity, ticks that can differ, and noise of each collection; and noise of all."""
    numbers = [
        metrics.values(one)
        for one in (COLLECTION_SENSITIVITY, COLLECTION_AFFECTED, COLLECTION_NOISE)
    ]
    found = {name: [one[TOPIC, name] for one in numbers] for _, name in numbers[0]}
    return found | {"all": list(metrics.values(POLICY_NOISE).values())}


def merging(directory: Path) -> tuple[PolicyOperator, MergeStep, Metrics]:
    operator, mechanism, metrics = policies_of(FILE.pipeline), configure(FILE).mechanism, Metrics()
    assert operator is not None
    scope = DrawScope(Secret(bytes(32)), "household", "unicorn", 1, mechanism.law_digest())
    show = PolicyNoise(operator, TOPIC, metrics)
    merge = Merging(mechanism, scope, "id", 1, 1)
    return operator, MergeStep(merge, "log", directory, None, show=show), metrics


def test_the_newest_figure_says_whose_noise_it_is(tmp_path: Path) -> None:
    operator, step, metrics = merging(tmp_path)

    def after(entry: Entry) -> dict[str, list[float]]:
        step.on_batch([[(0, entry)]])
        return shown(metrics)

    night = {"household": [0, 0, 0], "electric-car": [11, 24, 132], "all": [132]}
    assert after(sums(180, since=180)) == night
    added = PolicyChange(change(CHANGE_KEY, CHANGE, operator.policies).to_bytes(), 0)
    assert after(added) == night, "no tick is released by a change"
    both = {"household": [6, 4, 12], "electric-car": [0, 0, 0], "all": [12]}
    assert after(sums(720, since=190)) == both
    evening = {"household": [3.5, 5, 8.75], "electric-car": [14.5, 24, 174], "all": [174]}
    assert after(sums(1170, since=730)) == evening


def test_a_collection_that_is_made_while_it_runs_is_shown_too(tmp_path: Path) -> None:
    operator, step, metrics = merging(tmp_path)
    made = {
        "effective": "2026-01-14T05:00:00+01:00",
        "collection": {
            "policies": [
                {
                    "id": "grinding",
                    "interval": {"start": "2026-01-14T12:00", "end": "2026-01-14T13:00"},
                    "pattern": {"ticks": 1},
                    "theta": "4 kW",
                }
            ]
        },
    }
    record = change(b"workshop", orjson.dumps(made), operator.policies).to_bytes()
    for entry in (PolicyChange(record, 0), sums(180, since=180), sums(720, since=190)):
        step.on_batch([[(0, entry)]])
    assert shown(metrics)["workshop"] == [4, 1, 2]
    assert shown(metrics)["all"] == [2]
