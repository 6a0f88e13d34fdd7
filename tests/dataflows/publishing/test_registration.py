"""Bring together what pipelines have entered, source by source."""

from dataclasses import replace

from fugu.dataflows.pipeline.declared_budget import DeclaredBudget
from fugu.dataflows.pipeline.source_budget import Promises
from fugu.dataflows.publishing.entries import PipelineEntry
from fugu.dataflows.publishing.registration import promises_by_source
from tests.conformance.kinds import KINDS

GUARANTEES = KINDS["crr"].examples()[0].mechanism.guarantees()
ENTRY = PipelineEntry("zones", "vitals", "id-1", "out", "out-id", "0123", GUARANTEES, None)


def test_pipelines_over_one_source_are_brought_together_by_name() -> None:
    budget = DeclaredBudget(3.0, 1e-6)
    other = replace(ENTRY, pipeline="moods", source_budget=budget)
    elsewhere = replace(ENTRY, source="beats", source_identity="id-2")
    zones, moods = Promises("zones", GUARANTEES), Promises("moods", GUARANTEES, budget)
    assert promises_by_source([ENTRY, elsewhere, other]) == {
        "vitals": [moods, zones],
        "beats": [zones],
    }


def test_a_topic_that_was_created_anew_is_another_source() -> None:
    anew = replace(ENTRY, source_identity="id-2")
    assert list(promises_by_source([ENTRY, anew])) == ["vitals (id-1)", "vitals (id-2)"]
